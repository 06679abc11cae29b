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

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Journal lists the calls since the simulator began or was reset.
type Journal struct {
	// Routes counts the calls by route: method, path and op.
	Routes []RouteCount `json:"routes"`
	// Calls are the calls in their order.
	Calls []Call `json:"calls,omitzero"`
	// Connections is the number of TCP connections with calls of the API, including
	// connections older than the journal. Without TCP, as through RoundTripper, it is the
	// largest number of simultaneous calls.
	Connections int `json:"connections"`
	// MachineObjects is the number of machines in all answers.
	MachineObjects int `json:"machine_objects"`
	// Bytes is the size of all answers' bodies.
	Bytes int64 `json:"bytes"`
	// LXD counts the calls of the LXDs. The other fields do not count them.
	LXD LXDJournal `json:"lxd"`
}

// LXDJournal lists the calls of the LXDs' API, except for MAAS's own.
type LXDJournal struct {
	// Routes counts the calls of all LXDs by route, such as "GET 1.0/instances/{name}".
	Routes []RouteCount `json:"routes"`
	// Calls are the calls in their order.
	Calls []Call `json:"calls,omitzero"`
}

// Count is the number of calls of a route.
func (j LXDJournal) Count(route string) int { return countOf(j.Routes, route) }

// RouteCount counts the calls of one route.
type RouteCount struct {
	// Route is like "POST vm-hosts/{id}/ compose".
	Route string `json:"route"`
	Calls int    `json:"calls"`
	// Failed counts the calls whose status was not 2xx.
	Failed         int   `json:"failed,omitempty"`
	Bytes          int64 `json:"bytes"`
	MachineObjects int   `json:"machine_objects,omitempty"`
}

// Call is one call of MAAS's API or of an LXD's. Values that may be secret are "…".
type Call struct {
	// Host is the name of the called LXD, or empty for MAAS.
	Host  string              `json:"host,omitempty"`
	Route string              `json:"route"`
	Path  string              `json:"path"`
	Query map[string][]string `json:"query,omitempty"`
	Form  map[string][]string `json:"form,omitempty"`
	At    time.Time           `json:"at"`
	Took  time.Duration       `json:"took_ns"`
	// Status is 0 while the call is under way, and for a call without an answer.
	Status         int   `json:"status"`
	Bytes          int64 `json:"bytes"`
	MachineObjects int   `json:"machine_objects,omitempty"`
	// Lost means that the client got no answer.
	Lost bool `json:"lost,omitempty"`
}

// Total is the number of calls.
func (j Journal) Total() int { return len(j.Calls) }

// Count is the number of calls of a route, as "GET machines/" or
// "POST vm-hosts/{id}/ compose".
func (j Journal) Count(route string) int { return countOf(j.Routes, route) }

func countOf(routes []RouteCount, route string) int {
	i := slices.IndexFunc(routes, func(r RouteCount) bool { return r.Route == route })
	if i < 0 {
		return 0
	}
	return routes[i].Calls
}

// entry is a call that may still change. The lock guards it.
type entry = Call

// journal is the record of calls. It may still change.
type journal struct {
	*region
	calls                 []*entry
	connections           int
	hasTCPCalls           bool // whether calls came over TCP
	epoch                 int  // how often the journal was reset
	underWay, maxUnderWay int
}

func (j *journal) reset() {
	j.calls, j.maxUnderWay, j.connections = nil, j.underWay, 0
	j.epoch++
}

// secretFields are never recorded.
var secretFields = []string{"password", "key", "certificate", "user_data", "power_parameters", "power_pass", "preseed"}

func (j *journal) noteCall(c *request.Call, r *http.Request) *entry {
	route := c.Method + " " + cmp.Or(c.Pattern, r.URL.Path)
	if c.Op != "" {
		route += " " + c.Op
	}
	e := &entry{Route: route, Path: r.URL.Path, Query: c.Query, Form: withoutSecrets(c.Form), At: time.Now()}
	j.calls = append(j.calls, e)
	j.underWay++
	j.maxUnderWay = max(j.maxUnderWay, j.underWay)
	return e
}

// noteLXDCall notes a call of an LXD, without its body.
func (j *journal) noteLXDCall(l *world.LXD, c *lxd.Call) *entry {
	e := &entry{Host: l.Name, Route: c.Request.Method + " " + c.Pattern, Path: c.Request.URL.Path, Query: withoutSecrets(c.Query), At: time.Now()}
	j.calls = append(j.calls, e)
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

func (j *journal) noteAnswer(e *entry, rep rest.Reply) {
	j.keeper.Lock()
	defer j.keeper.Unlock()
	j.noteCallEnded(e)
	e.Took, e.Status = time.Since(e.At), rep.Status
	e.Bytes, e.MachineObjects = int64(len(rep.Body)), rep.MachineObjects
}

func (j *journal) noteLostCall(e *entry) {
	j.keeper.Lock()
	defer j.keeper.Unlock()
	j.noteCallEnded(e)
	e.Took, e.Lost = time.Since(e.At), true
}

// noteCallEnded notes that a call is no longer under way.
func (j *journal) noteCallEnded(e *entry) {
	if e.Host == "" {
		j.underWay--
	}
}

// Journal is a copy of the journal.
func (j *journal) Journal() Journal {
	j.keeper.Lock()
	defer j.keeper.Unlock()
	out := Journal{Routes: []RouteCount{}, Calls: []Call{}, Connections: j.connections}
	if !j.hasTCPCalls {
		out.Connections = j.maxUnderWay
	}
	routes, lxdRoutes := map[string]*RouteCount{}, map[string]*RouteCount{}
	out.LXD.Calls = []Call{}
	for _, e := range j.calls {
		if e.Host != "" {
			out.LXD.Calls = append(out.LXD.Calls, *e)
			countRoute(lxdRoutes, e)
			continue
		}
		out.Calls = append(out.Calls, *e)
		out.MachineObjects += e.MachineObjects
		out.Bytes += e.Bytes
		countRoute(routes, e)
	}
	out.Routes, out.LXD.Routes = sortByCalls(routes), sortByCalls(lxdRoutes)
	return out
}

// sortByCalls lists routes, the most frequent first.
func sortByCalls(routes map[string]*RouteCount) []RouteCount {
	out := []RouteCount{}
	for _, r := range routes {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b RouteCount) int {
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
	if (e.Status < 200 || e.Status > 299) && e.Status != http.StatusSwitchingProtocols {
		r.Failed++
	}
}

// ResetJournal empties the journal.
func (j *journal) ResetJournal() {
	j.keeper.Lock()
	defer j.keeper.Unlock()
	j.reset()
}

// connKey is the key of a connection in its requests' context.
type connKey struct{}

// connection is a TCP connection that was accepted. The lock guards it.
type connection struct{ counted int } // the journal's epoch in which it was counted

// ConnContext lets the journal count connections. If you serve the simulator with your own
// http.Server, set its field of that name to this function.
func (j *journal) ConnContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, &connection{})
}

// countConnection counts the connection of an API call once per journal. Connections that
// only use /_sim/ do not count.
func (j *journal) countConnection(ctx context.Context) {
	conn, known := ctx.Value(connKey{}).(*connection)
	if !known {
		return
	}
	j.keeper.Lock()
	defer j.keeper.Unlock()
	j.hasTCPCalls = true
	if conn.counted != j.epoch {
		conn.counted = j.epoch
		j.connections++
	}
}
