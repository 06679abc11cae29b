package share

import (
	"context"
	"sync"
	"time"
)

// rereadAfter is the age from which a list without a wanted name is read again: someone may
// just have made the thing.
const rereadAfter = time.Second

// Cached is a value that is read on demand and kept for a while. All callers that wait for
// it share one call. Failures are not kept.
type Cached[T any] struct {
	ttl   time.Duration
	limit time.Duration // of the shared call
	now   func() time.Time
	fetch func(context.Context) (T, error)

	mu          sync.Mutex
	value       T
	readAt      time.Time      // when the reading of value began; zero: there is none
	flight      *sharedCall[T] // nil if no call is active
	flightBegan time.Time      // when flight began
}

// NewCached returns a cache that has read nothing yet. A value serves for ttl after its
// read began. limit bounds the call that reads it.
func NewCached[T any](
	ttl, limit time.Duration, now func() time.Time, fetch func(context.Context) (T, error),
) *Cached[T] {
	return &Cached[T]{ttl: ttl, limit: limit, now: now, fetch: fetch}
}

// Get returns the value. It reads it first if the kept one is older than ttl.
func (c *Cached[T]) Get(ctx context.Context) (T, error) { return c.GetYounger(ctx, c.ttl) }

// Reread returns a value younger than rereadAfter. Call it when the list lacks what you
// look for.
func (c *Cached[T]) Reread(ctx context.Context) (T, error) { return c.GetYounger(ctx, rereadAfter) }

// GetYounger returns a value whose read began less than age ago, or the value of the call
// that is active now.
func (c *Cached[T]) GetYounger(ctx context.Context, age time.Duration) (T, error) {
	c.mu.Lock()
	if !c.readAt.IsZero() && c.now().Sub(c.readAt) < age {
		defer c.mu.Unlock()
		return c.value, nil
	}
	if c.flight == nil || !c.flight.join() {
		c.flight, c.flightBegan = newSharedCall[T](ctx, c.limit), c.now()
		c.flight.join()
		go c.load(c.flight)
	}
	flight := c.flight
	c.mu.Unlock()
	return flight.wait(ctx)
}

func (c *Cached[T]) load(flight *sharedCall[T]) {
	began := c.now()
	value, err := c.fetch(flight.ctx)
	c.mu.Lock()
	if c.flight == flight {
		c.flight = nil
		if err == nil {
			c.value, c.readAt = value, began
		}
	}
	c.mu.Unlock()
	flight.finish(value, err)
}

// Drop forgets the value. An active call still serves the callers that wait for it, and no
// others.
func (c *Cached[T]) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flight, c.readAt = nil, time.Time{}
}

// DiscardIf forgets the value if test holds for it.
func (c *Cached[T]) DiscardIf(test func(T) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if test(c.value) {
		c.readAt = time.Time{}
	}
}

// Expire forgets a value older than rereadAfter. It also detaches an active call that began
// before that: the call still serves the callers that wait for it.
func (c *Cached[T]) Expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if now.Sub(c.readAt) >= rereadAfter {
		c.readAt = time.Time{}
	}
	if now.Sub(c.flightBegan) >= rereadAfter {
		c.flight = nil
	}
}
