package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
)

// maxBody is Django's DATA_UPLOAD_MAX_MEMORY_SIZE times what user-data needs.
const maxBody = 64 << 20

// readForm reads the body of a POST or PUT: urlencoded, multipart or JSON, all
// of which MAAS takes. Bodies of other methods are not read.
func readForm(r *http.Request) (url.Values, error) {
	if r.Body == nil || (r.Method != http.MethodPost && r.Method != http.MethodPut) {
		return url.Values{}, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
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
			form.Add(name, jsonText(v))
		}
	}
	return form, nil
}

func jsonText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case map[string]any:
		return string(encode(v))
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
