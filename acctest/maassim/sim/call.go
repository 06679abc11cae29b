package sim

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// call is one request to the API, as its handler sees it.
type call struct {
	w       *world
	user    *user // nil: anonymous
	method  string
	pattern string // "machines/{id}/"
	vars    map[string]string
	query   url.Values
	form    url.Values // the body's fields; what a handler of POST and PUT reads
	op      string
	lxd     bool // of an LXD; then it is only what faults match
}

// field is the last value of a form field, as Django reads it.
func (c *call) field(name string) string { return last(c.form[name]) }

// has says whether the form has the field, be it empty.
func (c *call) has(name string) bool { return len(c.form[name]) > 0 }

func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// truth reads a boolean parameter as MAAS does.
func truth(text string) bool {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on", "t", "y":
		return true
	}
	return false
}

// dispatch runs a call to its reply. Sim.mu is held; handlers may release it
// to let time pass.
func (s *Sim) dispatch(c *call, r *http.Request) reply {
	path, isAPI := strings.CutPrefix(r.URL.Path, apiRoot)
	res, found := s.resourceAt(path)
	if !isAPI || !found {
		return unknownEndpoint(r.URL.Path)
	}
	c.pattern, c.vars = res.pattern, res.vars
	u, denied := c.w.authenticate(c, r)
	if denied != nil && !res.anonymous() {
		if denied.status == http.StatusUnauthorized && denied.kind == typePlain && res.pattern == "machines/" {
			return s.anonymousMachines(c, res)
		}
		return *denied
	}
	c.user = u
	return s.operate(c, res)
}

func (s *Sim) operate(c *call, res resource) reply {
	if !res.allows(c.method) {
		return methodNotAllowed(res)
	}
	if format := c.query.Get("format"); format != "" && format != "json" {
		rep := badText(fmt.Sprintf("Invalid output format specified '%s'.", format))
		rep.kind, rep.header = typePlain, apiHeader()
		return rep
	}
	route, found := res.operation(c.method, c.op)
	if !found {
		return badSignature(c)
	}
	if route.admin && !c.user.admin {
		return refused(http.StatusForbidden, "This method is reserved for admin users.")
	}
	return route.handle(c)
}

// anonymousMachines is the handler that MAAS has for enlisting machines
// without credentials: the reason why GET machines/ is 400 there and not 401.
func (s *Sim) anonymousMachines(c *call, res resource) reply {
	if c.method == http.MethodPost && c.op == "" {
		return createMachine(c)
	}
	if !res.allows(c.method) {
		return methodNotAllowed(res)
	}
	return badSignature(c)
}

func unknownEndpoint(path string) reply {
	rep := refused(http.StatusNotFound, fmt.Sprintf("Unknown API endpoint: %s.", path))
	rep.header.Del("Vary")
	return rep
}

func methodNotAllowed(res resource) reply {
	rep := reply{status: http.StatusMethodNotAllowed, kind: typeHTML, header: apiHeader()}
	rep.header.Set("Allow", res.allowed())
	return rep
}

func badSignature(c *call) reply {
	op := or(c.op, "None")
	return badText(fmt.Sprintf("Unrecognised signature: method=%s op=%s", c.method, op))
}
