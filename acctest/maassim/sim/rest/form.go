package rest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

func decodeBase64(text []byte) []byte {
	clean := strings.Join(strings.Fields(string(text)), "")
	out, err := base64.StdEncoding.DecodeString(clean)
	if err != nil {
		return text
	}
	return out
}

// HasAny says whether one of those wanted is among the names.
func HasAny(names []string, wanted ...string) bool {
	for _, name := range names {
		for _, w := range wanted {
			if name == w {
				return true
			}
		}
	}
	return false
}

// Last is the last of some values, empty for none.
func Last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// Truth reads a boolean parameter as MAAS does.
func Truth(text string) bool {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on", "t", "y":
		return true
	}
	return false
}

// Number reads the id of a path. MAAS hands anything else to its database,
// and 500 comes back.
func Number(text string) (int, *Reply) {
	id, err := strconv.Atoi(text)
	if err != nil {
		rep := Refused(http.StatusInternalServerError, fmt.Sprintf("Field 'id' expected a number but got '%s'.", text))
		return 0, &rep
	}
	return id, nil
}

// Sentences of Django about a field of a form.
const (
	MsgRequired = "This field is required."
	MsgInvalid  = "Enter a valid value."
	MsgWhole    = "Enter a whole number."
)

// SplitTags reads repeated and comma separated tags alike.
func SplitTags(values []string) (tags []string) {
	for _, value := range values {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name != "" {
				tags = append(tags, name)
			}
		}
	}
	return tags
}

// MaxBody is Django's DATA_UPLOAD_MAX_MEMORY_SIZE times what user-data needs.
const MaxBody = 64 << 20

// ReadForm reads the body of a POST or PUT: urlencoded, multipart or JSON, all
// of which MAAS takes. Bodies of other methods are not read.
func ReadForm(r *http.Request) (url.Values, error) {
	if r.Body == nil || (r.Method != http.MethodPost && r.Method != http.MethodPut) {
		return url.Values{}, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody))
	if err != nil {
		return nil, fmt.Errorf("cannot read the body: %w", err)
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return url.Values{}, nil // no type, no fields
	}
	switch kind {
	case "application/json":
		return jsonForm(body)
	case "multipart/form-data":
		return multipartForm(body, params["boundary"])
	case "application/x-www-form-urlencoded":
		return url.ParseQuery(string(body))
	}
	return url.Values{}, nil
}

func jsonForm(body []byte) (url.Values, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return url.Values{}, nil
	}
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		return nil, fmt.Errorf("cannot read the JSON body: %w", err)
	}
	form := url.Values{}
	for name, value := range fields {
		values, isList := value.([]any)
		if !isList {
			values = []any{value}
		}
		for _, v := range values {
			form.Add(name, JSONText(v))
		}
	}
	return form, nil
}

// JSONText is a value of a JSON body as the text of a form.
func JSONText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case map[string]any:
		return string(Encode(v))
	}
	return fmt.Sprint(value)
}

func multipartForm(body []byte, boundary string) (url.Values, error) {
	form := url.Values{}
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return form, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the multipart body: %w", err)
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return nil, fmt.Errorf("cannot read field %s: %w", part.FormName(), err)
		}
		form.Add(part.FormName(), partText(part, text))
	}
}

// partText undoes the base64 in which MAAS's own clients send parts.
func partText(part *multipart.Part, text []byte) string {
	if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
		return string(decodeBase64(text))
	}
	return string(text)
}

// InvalidChoice is Django's sentence about an object that is no choice.
const InvalidChoice = "Select a valid choice. That choice is not one of the available choices."

// ChoiceProblem is Django's sentence about a value that is no choice.
func ChoiceProblem(value string) string {
	return fmt.Sprintf("Select a valid choice. %s is not one of the available choices.", value)
}

// ReadFloat reads a number as Django's FloatField does: finite ones only.
func ReadFloat(text string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}

// MatchPath compares a pattern with a path and returns the values of its
// variables.
func MatchPath(pattern, path string) (map[string]string, bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	vars := map[string]string{}
	for i, part := range want {
		if name, isVar := strings.CutPrefix(part, "{"); isVar && have[i] != "" {
			vars[strings.TrimSuffix(name, "}")] = have[i]
		} else if part != have[i] {
			return nil, false
		}
	}
	return vars, true
}
