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
	// minQuietTime is how long a read waits for another to join it, at least: what is
	// taken for a gap where gaps are shorter.
	minQuietTime = 15 * time.Millisecond
	// maxQuietTime is how long it waits for another, at most. One gap counts as an
	// eighth of that, at most.
	maxQuietTime = 2 * time.Second
	// maxGatherTime is how long the first reader waits for all others.
	maxGatherTime = 10 * time.Second
	// gapsForMissing is for how many gaps, at least, a read waits while fewer have
	// joined it than did lately. Readers that come at random leave such a gap
	// once in 20,000.
	gapsForMissing = 10
	// assumedReaders and assumedGap are what is thought of readers before the first
	// call: somewhere between 10 and 64, on a computer that has other work.
	assumedReaders, assumedGap = 40, 20 * time.Millisecond
	// A call begins soon, after complete, once it has as many readers as each of the last
	// calls had. steady says how many: a walk has no more at once. One call in probeEveryCalls
	// waits for more all the same, as a walk may have grown.
	steadyCalls, probeEveryCalls, fullBatchDelay = 2, 12, 2 * time.Millisecond
	// A steady call leaves one reader in lateShare to the next call, where lateReaders says
	// so. The late readers work while MAAS answers; without them everybody would wait. For
	// example, 10 readers of 1,000 VMs make 123 calls instead of 100, and 125 are allowed.
	lateShare = 5
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
	limit       time.Duration
	minGather   time.Duration // what a read waits for another, where any came lately
	maxKeys     int
	fetch       Fetch
	hasOnlyRead func() bool // nothing was written yet

	mu           sync.Mutex
	openBatch    *batch        // not begun; nil if there is none
	lastArrival  time.Time     // when somebody last came
	meanGap      time.Duration // between those who join one call, on average of late
	usualReaders int           // readers of one call, of late
	steadyRun    int           // calls in a row that had as many
	lastAnswered time.Time     // when as many were last answered; zero: they never were
	meanAnswer   time.Duration // how long MAAS takes to answer, on average of late
}

type batch struct {
	*sharedCall[map[string][]engine.Machine]
	keys         map[string]bool
	isComplete   bool          // has as many readers as calls had of late
	startedEarly bool          // says nothing of how readers come
	joined       chan struct{} // tells of a new key
	closed       chan struct{} // closed when nobody else is waited for
}

func newCoalescer(config Config, maxKeys int, fetch Fetch) *coalescer {
	return &coalescer{
		limit: maxGatherTime + config.Limit, minGather: config.Gather, maxKeys: maxKeys, fetch: fetch, hasOnlyRead: config.HasOnlyRead,
		meanGap: assumedGap, usualReaders: assumedReaders,
	}
}

// read returns the machines of one key.
func (c *coalescer) read(ctx context.Context, key string) ([]engine.Machine, error) {
	found, err := c.joinBatch(ctx, key).wait(ctx)
	return found[key], err
}

// joinBatch adds the key to the read that is about to begin.
func (c *coalescer) joinBatch(ctx context.Context, key string) *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.openBatch == nil || !c.openBatch.join() {
		c.openBatch = c.newBatch(ctx)
	}
	b := c.openBatch
	c.noteArrival(b, time.Now())
	b.keys[key] = true
	if len(b.keys) == c.maxKeys {
		close(b.closed)
		c.openBatch = nil
	}
	select {
	case b.joined <- struct{}{}:
	default: // it has not taken the last one yet
	}
	return b
}

// startBatch begins the read that gathers readers: who calls it waits for nobody.
func (c *coalescer) startBatch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.openBatch != nil {
		c.openBatch.startedEarly = true
		close(c.openBatch.closed)
		c.openBatch = nil
	}
}

// noteArrival takes the gap since the last reader into the average of the last eight,
// about. Who begins a call tells nothing: what he was waiting for may have been
// the last one.
func (c *coalescer) noteArrival(b *batch, now time.Time) {
	if len(b.keys) > 0 {
		gap := min(now.Sub(c.lastArrival), maxQuietTime/8)
		c.meanGap += (gap - c.meanGap) / 8
	}
	c.lastArrival = now
}

