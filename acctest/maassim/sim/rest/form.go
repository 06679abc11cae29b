package rest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func decodeBase64(text []byte) []byte {
	clean := strings.Join(strings.Fields(string(text)), "")
	out, err := base64.StdEncoding.DecodeString(clean)
	if err != nil {
		return text
	}
	return out
}

// HasAny tells whether the names contain any of the wanted ones.
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

// LastValue is the last value, or empty.
func LastValue(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// ReadBool reads a boolean parameter as MAAS does.
func ReadBool(text string) bool {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on", "t", "y":
		return true
	}
	return false
}

// ReadID reads the id of a path as Python does. For any other text MAAS's database fails,
// and the answer is 500.
func ReadID(text string) (int, *Reply) {
	id, err := strconv.Atoi(strings.TrimSpace(text))
	if errors.Is(err, strconv.ErrRange) {
		rep := InternalErrorReply("bigint out of range\n")
		return 0, &rep
	}
	if err != nil {
		rep := ErrorReply(http.StatusInternalServerError, fmt.Sprintf("Field 'id' expected a number but got '%s'.", text))
		return 0, &rep
	}
	return id, nil
}

// Django's messages about a form field.
const (
	MsgRequired = "This field is required."
	MsgInvalid  = "Enter a valid value."
	MsgWhole    = "Enter a whole number."
)

// SplitTags reads tags that are repeated or separated by commas.
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

// MaxBody limits the bodies of calls to LXDs and to the metadata service.
const MaxBody = 64 << 20

// maxForm is the limit of the nginx in front of MAAS (client_max_body_size in
// snap/local/tree/usr/share/maas/nginx/nginx.conf).
const maxForm = 10 << 20

// maxFields is Django's DATA_UPLOAD_MAX_NUMBER_FIELDS.
const maxFields = 1000

// ReadForm reads the body of a POST or PUT: urlencoded, multipart or JSON. It reads no
// body of other methods. The reply is MAAS's error about an unreadable body, which MAAS
// sends once it knows the caller (piston3, Resource.__call__). [FieldsInOrder] has the
// order of the fields.
func ReadForm(r *http.Request) (url.Values, *Reply) {
	if r.Body == nil || (r.Method != http.MethodPost && r.Method != http.MethodPut) {
		return url.Values{}, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxForm+1))
	switch {
	case err != nil:
		return url.Values{}, replyPointer(BadTextReply("cannot read the body: " + err.Error()))
	case len(body) > maxForm:
		return url.Values{}, replyPointer(tooLargeReply())
	}
	header := r.Header.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(header)
	if err != nil {
		kind, _, _ = strings.Cut(header, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	form := url.Values{}
	switch {
	case kind == "":
		return form, nil // without a content type there are no fields
	case kind == "application/json":
		return jsonForm(body)
	case strings.HasPrefix(kind, "multipart/") && params["boundary"] == "":
		return form, replyPointer(InternalErrorReply("Invalid boundary in multipart: None"))
	case kind == "multipart/form-data":
		form = multipartForm(body, params["boundary"])
	case kind == "application/x-www-form-urlencoded":
		form = ParseQuery(string(body))
	default:
		return form, replyPointer(noAttributeReply("NoneType"))
	}
	if countFields(form) > maxFields {
		return url.Values{}, replyPointer(InternalErrorReply("The number of GET/POST parameters exceeded settings.DATA_UPLOAD_MAX_NUMBER_FIELDS."))
	}
	return form, nil
}

// FieldsInOrder are the names of an urlencoded body's fields in the order of the request.
// Other bodies have none. The body stays readable.
func FieldsInOrder(r *http.Request) (names []string) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Body == nil || kind != "application/x-www-form-urlencoded" {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxForm+1)) // the reader of the form gets the error again
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	for pair := range strings.SplitSeq(string(body), "&") {
		name, _, _ := strings.Cut(pair, "=")
		if name = unescape(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		if len(names) > maxFields {
			break
		}
	}
	return names
}

func replyPointer(rep Reply) *Reply { return &rep }

// tooLargeReply is the error of the nginx in front of MAAS, for any caller.
func tooLargeReply() Reply {
	return Reply{Status: http.StatusRequestEntityTooLarge, Kind: "text/html", Header: http.Header{},
		Body: []byte("<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n<center><h1>413 Request Entity Too Large</h1></center>\r\n</body>\r\n</html>\r\n")}
}

// noAttributeReply is MAAS's error about a body whose data have no fields.
func noAttributeReply(python string) Reply {
	return InternalErrorReply(fmt.Sprintf("'%s' object has no attribute 'get'", python))
}

func countFields(form url.Values) (n int) {
	for _, values := range form {
		n += len(values)
	}
	return n
}

// ParseQuery reads a query or an urlencoded body as Django does. It keeps invalid escapes
// as they are, and replaces invalid UTF-8.
func ParseQuery(query string) url.Values {
	form := url.Values{}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name = unescape(name)
		form[name] = append(form[name], unescape(value))
	}
	return form
}

func unescape(text string) string {
	text = strings.ReplaceAll(text, "+", " ")
	if !strings.Contains(text, "%") {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// jsonForm reads an object. MAAS fails on any other JSON value, because it treats it as an
// object.
func jsonForm(body []byte) (url.Values, *Reply) {
	form := url.Values{}
	var data any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	err := d.Decode(&data)
	if _, more := d.Token(); err != nil || more != io.EOF || !utf8.Valid(body) {
		return form, &Reply{Status: http.StatusBadRequest, Kind: TypePlain, Header: APIHeader(), Body: []byte("Bad Request")}
	}
	fields, isObject := data.(map[string]any)
	if !isObject {
		return form, replyPointer(noAttributeReply(pythonType(data)))
	}
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

// pythonType is the Python type of a JSON value that is not an object.
func pythonType(data any) string {
	switch v := data.(type) {
	case []any:
		return "list"
	case string:
		return "str"
	case bool:
		return "bool"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "float"
		}
		return "int"
	}
	return "NoneType"
}

// JSONText is a value of a JSON body as form text.
func JSONText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case map[string]any:
		return string(Encode(v))
	}
	return fmt.Sprint(value)
}

// multipartForm reads the readable parts, as Django does. A body that ends too early has
// the parts before its end.
func multipartForm(body []byte, boundary string) url.Values {
	form := url.Values{}
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			return form
		}
		text, err := io.ReadAll(part)
		if name := part.FormName(); name != "" {
			form.Add(name, strings.ToValidUTF8(partText(part, text), "\uFFFD"))
		}
		if err != nil {
			return form
		}
	}
}

// partText decodes base64, which MAAS's own clients use for parts.
func partText(part *multipart.Part, text []byte) string {
	if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
		return string(decodeBase64(text))
	}
	return string(text)
}

// InvalidChoice is Django's message about an object that is not a choice.
const InvalidChoice = "Select a valid choice. That choice is not one of the available choices."

// ChoiceProblem is Django's message about a value that is not a choice.
func ChoiceProblem(value string) string {
	return fmt.Sprintf("Select a valid choice. %s is not one of the available choices.", value)
}

// ReadFloat reads a number as Django's FloatField does: it must be finite.
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
