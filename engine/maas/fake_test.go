package maas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const testKey = "consumerPart00001:tokenPart000000002:secretPart00000000000000003"

// sentRequest is a request as the fake received it.
type sentRequest struct {
	Method, Path, Authorization string
	Query, Form                 url.Values
	At                          time.Time
}

// route is the method, the path below the API's root and the query.
func (s sentRequest) route() string {
	path := strings.TrimPrefix(s.Path, "/MAAS/api/2.0/")
	if len(s.Query) > 0 {
		path += "?" + s.Query.Encode()
	}
	return s.Method + " " + path
}

// fakeTransport is a transport that answers from a function and records the requests.
type fakeTransport struct {
	answer func(*http.Request, sentRequest) (*http.Response, error)

	mu  sync.Mutex
	got []sentRequest
}

func (f *fakeTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		req.Body.Close()
	}
	form, _ := url.ParseQuery(string(body))
	s := sentRequest{
		Method: req.Method, Path: req.URL.EscapedPath(), Authorization: req.Header.Get("Authorization"),
		Query: req.URL.Query(), Form: form, At: time.Now(),
	}
	f.mu.Lock()
	f.got = append(f.got, s)
	f.mu.Unlock()
	return f.answer(req, s)
}

func (f *fakeTransport) requests() []sentRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.got)
}

func (f *fakeTransport) routes() []string {
	var routes []string
	for _, s := range f.requests() {
		routes = append(routes, s.route())
	}
	return routes
}

func (f *fakeTransport) clearRequests() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = nil
}

// reply returns an answer with a status, a media type and a body.
func reply(status int, kind, body string) *http.Response {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	w.WriteString(body)
	res := w.Result()
	if kind == "" {
		res.Header.Del("Content-Type")
	}
	return res
}

func replyJSON(value any) *http.Response {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return reply(http.StatusOK, "application/json; charset=utf-8", string(text))
}

// newConstantFake gives the same answer to every request.
func newConstantFake(status int, kind, body string) *fakeTransport {
	return &fakeTransport{answer: func(*http.Request, sentRequest) (*http.Response, error) { return reply(status, kind, body), nil }}
}

// whoAmI is the route of the API key's user, administrator its answer for an administrator.
const whoAmI = "GET users/?op=whoami"

var administrator = map[string]any{"username": "admin", "is_superuser": true}

// newRouteFake answers from a table. The user is an administrator unless the table says
// otherwise. For other requests it answers MAAS's 404.
func newRouteFake(table map[string]func() *http.Response) *fakeTransport {
	return &fakeTransport{answer: func(_ *http.Request, s sentRequest) (*http.Response, error) {
		path := strings.TrimPrefix(s.Path, "/MAAS/api/2.0/")
		if op := s.Query.Get("op"); op != "" {
			path += "?op=" + op
		}
		if make, ok := table[s.Method+" "+path]; ok {
			return make(), nil
		}
		if s.route() == whoAmI {
			return replyJSON(administrator), nil
		}
		return reply(http.StatusNotFound, "text/plain; charset=utf-8", "Unknown API endpoint: "+s.Path+"."), nil
	}}
}

func jsonReply(v any) func() *http.Response { return func() *http.Response { return replyJSON(v) } }

func statusReply(code int, kind, body string) func() *http.Response {
	return func() *http.Response { return reply(code, kind, body) }
}

// pauseRequest waits like a slow MAAS, unless the request ends.
func pauseRequest(req *http.Request, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-req.Context().Done():
		return req.Context().Err()
	}
}

func testClient(t *testing.T, transport http.RoundTripper, change ...func(*Config)) *Client {
	t.Helper()
	config := Config{
		URL: "http://maas.test:5240/MAAS", APIKey: testKey, Transport: transport,
		Rand: func() float64 { return 0 },
	}
	for _, f := range change {
		f(&config)
	}
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// logTo returns a buffer that gets the client's log.
func logTo(config *Config) *syncBuffer {
	b := &syncBuffer{}
	config.Log = slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return b
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// fakeMAAS is a fake MAAS that knows machines by id.
type fakeMAAS struct {
	fakeTransport
	mu       sync.Mutex
	machines map[string]map[string]any
	latency  time.Duration
	broken   bool // answers 503 to every listing
}

func newFakeMAAS(ids ...string) *fakeMAAS {
	w := &fakeMAAS{machines: map[string]map[string]any{}}
	for _, id := range ids {
		w.machines[id] = map[string]any{"system_id": id, "hostname": "vm-" + id, "status": 1, "power_state": "off"}
	}
	w.fakeTransport.answer = w.serve
	return w
}

func (w *fakeMAAS) setField(id, field string, value any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.machines[id][field] = value
}

func (w *fakeMAAS) removeMachine(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.machines, id)
}

// setLatency sets how long each answer takes.
func (w *fakeMAAS) setLatency(latency time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latency = latency
}

func (w *fakeMAAS) setBroken(broken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = broken
}

// serve answers listings with what it holds when the request arrives, after
// the latency, as MAAS does. Every POST to a machine sets its status to 9.
func (w *fakeMAAS) serve(req *http.Request, s sentRequest) (*http.Response, error) {
	w.mu.Lock()
	latency := w.latency
	res := w.listMachines(s)
	w.mu.Unlock()
	if err := pauseRequest(req, latency); err != nil {
		return nil, err
	}
	if s.Method == http.MethodPost {
		id := strings.TrimSuffix(strings.TrimPrefix(s.Path, "/MAAS/api/2.0/machines/"), "/")
		w.setField(id, "status", 9)
	}
	return res, nil
}

func (w *fakeMAAS) listMachines(s sentRequest) *http.Response {
	if w.broken {
		return reply(http.StatusServiceUnavailable, "text/plain", "Unable to connect to any rack controller.")
	}
	if s.route() == whoAmI {
		return replyJSON(administrator)
	}
	found := []map[string]any{}
	for _, m := range w.machines {
		if slices.Contains(s.Query["id"], fmt.Sprint(m["system_id"])) ||
			slices.Contains(s.Query["hostname"], fmt.Sprint(m["hostname"])) {
			found = append(found, m)
		}
	}
	return replyJSON(found)
}
