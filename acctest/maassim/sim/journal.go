package sim

import (
	"cmp"
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Journal is what the simulator was asked since it began or was reset.
type Journal struct {
	// Routes counts the calls by route: method, path and op.
	Routes []RouteCount `json:"routes"`
	// Calls are the calls in the order in which they came.
	Calls []Call `json:"calls,omitzero"`
	// Connections is how many TCP connections came with calls of the API,
	// also those that are older than the journal; where none ever did, as
	// through RoundTripper, how many calls were at most under way at once.
	Connections int `json:"connections"`
	// MachineObjects is how many machines were written into answers.
	MachineObjects int `json:"machine_objects"`
	// Bytes is the size of all answers' bodies.
	Bytes int64 `json:"bytes"`
}

// RouteCount counts the calls of one route.
type RouteCount struct {
	// Route is like "POST vm-hosts/{id}/ compose".
	Route string `json:"route"`
	Calls int    `json:"calls"`
	// Failed counts the calls that were not answered with 2xx.
	Failed         int   `json:"failed,omitempty"`
	Bytes          int64 `json:"bytes"`
	MachineObjects int   `json:"machine_objects,omitempty"`
}

// Call is one call of MAAS's API. Values that may be secret are "…".
type Call struct {
	Route string              `json:"route"`
	Path  string              `json:"path"`
	Query map[string][]string `json:"query,omitempty"`
	Form  map[string][]string `json:"form,omitempty"`
	At    time.Time           `json:"at"`
	Took  time.Duration       `json:"took_ns"`
	// Status is 0 while the call is under way, and for a call that never got
	// an answer.
	Status         int   `json:"status"`
	Bytes          int64 `json:"bytes"`
	MachineObjects int   `json:"machine_objects,omitempty"`
	// Lost says that the client never got an answer.
	Lost bool `json:"lost,omitempty"`
}

// Total is the number of calls.
func (j Journal) Total() int { return len(j.Calls) }

// Count is the number of calls of a route, as "GET machines/" or
// "POST vm-hosts/{id}/ compose".
func (j Journal) Count(route string) int {
	i := slices.IndexFunc(j.Routes, func(r RouteCount) bool { return r.Route == route })
	if i < 0 {
		return 0
	}
	return j.Routes[i].Calls
}

// entry is a call while it may still change. Sim.mu guards it.
type entry = Call

type journal struct {
	calls             []*entry
	connections       int
	sockets           bool // calls came by TCP
	epoch             int  // how often it was emptied
	underWay, maximum int
}

func (j *journal) reset() {
	j.calls, j.maximum, j.connections = nil, j.underWay, 0
	j.epoch++
}

// secretFields are never written down.
var secretFields = []string{"password", "key", "certificate", "user_data", "power_parameters", "power_pass", "preseed"}

func (j *journal) begin(c *call, r *http.Request) *entry {
	route := c.method + " " + or(c.pattern, r.URL.Path)
	if c.op != "" {
		route += " " + c.op
	}
	e := &entry{Route: route, Path: r.URL.Path, Query: c.query, Form: withoutSecrets(c.form), At: time.Now()}
	j.calls = append(j.calls, e)
	j.underWay++
	j.maximum = max(j.maximum, j.underWay)
	return e
}

func withoutSecrets(form map[string][]string) map[string][]string {
	out := maps.Clone(form)
	for name := range out {
		if slices.ContainsFunc(secretFields, func(s string) bool { return strings.Contains(name, s) }) {
			out[name] = []string{"…"}
		}
	}
	return out
}

func (j *journal) answered(s *Sim, e *entry, rep reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.underWay--
	e.Took, e.Status = time.Since(e.At), rep.status
	e.Bytes, e.MachineObjects = int64(len(rep.body)), rep.objects
}

func (j *journal) lost(s *Sim, e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j.underWay--
	e.Took, e.Lost = time.Since(e.At), true
}

// Journal is a copy of the journal.
func (s *Sim) Journal() Journal {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Journal{Routes: []RouteCount{}, Calls: []Call{}, Connections: s.journal.connections}
	if !s.journal.sockets {
		out.Connections = s.journal.maximum
	}
	routes := map[string]*RouteCount{}
	for _, e := range s.journal.calls {
		out.Calls = append(out.Calls, *e)
		out.MachineObjects += e.MachineObjects
		out.Bytes += e.Bytes
		countRoute(routes, e)
	}
	for _, r := range routes {
		out.Routes = append(out.Routes, *r)
	}
	slices.SortFunc(out.Routes, func(a, b RouteCount) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Route, b.Route))
	})
	return out
}

func countRoute(routes map[string]*RouteCount, e *entry) {
	r := routes[e.Route]
	if r == nil {
		r = &RouteCount{Route: e.Route}
		routes[e.Route] = r
	}
	r.Calls++
	r.Bytes += e.Bytes
	r.MachineObjects += e.MachineObjects
	if e.Status < 200 || e.Status > 299 {
		r.Failed++
	}
}

// ResetJournal empties the journal.
func (s *Sim) ResetJournal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal.reset()
}

// connKey is the key of a connection in its requests' context.
type connKey struct{}

// connection is a TCP connection that was accepted. Sim.mu guards it.
type connection struct{ counted int } // the journal's epoch when it was counted

// ConnContext lets the journal count connections: it is the http.Server's
// field of that name where the simulator is served by a server of one's own.
func (s *Sim) ConnContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, &connection{})
}

// countConnection counts the connection of a call of the API, once a journal;
// those that only steer do not count.
func (s *Sim) countConnection(ctx context.Context) {
	conn, known := ctx.Value(connKey{}).(*connection)
	if !known {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j := &s.journal
	j.sockets = true
	if conn.counted != j.epoch {
		conn.counted = j.epoch
		j.connections++
	}
}
