package share

import (
	"context"
	"sync"
	"time"
)

// rereadAfter is the age from which on a list that lacks a wanted name is read
// once more: somebody may just have made the thing.
const rereadAfter = time.Second

// Cached is a value that is read when it is asked for, by one call for all
// who ask, and kept for a while. Failures are not kept.
type Cached[T any] struct {
	ttl   time.Duration
	limit time.Duration // of the shared call
	now   func() time.Time
	fetch func(context.Context) (T, error)

	mu          sync.Mutex
	value       T
	readAt      time.Time      // when the reading of value began; zero: there is none
	flight      *sharedCall[T] // the call under way, nil if there is none
	flightBegan time.Time      // when flight began
}

// NewCached prepares a value that serves for ttl after its reading began. limit bounds
// a call that reads it. It reads nothing.
func NewCached[T any](
	ttl, limit time.Duration, now func() time.Time, fetch func(context.Context) (T, error),
) *Cached[T] {
	return &Cached[T]{ttl: ttl, limit: limit, now: now, fetch: fetch}
}

// Get returns the value, and reads it first where it is too old.
func (c *Cached[T]) Get(ctx context.Context) (T, error) { return c.GetYounger(ctx, c.ttl) }

// Reread is for who misses something in the list.
func (c *Cached[T]) Reread(ctx context.Context) (T, error) { return c.GetYounger(ctx, rereadAfter) }

// GetYounger returns a value whose reading began less than age ago, or that
// somebody is reading at this moment.
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

// Drop forgets the value. A call under way still serves those who wait for
// it, and nobody else.
func (c *Cached[T]) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flight, c.readAt = nil, time.Time{}
}

// DiscardIf forgets a value of which a test holds.
func (c *Cached[T]) DiscardIf(test func(T) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if test(c.value) {
		c.readAt = time.Time{}
	}
}

// Expire forgets a value that is old enough to be read once more, and a call
// under way that began as long ago: it still serves those who wait for it.
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
