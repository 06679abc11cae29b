package share

import (
	"context"
	"sync"
	"time"
)

// sharedCall is one call for several callers. A caller whose ctx ends leaves. The call goes
// on for the others, and is cancelled when the last one leaves.
type sharedCall[T any] struct {
	ctx    context.Context // of the call, with the values of the first caller's ctx
	cancel context.CancelFunc
	done   chan struct{} // closed once value and err are set
	value  T
	err    error

	mu      sync.Mutex
	waiting int
}

// newSharedCall prepares a call that may take up to limit. Its maker must join it too.
func newSharedCall[T any](ctx context.Context, limit time.Duration) *sharedCall[T] {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	return &sharedCall[T]{ctx: ctx, cancel: cancel, done: make(chan struct{})}
}

// join adds a caller. It returns false if the call was cancelled because all others have
// left.
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

// wait returns the result of the call, or the error of the caller's ctx. Call it once after
// each join.
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

// finish hands the result to all callers that wait.
func (s *sharedCall[T]) finish(value T, err error) {
	s.value, s.err = value, err
	close(s.done)
}
