package maas

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

const (
	// window is how long a read waits for others to join it.
	window = 15 * time.Millisecond
	// maxKeys bounds the keys of one request: 50 hostnames of 63 letters make
	// a URL of 4 KB, half of what nginx takes.
	maxKeys = 50
)

// fetcher reads the machines of the given keys, by key. A key without
// machines is left out.
type fetcher func(ctx context.Context, keys []string) (map[string][]engine.Machine, error)

// coalescer turns reads that arrive within a short time into one. A reader
// only ever joins a read that has not begun, so that what it gets is not
// older than its question.
type coalescer struct {
	limit time.Duration
	fetch fetcher

	mu   sync.Mutex
	open *batch // not begun; nil if there is none
}

type batch struct {
	*shared[map[string][]engine.Machine]
	keys map[string]bool
	full chan struct{} // closed when no further key fits
}

func newCoalescer(limit time.Duration, fetch fetcher) *coalescer {
	return &coalescer{limit: limit, fetch: fetch}
}

// read returns the machines of one key.
func (c *coalescer) read(ctx context.Context, key string) ([]engine.Machine, error) {
	found, err := c.join(ctx, key).wait(ctx)
	return found[key], err
}

// join adds the key to the read that is about to begin.
func (c *coalescer) join(ctx context.Context, key string) *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil || !c.open.join() {
		c.open = c.begin(ctx)
	}
	b := c.open
	b.keys[key] = true
	if len(b.keys) == maxKeys {
		close(b.full)
		c.open = nil
	}
	return b
}

// begin opens a batch that its maker has joined.
func (c *coalescer) begin(ctx context.Context) *batch {
	b := &batch{
		shared: share[map[string][]engine.Machine](ctx, c.limit),
		keys:   map[string]bool{},
		full:   make(chan struct{}),
	}
	b.join()
	go c.run(b)
	return b
}

func (c *coalescer) run(b *batch) {
	timer := time.NewTimer(window)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.full:
	case <-b.ctx.Done():
	}
	b.finish(c.fetch(b.ctx, c.close(b)))
}

// close lets nobody join any more and returns the keys.
func (c *coalescer) close(b *batch) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == b {
		c.open = nil
	}
	return slices.Sorted(maps.Keys(b.keys))
}