// quietTime is for how long nobody must have joined before a read begins that has
// so many keys. More readers do more work between two reads, so that more gaps
// are a smaller part of it. Those who are missing are waited for at least as
// long as they have been away, and more than are known of for a part of that.
// The numbers are those with which, for walks of 10 and 64 and work of 1 to
// 100 ms between two reads, calls were few and little time was lost. Among
// changes, one gap in three is longer than the average, and one in seven than twice
// that: a read waits for two.
func (c *coalescer) quietTime(b *batch) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.usualReaders == 1 {
		return minQuietTime
	}
	if c.hasEnoughReaders(b) {
		return max(fullBatchDelay, c.minGather)
	}
	gaps, part := 1+float64(len(b.keys))/16, time.Duration(16)
	switch {
	case !c.hasOnlyRead():
		gaps += 1
	case len(b.keys) < c.usualReaders:
		gaps, part = gapsForMissing, 1
	}
	wait := time.Duration(gaps * float64(max(minQuietTime, c.meanGap)))
	if c.hasOnlyRead() && !c.lastAnswered.IsZero() {
		wait = max(wait, c.lastArrival.Sub(c.lastAnswered)/part)
	}
	return min(max(wait, c.minGather), maxQuietTime)
}

// hasEnoughReaders tells whether a batch of a steady walk begins without waiting for more.
// A batch with more readers than usual waits: the walk may have grown.
func (c *coalescer) hasEnoughReaders(b *batch) bool {
	isSteady := c.steadyRun >= steadyCalls && c.steadyRun%probeEveryCalls != 0
	readers := len(b.keys)
	return c.hasOnlyRead() && isSteady && readers >= c.usualReaders-c.lateReaders() && readers <= c.usualReaders
}

// lateReaders is how many of the usual readers a steady batch leaves to the next one. It is
// none where an answer takes more than half of the time in which a batch gathers: a further
// call costs more than the late readers save. It is none below an eighth: they save little.
func (c *coalescer) lateReaders() int {
	gathering := time.Duration(c.usualReaders) * c.meanGap
	if c.meanAnswer < gathering/8 || c.meanAnswer > gathering/2 {
		return 0
	}
	return c.usualReaders / lateShare
}

// newBatch opens a batch that its maker has joined.
func (c *coalescer) newBatch(ctx context.Context) *batch {
	b := &batch{
		sharedCall: newSharedCall[map[string][]engine.Machine](ctx, c.limit),
		keys:       map[string]bool{},
		joined:     make(chan struct{}, 1),
		closed:     make(chan struct{}),
	}
	b.join()
	go c.runBatch(b)
	return b
}

func (c *coalescer) runBatch(b *batch) {
	c.gatherReaders(b)
	keys := c.closeBatch(b)
	sent := time.Now()
	found, err := c.fetch(b.ctx, keys)
	c.noteAnswered(b, time.Since(sent))
	b.finish(found, err)
}

// noteAnswered notes that the readers of a call go on with their work, and how long MAAS
// has taken.
func (c *coalescer) noteAnswered(b *batch, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meanAnswer += (took - c.meanAnswer) / 8
	if b.isComplete {
		c.lastAnswered = time.Now()
	}
}

// gatherReaders waits until nobody joins any more.
func (c *coalescer) gatherReaders(b *batch) {
	end := time.NewTimer(maxGatherTime)
	defer end.Stop()
	for {
		quiet := time.NewTimer(c.quietTime(b))
		select {
		case <-b.joined:
			quiet.Stop()
			continue
		case <-quiet.C:
		case <-end.C:
		case <-b.closed:
		case <-b.ctx.Done():
		}
		quiet.Stop()
		return
	}
}

// closeBatch lets nobody join any more, notes how many there were and returns the
// keys.
func (c *coalescer) closeBatch(b *batch) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.openBatch == b {
		c.openBatch = nil
	}
	switch {
	case b.startedEarly:
	case c.hasEnoughReaders(b): // tells nothing of those who are late
		b.isComplete = true
		c.steadyRun++
	default:
		b.isComplete = len(b.keys) >= c.usualReaders
		if c.steadyRun++; len(b.keys) != c.usualReaders {
			c.steadyRun = 0
		}
		c.usualReaders = max(len(b.keys), c.usualReaders/2)
		if c.meanAnswer == 0 { // no call was answered yet: usualReaders was assumed
			c.usualReaders = len(b.keys)
		}
	}
	return slices.Sorted(maps.Keys(b.keys))
}
