// Package requeue says how long to leave an object alone.
package requeue

import (
	"math/rand/v2"
	"time"
)

// How long to leave an object alone.
const (
	// SteadyInterval is how often a machine is looked at that is as wanted.
	SteadyInterval = 60 * time.Second
	// RetryAfter is for what may pass: no room, a host or a MAAS that does not
	// answer.
	RetryAfter = 30 * time.Second
	// BusyAfter is for what is in somebody's way for a moment.
	BusyAfter = 5 * time.Second
	// CredentialsAfter is after what time credentials are looked for anew, unless who
	// reads them does so more or less often.
	CredentialsAfter = time.Minute
	// ManualAfter is for what only a person can mend. Changes of the objects wake
	// earlier; those in MAAS do not.
	ManualAfter = 5 * time.Minute
	// StaleCacheAfter is for an object of which the cache shows an older state.
	StaleCacheAfter = 100 * time.Millisecond
	// NodeAfter is for a Node that is not there yet.
	NodeAfter = 20 * time.Second
)

// WithJitter is about d: up to a tenth longer, so that those who failed together
// do not come back together.
func WithJitter(d time.Duration) time.Duration {
	return d + rand.N(d/10+1)
}

// UntilSteadyInterval is the time until the next look at a machine that is as wanted.
func UntilSteadyInterval(now time.Time) time.Duration { return UntilAligned(now, SteadyInterval) }

// UntilAligned is the time until a look that others take, too: all that look so often
// do it in the same moments, so that their reads share calls.
func UntilAligned(now time.Time, every time.Duration) time.Duration {
	next := now.Truncate(every).Add(every)
	if next.Sub(now) < every/4 {
		next = next.Add(every)
	}
	return next.Sub(now)
}
