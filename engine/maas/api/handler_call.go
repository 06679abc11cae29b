package api

import (
	"context"
	"time"
)

// Call is one attempt of a request, for callers that count them.
type Call struct {
	Method string // "POST"
	Route  string // without ids: "machines/{id}/?op=deploy"
	Status int    // of HTTP; 0 if there was no answer
	Took   time.Duration
}

// newCallHandler passes each attempt to called, unless called is nil.
func newCallHandler(next handler, called func(Call), now func() time.Time) handler {
	if called == nil {
		return next
	}
	return func(ctx context.Context, r *Request) (*answer, error) {
		began := now()
		a, err := next(ctx, r)
		call := Call{Method: r.method, Route: r.route, Took: now().Sub(began)}
		if a != nil {
			call.Status = a.status
		} else if e, ok := AsError(err); ok {
			call.Status = e.Status
		}
		called(call)
		return a, err
	}
}
