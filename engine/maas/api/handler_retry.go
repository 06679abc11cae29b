package api

import (
	"context"
	"time"
)

// maxTries bounds how often one request is sent.
const maxTries = 4

// Backoff says how long to pause after the given try, the first being 1.
type Backoff func(try int) time.Duration

// ExponentialBackoff doubles the pause from base up to limit, and takes a random
// part between half and all of it. random returns numbers in [0, 1).
func ExponentialBackoff(base, limit time.Duration, random func() float64) Backoff {
	return func(try int) time.Duration {
		pause := limit
		if shift := try - 1; shift < 20 {
			pause = min(base<<shift, limit)
		}
		return pause/2 + time.Duration(random()*float64(pause/2))
	}
}

// newRetryHandler repeats what failed in passing: GET, PUT and DELETE if no answer
// came or a proxy or MAAS was not ready (502, 503, 504); POST only if it
// provably never left, because a 503 also stands for things that no
// repetition mends and a lost reply for things that were done.
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

// givenUpError says that the caller's ctx ended before the next try; what the last
// one met stays as the message.
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
