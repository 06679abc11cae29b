package share

import (
	"context"
	"sync"
	"time"
)

// sharedCall is one call that is made for several callers. A caller whose ctx
// ends leaves; the call goes on for the others and is cancelled when the last
// one has left.
type sharedCall[T any] struct {
	ctx    context.Context // of the call: with the values of the first caller's
	cancel context.CancelFunc
	done   chan struct{} // closed once value and err are there
	value  T
	err    error

	mu      sync.Mutex
	waiting int
}

// newSharedCall prepares a call that may take up to limit. Its maker joins it like
// every other caller.
func newSharedCall[T any](ctx context.Context, limit time.Duration) *sharedCall[T] {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	return &sharedCall[T]{ctx: ctx, cancel: cancel, done: make(chan struct{})}
}

// join counts a caller in. It reports false if all others have left, so that
// the call was cancelled.
func (s *sharedCall[T]) join() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.waiting++
	return true
}

func (s *sharedCall[T]) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting--; s.waiting == 0 {
		s.cancel()
	}
}

// wait returns what the call brought, or the end of the caller's ctx. Only
// who joined may wait, once.
func (s *sharedCall[T]) wait(ctx context.Context) (T, error) {
	defer s.leave()
	select {
	case <-s.done:
		return s.value, s.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// finish hands the result to all who wait.
func (s *sharedCall[T]) finish(value T, err error) {
	s.value, s.err = value, err
	close(s.done)
}
