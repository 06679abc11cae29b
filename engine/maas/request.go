package maas

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// request is one call of the API. It can be sent several times.
type request struct {
	method  string
	route   string // as people read it: "machines/{id}/?op=deploy"
	path    string // as MAAS reads it, escaped, below the API's root
	query   url.Values
	form    url.Values // of POST and PUT
	header  map[string]string
	slow    bool                        // MAAS waits for a rack controller in it
	timeout time.Duration               // of one try: the client sets it
	once    bool                        // never repeated, whatever happened
	begin   func(context.Context) error // called right before the first try; may be nil
	secrets []string                    // parts of the form that may not show up in a text
	mute    bool                        // the answer holds secrets: no word of it is passed on
	err     error                       // why the request cannot be made
}

// newRequest fills the placeholders {…} of the route with args, in order. An
// empty one would address another thing, and is refused.
func newRequest(method, route string, args ...string) *request {
	r := &request{method: method, route: route, path: route}
	for _, arg := range args {
		from, to := strings.IndexByte(r.path, '{'), strings.IndexByte(r.path, '}')
		if arg == "" || arg == "." || arg == ".." {
			r.err = fmt.Errorf("%s %s: %q is no id: %w", method, route, arg, engine.ErrInvalid)
			return r
		}
		r.path = r.path[:from] + url.PathEscape(arg) + r.path[to+1:]
	}
	return r
}

func get(route string, args ...string) *request {
	return newRequest(http.MethodGet, route, args...)
}

func post(op, route string, args ...string) *request {
	r := newRequest(http.MethodPost, route, args...)
	if op != "" {
		r.op(op)
	}
	return r
}

// op names the operation, which is part of the route.
func (r *request) op(name string) *request {
	r.query = url.Values{"op": {name}}
	r.route += "?op=" + name
	return r
}

// set gives a form parameter; an empty value is left out, so that MAAS's
// default holds.
func (r *request) set(name, value string) *request {
	if value != "" {
		r.put(name, value)
	}
	return r
}

// put gives a form parameter, even an empty one.
func (r *request) put(name string, values ...string) *request {
	if r.form == nil {
		r.form = url.Values{}
	}
	r.form[name] = append(r.form[name], values...)
	return r
}

// refuse says why a value is not even sent, as MAAS would say it in a form
// error.
func (r *request) refuse(field, message, hint string) *request {
	if r.err == nil {
		fields := map[string][]string{field: {message}}
		r.err = &Error{
			Method: r.method, Route: r.route, Message: sentence(fields), Hint: hint,
			FieldMessages: fields, Kind: engine.ErrInvalid, unsent: true,
		}
	}
	return r
}

// idempotent tells whether the request may be repeated although an earlier
// try may have taken effect.
func (r *request) idempotent() bool { return r.method != http.MethodPost }
