// Package requeue says how long to leave an object alone.
package requeue

import (
	"math/rand/v2"
	"time"
)

// How long to leave an object alone.
const (
	// SteadyInterval is how often we observe a machine that is as wanted.
	SteadyInterval = 60 * time.Second
	// RetryAfter is for causes that may pass: no room, or a host or MAAS that
	// does not answer.
	RetryAfter = 30 * time.Second
	// BusyAfter is for causes that last a moment.
	BusyAfter = 5 * time.Second
	// CredentialsAfter is when to read credentials again, unless their reader
	// gives another time.
	CredentialsAfter = time.Minute
	// ManualAfter is for causes that only a person can remove. A change of the
	// object wakes us earlier. A change in MAAS does not.
	ManualAfter = 5 * time.Minute
	// StaleCacheAfter is for an object whose cached state is too old.
	StaleCacheAfter = 100 * time.Millisecond
	// NodeAfter is for a Node that does not exist yet.
	NodeAfter = 20 * time.Second
)

// WithJitter returns about d, up to a tenth longer. Objects that failed
// together then do not come back together.
func WithJitter(d time.Duration) time.Duration {
	return d + rand.N(d/10+1)
}

// UntilSteadyInterval is the time until the next look at a machine that is as
// wanted.
func UntilSteadyInterval(now time.Time) time.Duration { return UntilAligned(now, SteadyInterval) }

// UntilAligned is the time until the next multiple of every. All objects with
// the same interval wake at the same moments, so that their reads share calls.
func UntilAligned(now time.Time, every time.Duration) time.Duration {
	next := now.Truncate(every).Add(every)
	if next.Sub(now) < every/4 {
		next = next.Add(every)
	}
	return next.Sub(now)
}
