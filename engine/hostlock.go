package engine

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// hostLocks keeps composing on a host and syncing that host apart: a sync
// that ends inside a compose adopts the newborn, and the compose then fails
// although its VM is there. Composes of one host may run side by side.
type hostLocks struct {
	mu    sync.Mutex
	locks map[string]*semaphore.Weighted
}

// everything is the weight of a lock that shares with nobody.
const everything = 1 << 20

func newHostLocks() *hostLocks {
	return &hostLocks{locks: map[string]*semaphore.Weighted{}}
}

// share waits until no one has the host alone.
func (h *hostLocks) share(ctx context.Context, host VMHost) (unlock func(), err error) {
	return h.acquire(ctx, host.HostKey, 1)
}

// alone waits until no one else uses the host.
func (h *hostLocks) alone(ctx context.Context, host VMHost) (unlock func(), err error) {
	return h.acquire(ctx, host.HostKey, everything)
}

func (h *hostLocks) acquire(ctx context.Context, key string, weight int64) (func(), error) {
	h.mu.Lock()
	lock, ok := h.locks[key]
	if !ok {
		lock = semaphore.NewWeighted(everything)
		h.locks[key] = lock
	}
	h.mu.Unlock()
	if err := lock.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	return func() { lock.Release(weight) }, nil
}
