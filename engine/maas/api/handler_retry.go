package api

import (
	"context"
	"time"
)

// maxTries bounds how often one request is sent.
const maxTries = 4

// Backoff returns the pause after an attempt. The first attempt is 1.
type Backoff func(try int) time.Duration

// ExponentialBackoff doubles the pause from base up to limit. The pause is a random part
// between half and all of that. random returns numbers in [0, 1).
func ExponentialBackoff(base, limit time.Duration, random func() float64) Backoff {
	return func(try int) time.Duration {
		pause := limit
		if shift := try - 1; shift < 20 {
			pause = min(base<<shift, limit)
		}
		return pause/2 + time.Duration(random()*float64(pause/2))
	}
}

// newRetryHandler repeats requests that failed temporarily. It repeats GET, PUT and DELETE
// if no answer came, or if a proxy or MAAS was not ready (502, 503, 504).
//
// It repeats a POST only if the request certainly never left. A 503 can also be a lasting
// refusal, and after a lost reply the change may be done.
func newRetryHandler(next handler, pause Backoff, now func() time.Time) handler {
	return func(ctx context.Context, r *Request) (*answer, error) {
		began := now()
		for try := 1; ; try++ {
			a, err := next(ctx, r)
			if err == nil || try == maxTries || !mayRetry(r, err) {
				return a, err
			}
			wait := pause(try)
			if now().Add(wait).Sub(began) > retryBudget {
				return nil, err
			}
			if !sleepOrDone(ctx, wait) {
				return nil, givenUpError(ctx, err)
			}
		}
	}
}

func mayRetry(r *Request, err error) bool {
	e, ok := AsError(err)
	if !ok || !e.isTransient || r.NoRetry {
		return false
	}
	return r.isIdempotent() || e.neverSent
}

// givenUpError says that the caller's ctx ended before the next attempt. The message of the
// last attempt stays.
func givenUpError(ctx context.Context, err error) error {
	e, ok := AsError(err)
	if !ok {
		return err
	}
	e.Kind, e.Err = nil, ctx.Err()
	e.Message = "given up after: " + e.Message
	return e
}

// sleepOrDone reports whether it slept to the end.
func sleepOrDone(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
