package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Request is one call of the API. It can be sent several times.
type Request struct {
	Query        url.Values
	Form         url.Values                  // of POST and PUT
	Slow         bool                        // MAAS waits for a rack controller in it
	NoRetry      bool                        // never repeated, whatever happened
	Begin        func(context.Context) error // called right before the first attempt; may be nil
	Secrets      []string                    // parts of the form that must not appear in any text
	SecretAnswer bool                        // the answer holds secrets: none of it is quoted
	Err          error                       // why the request cannot be made

	method  string
	route   string // as people read it: "machines/{id}/?op=deploy"
	path    string // as MAAS reads it, escaped, below the API's root
	header  map[string]string
	timeout time.Duration // of one attempt; the client sets it
}

// NewRequest fills the placeholders {…} of the route with args, in order. It refuses an
// empty arg, because the route would address another object.
func NewRequest(method, route string, args ...string) *Request {
	r := &Request{method: method, route: route, path: route}
	for _, arg := range args {
		from, to := strings.IndexByte(r.path, '{'), strings.IndexByte(r.path, '}')
		if arg == "" || arg == "." || arg == ".." {
			r.Err = fmt.Errorf("%s %s: %q is not an id: %w", method, route, arg, engine.ErrInvalid)
			return r
		}
		r.path = r.path[:from] + url.PathEscape(arg) + r.path[to+1:]
	}
	return r
}

// NewGet returns a request that reads.
func NewGet(route string, args ...string) *Request {
	return NewRequest(http.MethodGet, route, args...)
}

// NewPost returns a request that calls an operation of the route. An empty op is for a
// route without operations.
func NewPost(op, route string, args ...string) *Request {
	r := NewRequest(http.MethodPost, route, args...)
	if op != "" {
		r.Op(op)
	}
	return r
}

// Op sets the operation, which is part of the route.
func (r *Request) Op(name string) *Request {
	r.Query = url.Values{"op": {name}}
	r.route += "?op=" + name
	return r
}

// Set adds a form parameter. It omits an empty value, so that MAAS's default applies.
func (r *Request) Set(name, value string) *Request {
	if value != "" {
		r.Put(name, value)
	}
	return r
}

// Put adds a form parameter, even an empty one.
func (r *Request) Put(name string, values ...string) *Request {
	if r.Form == nil {
		r.Form = url.Values{}
	}
	r.Form[name] = append(r.Form[name], values...)
	return r
}

// Refuse records why a value is not sent at all, in the form of a MAAS form error.
func (r *Request) Refuse(field, message, hint string) *Request {
	if r.Err == nil {
		fields := map[string][]string{field: {message}}
		r.Err = &Error{
			Method: r.method, Route: r.route, Message: joinFieldMessages(fields), Hint: hint,
			FieldMessages: fields, Kind: engine.ErrInvalid, neverSent: true,
		}
	}
	return r
}

// isIdempotent reports whether the request may be repeated even if an earlier attempt took
// effect.
func (r *Request) isIdempotent() bool { return r.method != http.MethodPost }
