package request

import (
	"net/http"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
)

// Route maps a method, a path below /MAAS/api/2.0/ and an op to a handler.
type Route struct {
	Method string
	Path   string // "machines/{id}/"
	Op     string // "" for the plain method
	Admin  bool   // only for administrators
	Anon   bool   // needs no credentials, and ignores wrong ones
	Handle func(*Call) rest.Reply
}

// Resource has the routes of one path.
type Resource struct {
	Pattern string
	Vars    map[string]string
	Routes  []Route
}

// IsAnonymous tells whether the resource needs no credentials.
func (r Resource) IsAnonymous() bool {
	return slices.ContainsFunc(r.Routes, func(r Route) bool { return r.Anon })
}

// Operation finds the route of a method and an op.
func (r Resource) Operation(method, op string) (Route, bool) {
	i := slices.IndexFunc(r.Routes, func(r Route) bool { return r.Method == method && r.Op == op })
	if i < 0 {
		return Route{}, false
	}
	return r.Routes[i], true
}

// HasOp tells whether the resource has a route of the op, by any method.
func (r Resource) HasOp(op string) bool {
	return slices.ContainsFunc(r.Routes, func(r Route) bool { return r.Op == op })
}

// AllowsMethod tells whether the resource has a route of the method.
func (r Resource) AllowsMethod(method string) bool {
	return slices.ContainsFunc(r.Routes, func(r Route) bool { return r.Method == method })
}

// allowHeader is the Allow header: the methods in MAAS's order.
func (r Resource) allowHeader() string {
	var methods []string
	for _, m := range []string{http.MethodPost, http.MethodGet, http.MethodPut, http.MethodDelete} {
		if r.AllowsMethod(m) {
			methods = append(methods, m)
		}
	}
	return strings.Join(methods, ", ")
}
