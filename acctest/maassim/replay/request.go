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

// simResponse is an answer of the simulated MAAS.
type simResponse struct {
	Status int
	Header http.Header
	Body   []byte

	panicked any // the value of a panic in the simulator
}

// serveRecovering is serveRequest for another goroutine, in which the caller could not
// recover.
func serveRecovering(handler http.Handler, request *http.Request) (got simResponse) {
	defer func() {
		if r := recover(); r != nil {
			got.panicked = r
		}
	}()
	return serveRequest(handler, request)
}

func serveRequest(handler http.Handler, request *http.Request) simResponse {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	result := recorder.Result()
	body, _ := io.ReadAll(result.Body)
	return simResponse{Status: result.StatusCode, Header: result.Header, Body: body}
}

// rebuildRequest makes a recorded request again with the simulator's own names. The
// unrecorded form is used where the parts of a form were not recorded.
func (m *matcher) rebuildRequest(e recording.Exchange, secrets certificatePair, unrecorded map[string]any) (*http.Request, error) {
	query := m.translateParameters(e, recording.Values(e.Request.Query))
	target, err := url.Parse("http://maas.test" + m.translatePath(e.Request.Path))
	if err != nil {
		return nil, err
	}
	target.RawQuery = query.Encode()
	contentType, body, err := m.requestBody(e, secrets, unrecorded)
	if err != nil {
		return nil, err
	}
	request := httptest.NewRequest(e.Request.Method, target.String(), bytes.NewReader(body))
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	return request, nil
}

// translateParameters replaces recorded names in a query or form by the simulator's.
func (m *matcher) translateParameters(e recording.Exchange, out url.Values) url.Values {
	for name, all := range out {
		for i := range all {
			all[i] = m.translateParameter(all[i])
			if in := idParameters[[2]string{e.Op(), name}]; in != "" {
				all[i] = m.translate(in, all[i])
			} else if in := rowParameters[name]; in != "" {
				all[i] = m.translate(in, all[i])
			}
		}
	}
	return out
}

// idParameters are parameters of operations that hold a row's id.
var idParameters = map[[2]string]nameSpace{
	{"unlink_subnet", "id"}: "link", {"set_default_gateway", "link_id"}: "link",
	{"query", "after"}: "event", {"query", "before"}: "event", {"delete_logical_volume", "id"}: "block device",
	{"set_storage_layout", "root_device"}: "block device", {"set_storage_layout", "cache_device"}: "block device",
}

// rowParameters are parameters that name rows in every operation.
var rowParameters = map[string]nameSpace{
	"parent": "interface", "parents": "interface", "vlan": "VLAN", "subnet": "subnet", "fabric": "fabric",
	"block_devices": "block device", "add_block_devices": "block device", "remove_block_devices": "block device",
	"spare_devices": "block device", "add_spare_devices": "block device", "remove_spare_devices": "block device",
	"cache_device": "block device", "backing_device": "block device", "cache_set": "cache set",
	"partitions": "partition", "add_partitions": "partition", "remove_partitions": "partition",
	"spare_partitions": "partition", "add_spare_partitions": "partition", "remove_spare_partitions": "partition",
	"cache_partition": "partition", "backing_partition": "partition",
}

// requestBody encodes the form in the recorded content type.
func (m *matcher) requestBody(e recording.Exchange, secrets certificatePair, unrecorded map[string]any) (contentType string, body []byte, err error) {
	var form map[string]any
	var raw string
	if len(e.Request.Form) == 0 {
		return "", nil, nil
	}
	if json.Unmarshal(e.Request.Form, &raw) == nil {
		return e.Media(), []byte(secrets.fillText(raw)), nil
	}
	form, _ = e.Form()
	media, _, _ := mime.ParseMediaType(e.Media())
	if media == "multipart/form-data" {
		return multipartBody(m.translateParameters(e, recording.Values(formOrDefault(form, unrecorded))))
	}
	if len(form) == 0 && media == "" {
		return "", nil, nil
	}
	values := m.translateParameters(e, recording.Values(secrets.fillForm(form)))
	return "application/x-www-form-urlencoded", encodeInOrder(values, e.FormOrder()), nil
}

// encodeInOrder encodes fields in their recorded order, which some answers show.
func encodeInOrder(values url.Values, names []string) []byte {
	var pairs []string
	for _, name := range names {
		for _, value := range values[name] {
			pairs = append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(value))
		}
	}
	return []byte(strings.Join(pairs, "&"))
}

// fillForm replaces the placeholders of a form by a real pair, also where a value holds
// JSON.
func (s certificatePair) fillForm(form map[string]any) map[string]any {
	for name, value := range form {
		if text, ok := value.(string); ok {
			form[name] = s.fillText(text)
		}
	}
	return form
}

func (s certificatePair) fillText(text string) string {
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

// A placeholder of a PEM block is a whole text, or is in JSON within a text. Other
// recorders leave words of it out.
var (
	pemPlaceholder    = regexp.MustCompile(`<(CERTIFICATE|(PRIVATE )?KEY)( PEM)?( \d+)?>`)
	quotedPlaceholder = regexp.MustCompile(`"<(CERTIFICATE|(PRIVATE )?KEY)( PEM)?( \d+)?>"`)
)

// formOrDefault is the recorded form, or the other one where none was recorded.
func formOrDefault(recorded, otherwise map[string]any) map[string]any {
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

// compareAnswer compares an answer with the recorded one and returns the differences.
func (m *matcher) compareAnswer(e recording.Exchange, got simResponse) []Problem {
	m.problems, m.subject = nil, subject{uri: e.Request.Path}
	if got.Status != e.Response.Status {
		m.report("status", "want %d, got %d %s", e.Response.Status, got.Status, shortJSON(string(got.Body)))
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

func (m *matcher) compareBody(e recording.Exchange, got simResponse) {
	if e.Response.LeftOut {
		return
	}
	recorded, err := recording.DecodeJSON(e.Response.Body)
	if err != nil {
		m.report("recording", "%v", err)
		return
	}
	if e.Op() == "details" && bytes.HasPrefix(got.Body, []byte{byte(len(got.Body))}) {
		m.compareDetails(recorded, got.Body)
		return
	}
	if !e.Response.IsJSON {
		text, _ := recorded.(string)
		m.compareText("text", text, string(got.Body))
		return
	}
	simulated, err := recording.DecodeJSON(got.Body)
	if err != nil {
		m.report("body", "want JSON, got %q: %v", shortJSON(string(got.Body)), err)
		return
	}
	m.compareValue("$"+lastCollection(e.Request.Path), recorded, simulated)
}

// compareDetails compares only the names in a machine's details, which are BSON: the
// contents of lldp and lshw depend on the hardware of the site.
func (m *matcher) compareDetails(recorded any, got []byte) {
	text, _ := recorded.(string)
	for _, name := range []string{"lldp", "lshw"} {
		if strings.Contains(text, "\x05"+name) != bytes.Contains(got, []byte("\x05"+name)) {
			m.report("details", "only one of the two has %s", name)
		}
	}
}

// lastCollection is the last word of a path that is no id. It names what the body's root
// holds.
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
