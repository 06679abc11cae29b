package record

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
)

// sentForm is the body of a request: fields or JSON. If it is neither, problem says why.
type sentForm struct {
	media   string
	fields  url.Values
	json    any
	problem string
}

// readForm reads the body of a request.
func (c *call) readForm() (f sentForm) {
	kind := c.request.Header.Get("Content-Type")
	media, parameters, err := mime.ParseMediaType(kind)
	if f.media = media; err != nil && kind != "" {
		f.media = "unknown"
	}
	body, problem := c.sent.content()
	switch {
	case c.sent.length() == 0:
		return f
	case problem != "":
	case c.request.Header.Get("Content-Encoding") != "":
		problem = "it is encoded"
	case media == "application/x-www-form-urlencoded":
		f.fields = rest.ParseQuery(string(body))
	case media == "multipart/form-data":
		f.fields, err = multipartForm(bytes.NewReader(body), parameters["boundary"])
		problem = readProblem(err)
	case media == "application/json":
		f.json, err = decode(body)
		problem = readProblem(err)
	default:
		problem = "MAAS does not read its content type"
	}
	f.problem = problem
	return f
}

// readProblem says that a body cannot be read. It shows nothing of the body.
func readProblem(err error) string {
	if err == nil {
		return ""
	}
	return "it cannot be read"
}

func multipartForm(body io.Reader, boundary string) (url.Values, error) {
	if boundary == "" {
		return nil, errors.New("no boundary")
	}
	form, reader := url.Values{}, multipart.NewReader(body, boundary)
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			if len(form) == 0 {
				return nil, errors.New("no parts")
			}
			return form, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
			if content, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(content)), "")); err != nil {
				return nil, err
			}
		}
		if part.FileName() != "" || !utf8.Valid(content) {
			content = fmt.Appendf(nil, "<%d BYTES>", len(content))
		}
		form.Add(part.FormName(), string(content))
	}
}

// Longer texts are no messages of MAAS. Its messages of success are shorter still.
const (
	maxTextLength    = 2048
	maxMessageLength = 200
)

// readContent reads an answer: JSON or a short text. If it is neither, problem says why.
func (a answer) readContent() (text string, v *any, problem string) {
	body, problem := a.body.content()
	if problem == "" {
		body, problem = decompress(a.header.Get("Content-Encoding"), body)
	}
	if problem != "" {
		return "", nil, problem
	}
	media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	isText := media == "text/plain" || media == "text/html"
	if media == "application/json" || isText && len(body) > 0 && strings.ContainsRune("{[", rune(body[0])) {
		decoded, err := decode(body)
		return "", &decoded, readProblem(err)
	}
	long := len(body) > maxTextLength || len(body) > maxMessageLength && a.status < http.StatusBadRequest
	if !isText || long || !utf8.Valid(body) {
		return "", nil, "it is neither JSON nor a short text"
	}
	return string(body), nil, ""
}

// decompress undoes the Content-Encoding of a body.
func decompress(encoding string, body []byte) (plain []byte, problem string) {
	switch {
	case encoding == "" || encoding == "identity" || len(body) == 0:
		return body, ""
	case !strings.EqualFold(encoding, "gzip"):
		return nil, "it is encoded"
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, readProblem(err)
	}
	plain, err = io.ReadAll(io.LimitReader(r, maxKeptBytes+1))
	if err == nil && len(plain) > maxKeptBytes {
		return nil, "it is too long"
	}
	return plain, readProblem(err)
}
