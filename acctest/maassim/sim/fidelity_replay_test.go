package sim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// apiKey is consumer:token:secret, as MAAS hands it out.
type apiKey string

var headerSerial atomic.Int64

// header is a fresh OAuth1 PLAINTEXT header: MAAS remembers nonces.
func (k apiKey) header(at time.Time) string {
	consumer, rest, _ := strings.Cut(string(k), ":")
	token, secret, _ := strings.Cut(rest, ":")
	return oauthHeader(consumer, token, secret, fmt.Sprintf("replay%012d", headerSerial.Add(1)), at, "PLAINTEXT")
}

func oauthHeader(consumer, token, secret, nonce string, at time.Time, method string) string {
	return fmt.Sprintf(`OAuth oauth_version="1.0", oauth_signature_method="%s", oauth_consumer_key="%s", `+
		`oauth_token="%s", oauth_signature="%%26%s", oauth_timestamp="%d", oauth_nonce="%s"`,
		method, consumer, token, secret, at.Unix(), nonce)
}

// served is what a simulated MAAS said.
type served struct {
	Status int
	Header http.Header
	Body   []byte
}

func serve(handler http.Handler, request *http.Request) served {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	result := recorder.Result()
	body, _ := io.ReadAll(result.Body)
	return served{Status: result.StatusCode, Header: result.Header, Body: body}
}

// rebuild makes a recorded request anew with the simulator's own names.
func (m *matcher) rebuild(e exchange, secrets pair) (*http.Request, error) {
	query := m.parameters(e.Request.Query)
	target := &url.URL{Scheme: "http", Host: "maas.test", Path: m.request(e.Request.Path), RawQuery: query.Encode()}
	contentType, body, err := m.requestBody(e, secrets)
	if err != nil {
		return nil, err
	}
	request := httptest.NewRequest(e.Request.Method, target.String(), bytes.NewReader(body))
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	return request, nil
}

func (m *matcher) parameters(recorded map[string]any) url.Values {
	out := values(recorded)
	for _, all := range out {
		for i := range all {
			all[i] = m.parameter(all[i])
		}
	}
	return out
}

// requestBody renders the form in the content type that the recording used.
func (m *matcher) requestBody(e exchange, secrets pair) (contentType string, body []byte, err error) {
	var form map[string]any
	var raw string
	if json.Unmarshal(e.Request.Form, &raw) == nil {
		return e.Request.ContentType, []byte(raw), nil
	}
	if err := json.Unmarshal(e.Request.Form, &form); err != nil {
		return "", nil, err
	}
	media, _, _ := mime.ParseMediaType(e.Request.ContentType)
	if media == "multipart/form-data" {
		return multipartBody(multipartForms[e.Number])
	}
	if len(form) == 0 && media == "" {
		return "", nil, nil
	}
	return "application/x-www-form-urlencoded", []byte(m.parameters(secrets.fill(form)).Encode()), nil
}

// fill puts a real pair in place of the placeholders of a form.
func (s pair) fill(form map[string]any) map[string]any {
	for name, value := range form {
		switch value {
		case "<CERTIFICATE PEM>":
			form[name] = s.certificate
		case "<PRIVATE KEY PEM>":
			form[name] = s.key
		}
	}
	return form
}

// multipartForms holds what the recordings do not tell: they kept no parts.
var multipartForms = map[int]map[string]string{45: {"name": "az-mp", "description": "multipart"}}

func multipartBody(form map[string]string) (string, []byte, error) {
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	for name, value := range form {
		part, err := writer.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {fmt.Sprintf(`form-data; name="%s"`, name)},
		})
		if err != nil {
			return "", nil, err
		}
		if _, err := part.Write([]byte(value)); err != nil {
			return "", nil, err
		}
	}
	err := writer.Close()
	return writer.FormDataContentType(), body.Bytes(), err
}

// compare holds an answer against the recorded one and says what differs.
func (m *matcher) compare(e exchange, got served) []string {
	m.problems = nil
	if got.Status != e.Response.Status {
		m.report("status", "want %d, got %d %s", e.Response.Status, got.Status, brief(string(got.Body)))
		return m.problems
	}
	if want, have := e.Response.Headers["Content-Type"], got.Header.Get("Content-Type"); want != have {
		m.report("content type", "want %q, got %q", want, have)
	}
	for _, name := range []string{"WWW-Authenticate", "Retry-After"} {
		if want, have := e.Response.Headers[name], got.Header.Get(name); want != have {
			m.report(name, "want %q, got %q", want, have)
		}
	}
	if want, have := e.Response.Headers["Allow"], got.Header.Get("Allow"); sortWords(want) != sortWords(have) {
		m.report("Allow", "want %q, got %q", want, have)
	}
	m.compareBody(e, got)
	return m.problems
}

func (m *matcher) compareBody(e exchange, got served) {
	recorded, err := decodeJSON(e.Response.Body)
	if err != nil {
		m.report("recording", "%v", err)
		return
	}
	if !e.Response.IsJSON {
		text, _ := recorded.(string)
		m.text("text", text, string(got.Body))
		return
	}
	simulated, err := decodeJSON(got.Body)
	if err != nil {
		m.report("body", "want JSON, got %q: %v", brief(string(got.Body)), err)
		return
	}
	m.body("$"+lastCollection(e.Request.Path), recorded, simulated)
}

// lastCollection is the last word of a path that is no id: it says what the
// body's root holds.
func lastCollection(path string) string {
	name := ""
	for _, part := range strings.Split(strings.TrimPrefix(path, "/MAAS/api/2.0/"), "/") {
		if collections[part] != "" || name == "" {
			name = part
		}
	}
	return name
}

func sortWords(list string) string {
	return sortQuery("?" + strings.ReplaceAll(strings.ReplaceAll(list, " ", ""), ",", "&"))
}
