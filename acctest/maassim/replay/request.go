package replay

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
	"regexp"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

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
func (m *matcher) rebuild(e recording.Exchange, secrets pair) (*http.Request, error) {
	query := m.parameters(e, recording.Values(e.Request.Query))
	target, err := url.Parse("http://maas.test" + m.request(e.Request.Path))
	if err != nil {
		return nil, err
	}
	target.RawQuery = query.Encode()
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

// parameters puts the simulator's names in place of recorded ones in a query or
// form.
func (m *matcher) parameters(e recording.Exchange, out url.Values) url.Values {
	for name, all := range out {
		for i := range all {
			all[i] = m.parameter(all[i])
			if in := idParameters[[2]string{e.Op(), name}]; in != "" {
				all[i] = m.translate(in, all[i])
			}
		}
	}
	return out
}

// idParameters are parameters of operations that are the id of a row.
var idParameters = map[[2]string]space{
	{"unlink_subnet", "id"}: "link", {"set_default_gateway", "link_id"}: "link",
	{"query", "after"}: "event", {"query", "before"}: "event",
}

// requestBody renders the form in the content type that the recording used.
func (m *matcher) requestBody(e recording.Exchange, secrets pair) (contentType string, body []byte, err error) {
	var form map[string]any
	var raw string
	if len(e.Request.Form) == 0 {
		return "", nil, nil
	}
	if json.Unmarshal(e.Request.Form, &raw) == nil {
		return e.Media(), []byte(secrets.fillText(raw)), nil
	}
	if err := json.Unmarshal(e.Request.Form, &form); err != nil {
		return "", nil, err
	}
	media, _, _ := mime.ParseMediaType(e.Media())
	if media == "multipart/form-data" {
		return multipartBody(m.parameters(e, recording.Values(cmpForm(form, multipartForms[e.Name]))))
	}
	if len(form) == 0 && media == "" {
		return "", nil, nil
	}
	return "application/x-www-form-urlencoded", []byte(m.parameters(e, recording.Values(secrets.fill(form))).Encode()), nil
}

// fill puts a real pair in place of the placeholders of a form, also where a
// value is itself JSON.
func (s pair) fill(form map[string]any) map[string]any {
	for name, value := range form {
		if text, ok := value.(string); ok {
			form[name] = s.fillText(text)
		}
	}
	return form
}

func (s pair) fillText(text string) string {
	secretOf := func(placeholder string) string {
		if strings.Contains(placeholder, "CERTIFICATE") {
			return s.certificate
		}
		return s.key
	}
	if pemPlaceholder.FindString(text) == text {
		text = pemPlaceholder.ReplaceAllStringFunc(text, secretOf)
	}
	return quotedPlaceholder.ReplaceAllStringFunc(text, func(placeholder string) string {
		quoted, _ := json.Marshal(secretOf(placeholder))
		return string(quoted)
	})
}

// A placeholder of a PEM block stands alone, or in JSON within a text.
var (
	pemPlaceholder    = regexp.MustCompile(`<(CERTIFICATE|PRIVATE KEY) PEM( \d+)?>`)
	quotedPlaceholder = regexp.MustCompile(`"<(CERTIFICATE|PRIVATE KEY) PEM( \d+)?>"`)
)

// multipartForms holds what recordings do not tell that kept no parts, by the
// exchange's name.
var multipartForms = map[string]map[string]any{"zone-create-multipart": {"name": "az-mp", "description": "multipart"}}

// cmpForm is the recorded form, or the other one where nothing was recorded.
func cmpForm(recorded, otherwise map[string]any) map[string]any {
	if len(recorded) == 0 {
		return otherwise
	}
	return recorded
}

func multipartBody(form url.Values) (string, []byte, error) {
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	for name, all := range form {
		for _, value := range all {
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
	}
	err := writer.Close()
	return writer.FormDataContentType(), body.Bytes(), err
}

// compare holds an answer against the recorded one and says what differs.
func (m *matcher) compare(e recording.Exchange, got served) []Problem {
	m.problems, m.subject = nil, subject{uri: e.Request.Path}
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

func (m *matcher) compareBody(e recording.Exchange, got served) {
	recorded, err := recording.DecodeJSON(e.Response.Body)
	if err != nil {
		m.report("recording", "%v", err)
		return
	}
	if !e.Response.IsJSON {
		text, _ := recorded.(string)
		m.text("text", text, string(got.Body))
		return
	}
	simulated, err := recording.DecodeJSON(got.Body)
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
