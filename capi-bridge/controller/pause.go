package controller

import (
	"math/rand/v2"
	"time"
)

// How long to leave an object alone.
const (
	// restEvery is how often a machine is looked at that is as wanted.
	restEvery = 60 * time.Second
	// retryAfter is for what may pass: no room, a host or a MAAS that does not
	// answer.
	retryAfter = 30 * time.Second
	// busyAfter is for what is in somebody's way for a moment.
	busyAfter = 5 * time.Second
	// anewAfter is after what time credentials are looked for anew, unless who
	// reads them does so more or less often.
	anewAfter = time.Minute
	// mendAfter is for what only a person can mend. Changes of the objects wake
	// earlier; those in MAAS do not.
	mendAfter = 5 * time.Minute
	// rereadAfter is for an object of which the cache shows an older state.
	rereadAfter = 100 * time.Millisecond
	// nodeAfter is for a Node that is not there yet.
	nodeAfter = 20 * time.Second
)

// jittered is about d: up to a tenth longer, so that those who failed together
// do not come back together.
func jittered(d time.Duration) time.Duration {
	return d + rand.N(d/10+1)
}

// untilRest is the time until the next look at a machine that is as wanted.
func untilRest(now time.Time) time.Duration { return together(now, restEvery) }

// together is the time until a look that others take, too: all that look so often
// do it in the same moments, so that their reads share calls.
func together(now time.Time, every time.Duration) time.Duration {
	next := now.Truncate(every).Add(every)
	if next.Sub(now) < every/4 {
		next = next.Add(every)
	}
	return next.Sub(now)
}
