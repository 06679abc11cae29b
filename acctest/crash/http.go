package crash

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// apiRoot is the path under which MAAS's API begins.
const apiRoot = "/MAAS/api/2.0/"

// MAASCallName names a call of MAAS's API, as "POST machines/*/ deploy": every second
// part of its path is an id.
func MAASCallName(r *http.Request) string {
	path := r.URL.Path
	if below, isAPI := strings.CutPrefix(path, apiRoot); isAPI {
		path = below
	}
	parts := strings.Split(path, "/")
	for i := 1; i < len(parts) && parts[i] != ""; i += 2 {
		parts[i] = "*"
	}
	name := r.Method + " " + strings.Join(parts, "/")
	if op := r.URL.Query().Get("op"); op != "" {
		name += " " + op
	}
	return name
}

// Transport connects a program to a server until the program crashes. A call
// for which named returns "" is not counted and causes no crash. A crashed
// program cannot make such a call either.
func (l *Process) Transport(inner http.RoundTripper, named func(*http.Request) string) http.RoundTripper {
	return transport{l, inner, named}
}

type transport struct {
	process *Process
	inner   http.RoundTripper
	nameOf  func(*http.Request) string
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var answer *http.Response
	err := t.process.doCall(r, t.nameOf(r), func() (err error) {
		answer, err = t.inner.RoundTrip(r)
		return err
	})
	if err != nil && answer != nil {
		_ = answer.Body.Close()
		answer = nil
	}
	return answer, err
}

// CloseIdleConnections closes the idle connections of the inner transport.
func (t transport) CloseIdleConnections() {
	if c, ok := t.inner.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// doCall makes a call under its name, if it has one.
func (l *Process) doCall(r *http.Request, name string, do func() error) error {
	switch {
	case name == "" && l.HasCrashed():
		return ErrCrashed
	case name == "":
		return do()
	case r.Method == http.MethodGet:
		return l.DoRead(name, do)
	}
	return l.DoWrite(name, do)
}

// Gateway is a server in front of another. It recognises programs by their
// User-Agent and cuts the connections of crashed ones. It refuses unknown
// programs with 403: nobody would count their calls, and they could not crash.
type Gateway struct {
	inner  http.Handler
	nameOf func(*http.Request) string

	mu        sync.Mutex
	processes map[string]*Process // by User-Agent
}

// NewGateway makes a gateway that names calls by named.
func NewGateway(inner http.Handler, named func(*http.Request) string) *Gateway {
	return &Gateway{inner: inner, nameOf: named, processes: map[string]*Process{}}
}

// Register says which process has a User-Agent.
func (g *Gateway) Register(userAgent string, l *Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.processes[userAgent] = l
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	l := g.processes[r.UserAgent()]
	g.mu.Unlock()
	if l == nil {
		http.Error(rw, fmt.Sprintf("no life is known of the User-Agent %q", r.UserAgent()), http.StatusForbidden)
		return
	}
	answer := httptest.NewRecorder() // the answer is sent only when the program is known to live
	err := l.doCall(r, g.nameOf(r), func() error {
		g.inner.ServeHTTP(answer, r)
		return nil
	})
	if err != nil {
		panic(http.ErrAbortHandler) // this cuts the connection
	}
	maps.Copy(rw.Header(), answer.Header())
	rw.WriteHeader(answer.Code)
	_, _ = rw.Write(answer.Body.Bytes()) // the client may have gone
}
