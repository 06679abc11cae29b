package api

import (
	"context"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
)

// newDeadlineHandler bounds each attempt. Its own deadline is reported as MAAS not
// answering. The caller's ctx is reported as the caller's.
func newDeadlineHandler(next handler) handler {
	return func(ctx context.Context, r *Request) (*answer, error) {
		limited, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		a, err := next(limited, r)
		e, ok := AsError(err)
		if !ok || e.Status != 0 || limited.Err() == nil || ctx.Err() != nil {
			return a, err
		}
		e.Kind, e.Err, e.isTransient = engine.ErrUnavailable, nil, true
		e.Message = fmt.Sprintf("MAAS did not answer within %s", r.timeout)
		e.Hint = "Look at the load of the MAAS region and rack controllers and of the LXD host, or raise the request timeout."
		return nil, e
	}
}
