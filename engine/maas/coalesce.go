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
	// window is how long a read waits for another to join it, at least.
	window = 15 * time.Millisecond
	// longest is how long it waits for another, at most.
	longest = 500 * time.Millisecond
	// Readers that come more rarely than every sparse are no crowd, and wait
	// for nobody. One gap counts as twice that, at most.
	sparse = 100 * time.Millisecond
	// patience is how long the first reader waits for all others.
	patience = 2 * time.Second
	// crowd is from how many readers of one call on they are known to be many,
	// who come again: more than Terraform walks at once unless it is told to.
	crowd = 20
	// maxNames and maxIDs bound the keys of one request: 50 hostnames of 63
	// letters make a URL of 4 KB, half of what nginx takes. 200 ids of 6
	// letters make 2 KB.
	maxNames, maxIDs = 50, 200
)

// fetcher reads the machines of the given keys, by key. A key without
// machines is left out.
type fetcher func(ctx context.Context, keys []string) (map[string][]engine.Machine, error)

// coalescer turns reads that arrive within a short time into one. A reader
// only ever joins a read that has not begun, so that what it gets is not
// older than its question.
//
// How short that time is follows from how the readers come. Terraform walks
// ten or more resources at once, but its own work sets the pace at which they
// get to reading: on a busy computer one every 30 ms. So a read waits until
// nobody has joined it for some of the usual gaps: for more of them the more
// readers there were last, as the others go on with their work meanwhile.
type coalescer struct {
	limit   time.Duration
	maxKeys int
	fetch   fetcher

	mu   sync.Mutex
	open *batch        // not begun; nil if there is none
	last time.Time     // when somebody last came
	gap  time.Duration // between those who come, on average of late
	most float64       // readers of one call, of late
}

type batch struct {
	*shared[map[string][]engine.Machine]
	keys    map[string]bool
	hurried bool          // says nothing of how readers come
	joined  chan struct{} // tells of a new key
	full    chan struct{} // closed when nobody else is waited for
}

func newCoalescer(limit time.Duration, maxKeys int, fetch fetcher) *coalescer {
	return &coalescer{limit: limit, maxKeys: maxKeys, fetch: fetch}
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
	c.came(time.Now())
	if len(b.keys) == c.maxKeys {
		close(b.full)
		c.open = nil
	}
	select {
	case b.joined <- struct{}{}:
	default: // it has not taken the last one yet
	}
	return b
}

// start begins the read that gathers readers: who calls it waits for nobody.
func (c *coalescer) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open != nil {
		c.open.hurried = true
		close(c.open.full)
		c.open = nil
	}
}

// came takes the gap since the last reader into the average of the last four,
// about.
func (c *coalescer) came(now time.Time) {
	gap := min(now.Sub(c.last), 2*sparse)
	c.gap += (gap - c.gap) / 4
	c.last = now
}

// quiet is for how long nobody must have joined before a read begins that has
// so many keys. Of a crowd at least half is waited for: the others are at work
// meanwhile. The numbers are those with which, for walks of 10 and 64 and work
// of 5 to 30 ms between two reads, calls were few and little time was lost.
func (c *coalescer) quiet(b *batch) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.most >= crowd && float64(len(b.keys)) < c.most/2:
		return longest
	case c.gap > sparse:
		return window
	}
	gaps := 1 + c.most/16
	return min(time.Duration(gaps*float64(max(window, 2*c.gap))), longest)
}

// begin opens a batch that its maker has joined.
func (c *coalescer) begin(ctx context.Context) *batch {
	b := &batch{
		shared: share[map[string][]engine.Machine](ctx, c.limit),
		keys:   map[string]bool{},
		joined: make(chan struct{}, 1),
		full:   make(chan struct{}),
	}
	b.join()
	go c.run(b)
	return b
}

func (c *coalescer) run(b *batch) {
	c.gather(b)
	b.finish(c.fetch(b.ctx, c.close(b)))
}

// gather waits until nobody joins any more.
func (c *coalescer) gather(b *batch) {
	end := time.NewTimer(patience)
	defer end.Stop()
	for {
		quiet := time.NewTimer(c.quiet(b))
		select {
		case <-b.joined:
			quiet.Stop()
			continue
		case <-quiet.C:
		case <-end.C:
		case <-b.full:
		case <-b.ctx.Done():
		}
		quiet.Stop()
		return
	}
}

// close lets nobody join any more, notes how many there were and returns the
// keys.
func (c *coalescer) close(b *batch) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == b {
		c.open = nil
	}
	if !b.hurried {
		c.most = max(float64(len(b.keys)), 0.75*c.most)
	}
	return slices.Sorted(maps.Keys(b.keys))
}
