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
	Begin        func(context.Context) error // called right before the first try; may be nil
	Secrets      []string                    // parts of the form that may not show up in a text
	SecretAnswer bool                        // the answer holds secrets: no word of it is passed on
	Err          error                       // why the request cannot be made

	method  string
	route   string // as people read it: "machines/{id}/?op=deploy"
	path    string // as MAAS reads it, escaped, below the API's root
	header  map[string]string
	timeout time.Duration // of one try: the client sets it
}

// NewRequest fills the placeholders {…} of the route with args, in order. An
// empty one would address another thing, and is refused.
func NewRequest(method, route string, args ...string) *Request {
	r := &Request{method: method, route: route, path: route}
	for _, arg := range args {
		from, to := strings.IndexByte(r.path, '{'), strings.IndexByte(r.path, '}')
		if arg == "" || arg == "." || arg == ".." {
			r.Err = fmt.Errorf("%s %s: %q is no id: %w", method, route, arg, engine.ErrInvalid)
			return r
		}
		r.path = r.path[:from] + url.PathEscape(arg) + r.path[to+1:]
	}
	return r
}

// NewGet is a request that reads.
func NewGet(route string, args ...string) *Request {
	return NewRequest(http.MethodGet, route, args...)
}

// NewPost is a request that changes something, by an operation of the route. An empty op
// stands for a route without operations.
func NewPost(op, route string, args ...string) *Request {
	r := NewRequest(http.MethodPost, route, args...)
	if op != "" {
		r.Op(op)
	}
	return r
}

// Op names the operation, which is part of the route.
func (r *Request) Op(name string) *Request {
	r.Query = url.Values{"op": {name}}
	r.route += "?op=" + name
	return r
}

// Set gives a form parameter; an empty value is left out, so that MAAS's
// default holds.
func (r *Request) Set(name, value string) *Request {
	if value != "" {
		r.Put(name, value)
	}
	return r
}

// Put gives a form parameter, even an empty one.
func (r *Request) Put(name string, values ...string) *Request {
	if r.Form == nil {
		r.Form = url.Values{}
	}
	r.Form[name] = append(r.Form[name], values...)
	return r
}

// Refuse says why a value is not even sent, as MAAS would say it in a form
// error.
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

// isIdempotent tells whether the request may be repeated although an earlier
// try may have taken effect.
func (r *Request) isIdempotent() bool { return r.method != http.MethodPost }
