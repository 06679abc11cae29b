package region

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/maaslxd/maaslxd/engine"
)

// HostLocks keep composes on a host and a sync of that host apart. A sync that ends inside a
// compose adopts the new VM, and the compose then fails although its VM exists. Composes on one
// host may run side by side.
type HostLocks struct {
	mu    sync.Mutex
	locks map[string]*semaphore.Weighted
}

// exclusiveWeight is the weight of a lock that shares with nobody.
const exclusiveWeight = 1 << 20

func newHostLocks() *HostLocks {
	return &HostLocks{locks: map[string]*semaphore.Weighted{}}
}

// LockShared waits until nobody has the host alone.
func (h *HostLocks) LockShared(ctx context.Context, host engine.VMHost) (unlock func(), err error) {
	return h.acquire(ctx, host.HostKey, 1)
}

// lockExclusive waits until nobody else uses the host.
func (h *HostLocks) lockExclusive(ctx context.Context, host engine.VMHost) (unlock func(), err error) {
	return h.acquire(ctx, host.HostKey, exclusiveWeight)
}

func (h *HostLocks) acquire(ctx context.Context, key string, weight int64) (func(), error) {
	h.mu.Lock()
	lock, ok := h.locks[key]
	if !ok {
		lock = semaphore.NewWeighted(exclusiveWeight)
		h.locks[key] = lock
	}
	h.mu.Unlock()
	if err := lock.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	return func() { lock.Release(weight) }, nil
}
