package share

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

const (
	// window is how long a read waits for another to join it, at least: what is
	// taken for a gap where gaps are shorter.
	window = 15 * time.Millisecond
	// longest is how long it waits for another, at most. One gap counts as an
	// eighth of that, at most.
	longest = 2 * time.Second
	// patience is how long the first reader waits for all others.
	patience = 10 * time.Second
	// missing is for how many gaps, at least, a read waits while fewer have
	// joined it than did lately. Readers that come at random leave such a gap
	// once in 20,000.
	missing = 10
	// assumedMost and assumedGap are what is thought of readers before the first
	// call: somewhere between 10 and 64, on a computer that has other work.
	assumedMost, assumedGap = 40, 20 * time.Millisecond
	// A call begins soon, after complete, once it has as many readers as each of the last
	// calls had. steady says how many: a walk has no more at once. One call in probeMore
	// waits for more all the same, as a walk may have grown.
	steady, probeMore, complete = 2, 8, 2 * time.Millisecond
	// maxNames and maxIDs bound the keys of one request: 50 hostnames of 63
	// letters make a URL of 4 KB, half of what nginx takes. 200 ids of 6
	// letters make 2 KB.
	maxNames, maxIDs = 50, 200
)

// coalescer turns reads that arrive within a short time into one. A reader
// only ever joins a read that has not begun, so that what it gets is not
// older than its question.
//
// How short that time is follows from how the readers come. Terraform walks
// ten or more resources at once, but its own work sets the pace at which they
// get to reading: on a busy computer one every 50 ms, in bursts. Who waits for
// them loses nothing as long as others are at work. So a read waits for as many
// as came lately, and then until nobody joins it for some of the usual gaps.
// Once the client has written, its readers are steps of changes that each have
// a time of their own, and only the latter is waited for.
type coalescer struct {
	limit   time.Duration
	least   time.Duration // what a read waits for another, where any came lately
	maxKeys int
	fetch   Fetch
	reading func() bool // nothing was written yet

	mu   sync.Mutex
	open *batch        // not begun; nil if there is none
	last time.Time     // when somebody last came
	gap  time.Duration // between those who join one call, on average of late
	most int           // readers of one call, of late
	same int           // calls in a row that had as many
	left time.Time     // when as many were last answered; zero: they never were
}

type batch struct {
	*shared[map[string][]engine.Machine]
	keys    map[string]bool
	whole   bool          // has as many readers as calls had of late
	hurried bool          // says nothing of how readers come
	joined  chan struct{} // tells of a new key
	full    chan struct{} // closed when nobody else is waited for
}

func newCoalescer(config Config, maxKeys int, fetch Fetch) *coalescer {
	return &coalescer{
		limit: patience + config.Limit, least: config.Gather, maxKeys: maxKeys, fetch: fetch, reading: config.Unchanged,
		gap: assumedGap, most: assumedMost,
	}
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
	c.came(b, time.Now())
	b.keys[key] = true
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

// came takes the gap since the last reader into the average of the last eight,
// about. Who begins a call tells nothing: what he was waiting for may have been
// the last one.
func (c *coalescer) came(b *batch, now time.Time) {
	if len(b.keys) > 0 {
		gap := min(now.Sub(c.last), longest/8)
		c.gap += (gap - c.gap) / 8
	}
	c.last = now
}

// quiet is for how long nobody must have joined before a read begins that has
// so many keys. More readers do more work between two reads, so that more gaps
// are a smaller part of it. Those who are missing are waited for at least as
// long as they have been away, and more than are known of for a part of that.
// The numbers are those with which, for walks of 10 and 64 and work of 1 to
// 100 ms between two reads, calls were few and little time was lost. Among
// changes, one gap in three is longer than the average, and one in seven than twice
// that: a read waits for two.
func (c *coalescer) quiet(b *batch) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.most == 1 {
		return window
	}
	if c.reading() && len(b.keys) == c.most && c.same >= steady && c.same%probeMore != 0 {
		return max(complete, c.least)
	}
	gaps, part := 1+float64(len(b.keys))/16, time.Duration(16)
	switch {
	case !c.reading():
		gaps += 1
	case len(b.keys) < c.most:
		gaps, part = missing, 1
	}
	wait := time.Duration(gaps * float64(max(window, c.gap)))
	if c.reading() && !c.left.IsZero() {
		wait = max(wait, c.last.Sub(c.left)/part)
	}
	return min(max(wait, c.least), longest)
}

// begin opens a batch that its maker has joined.
func (c *coalescer) begin(ctx context.Context) *batch {
	b := &batch{
		shared: newShared[map[string][]engine.Machine](ctx, c.limit),
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
	found, err := c.fetch(b.ctx, c.close(b))
	c.answered(b)
	b.finish(found, err)
}

// answered notes that the readers of a call go on with their work.
func (c *coalescer) answered(b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.whole {
		c.left = time.Now()
	}
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
		b.whole = len(b.keys) >= c.most
		if c.same++; len(b.keys) != c.most {
			c.same = 0
		}
		c.most = max(len(b.keys), c.most/2)
	}
	return slices.Sorted(maps.Keys(b.keys))
}
