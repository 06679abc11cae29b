package surface

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
)

// Router finds the resource of a path in a version. Operations of MAAS that are not served
// answer 501.
type Router struct {
	entries map[string][]routeEntry  // by the first part of the path
	served  map[string]request.Route // by the operation's key
	routes  []request.Route
}

// routeEntry is a route with its operation. The operation is nil for a route that MAAS
// does not have, which only tests use.
type routeEntry struct {
	request.Route
	operation *Operation
	shape     string // shape of the path
}

// aliases are other paths of a resource. MAAS accepts partition and volume-group with and
// without an s (LP:1715230), and a subnet by its CIDR.
var aliases = map[string][]string{
	"nodes/{}/blockdevices/{}/partition/{}": {"nodes/{system_id}/blockdevices/{device_id}/partitions/{id}"},
	"nodes/{}/volume-group/{}/":             {"nodes/{system_id}/volume-groups/{id}/"},
	"subnets/{}/":                           {"subnets/{id}/{bits}/"},
}

// NewRouter makes a router for the served routes.
func NewRouter(served []request.Route) *Router {
	r := &Router{entries: map[string][]routeEntry{}, served: map[string]request.Route{}, routes: served}
	operations := map[string]*Operation{}
	for _, o := range Operations() {
		operations[o.key()] = &o
		for _, alias := range aliases[Shape(o.Path)] {
			operations[keyOf(o.Method, alias, o.Op)] = &o
		}
	}
	for _, route := range served {
		key := keyOf(route.Method, route.Path, route.Op)
		r.served[key] = route
		r.add(route, operations[key])
	}
	r.addNotServed()
	return r
}

// addNotServed adds a 501 for each operation that is not served, and for each alias of its
// path.
func (r *Router) addNotServed() {
	for _, o := range Operations() {
		route, isServed := r.served[o.key()]
		if !isServed {
			route = request.Route{Method: o.Method, Path: o.Path, Op: o.Op, Handle: notServed(o)}
			r.add(route, &o)
		}
		for _, alias := range aliases[Shape(o.Path)] {
			if _, isServed := r.served[keyOf(o.Method, alias, o.Op)]; !isServed {
				route.Path = withVariablesOf(alias, route.Path)
				r.add(route, &o)
			}
		}
	}
}

func (r *Router) add(route request.Route, o *Operation) {
	first, _, _ := strings.Cut(route.Path, "/")
	r.entries[first] = append(r.entries[first], routeEntry{route, o, Shape(route.Path)})
}

// IsServed tells whether an operation is served.
func (r *Router) IsServed(o Operation) bool {
	_, served := r.served[o.key()]
	return served
}

// Routes are the routes that are served.
func (r *Router) Routes() []request.Route { return r.routes }

// RoutesWithoutOperation lists the served routes that MAAS has in no version.
func (r *Router) RoutesWithoutOperation() (unknown []request.Route) {
	for _, entries := range r.entries {
		for _, e := range entries {
			if e.operation == nil {
				unknown = append(unknown, e.Route)
			}
		}
	}
	return unknown
}

// notServed makes the handler of an operation that MAAS has and the simulator does not
// serve.
func notServed(o Operation) func(*request.Call) rest.Reply {
	return func(*request.Call) rest.Reply {
		return rest.ErrorReply(http.StatusNotImplemented, fmt.Sprintf("MAAS has %s, but the simulator does not serve it: see OPERATIONS.md.", o))
	}
}

// FindResource finds the resource of a path below /MAAS/api/2.0/ in a version. A path
// without variables wins, as in MAAS's list of URLs. MAAS also accepts an op at the end of
// a path, as in users/op-whoami. In that case FindResource returns the op.
func (r *Router) FindResource(version, path string) (found request.Resource, op string, ok bool) {
	if found, ok = r.matchResource(version, path); ok {
		return found, "", true
	}
	slash := strings.LastIndex(path, "/") + 1
	op, isOp := strings.CutPrefix(path[slash:], "op-")
	if !isOp {
		return found, "", false
	}
	found, ok = r.matchResource(version, path[:slash])
	return found, op, ok && found.HasOp(op)
}

func (r *Router) matchResource(version, path string) (found request.Resource, ok bool) {
	var shape string // shape of the found resource
	first, _, _ := strings.Cut(path, "/")
	for _, e := range r.entries[first] {
		vars, matches := rest.MatchPath(e.Path, path)
		if !matches || len(found.Routes) > 0 && e.shape != shape && len(vars) >= len(found.Vars) {
			continue
		}
		route, exists := e.routeIn(version)
		switch {
		case !exists:
		case len(found.Routes) > 0 && e.shape == shape:
			found.Routes = append(found.Routes, route)
		default:
			shape = e.shape
			found = request.Resource{Pattern: e.Path, Vars: vars, Routes: []request.Route{route}}
		}
	}
	return found, len(found.Routes) > 0
}

// routeIn is the route in a version: none, the route itself, or a handler that answers 410
// to every caller.
func (e routeEntry) routeIn(version string) (request.Route, bool) {
	switch {
	case e.operation == nil || e.operation.ExistsIn(version):
		return e.Route, true
	case e.operation.RemovedIn(version):
		gone := e.Route
		gone.Admin, gone.Handle = false, func(*request.Call) rest.Reply { return request.GoneReply() }
		return gone, true
	}
	return request.Route{}, false
}

// withVariablesOf gives an alias the variable names of the original path, because the
// handler uses those names.
func withVariablesOf(alias, path string) string {
	names := variablePattern.FindAllString(path, -1)
	return variablePattern.ReplaceAllStringFunc(alias, func(own string) string {
		if len(names) == 0 {
			return own
		}
		own, names = names[0], names[1:]
		return own
	})
}
