package sim

import (
	"net/http"
	"slices"
	"strings"
)

const apiRoot = "/MAAS/api/2.0/"

// route ties a method, a path below /MAAS/api/2.0/ and an op to a handler.
type route struct {
	method string
	path   string // "machines/{id}/"
	op     string // "" for the plain method
	admin  bool   // reserved for admin users
	anon   bool   // needs no credentials, and ignores wrong ones
	handle func(*call) reply
}

// allRoutes is every operation that is simulated. Each file of operations
// brings its own table.
func allRoutes() []route {
	return slices.Concat(
		machineRoutes, machineOpRoutes, networkRoutes, eventRoutes,
		vmHostRoutes("vm-hosts/"), vmHostRoutes("pods/"),
		catalogRoutes(),
	)
}

// matchPath compares a pattern with a path and returns the values of its
// variables.
func matchPath(pattern, path string) (map[string]string, bool) {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	vars := map[string]string{}
	for i, part := range want {
		if name, isVar := strings.CutPrefix(part, "{"); isVar && have[i] != "" {
			vars[strings.TrimSuffix(name, "}")] = have[i]
		} else if part != have[i] {
			return nil, false
		}
	}
	return vars, true
}

// resource is the routes of one path.
type resource struct {
	pattern string
	vars    map[string]string
	routes  []route
}

// resourceAt finds the resource that a path names. A path without variables
// wins, as in MAAS's list of URLs.
func (s *Sim) resourceAt(path string) (resource, bool) {
	var found resource
	for _, r := range s.routes {
		vars, matches := matchPath(r.path, path)
		switch {
		case !matches || len(found.routes) > 0 && r.path != found.pattern && len(vars) >= len(found.vars):
		case r.path == found.pattern:
			found.routes = append(found.routes, r)
		default:
			found = resource{pattern: r.path, vars: vars, routes: []route{r}}
		}
	}
	return found, len(found.routes) > 0
}

// anonymous says that the resource needs no credentials at all.
func (r resource) anonymous() bool {
	return slices.ContainsFunc(r.routes, func(r route) bool { return r.anon })
}

func (r resource) operation(method, op string) (route, bool) {
	i := slices.IndexFunc(r.routes, func(r route) bool { return r.method == method && r.op == op })
	if i < 0 {
		return route{}, false
	}
	return r.routes[i], true
}

func (r resource) allows(method string) bool {
	return slices.ContainsFunc(r.routes, func(r route) bool { return r.method == method })
}

// allowed is the Allow header: the methods in MAAS's order.
func (r resource) allowed() string {
	var methods []string
	for _, m := range []string{http.MethodPost, http.MethodGet, http.MethodPut, http.MethodDelete} {
		if r.allows(m) {
			methods = append(methods, m)
		}
	}
	return strings.Join(methods, ", ")
}
