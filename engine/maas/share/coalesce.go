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
	// minQuietTime is the shortest gap that counts, until the pace of the readers is known:
	// smaller average gaps are taken as this one. A lone reader waits this long for another.
	minQuietTime = 15 * time.Millisecond
	// maxQuietTime is how long a read waits for the next reader, at most. In the average of
	// the gaps, a gap counts as an eighth of it, at most.
	maxQuietTime = 2 * time.Second
	// maxGatherTime is how long the first reader waits for all others, at most.
	maxGatherTime = 10 * time.Second
	// gapsForMissing is the number of average gaps that a read waits while fewer readers
	// have joined than usual. When readers come at random, one gap in 20,000 is as long.
	gapsForMissing = 10
	// assumedReaders and assumedGap stand for the readers before the first call. They suit
	// 10 to 64 readers on a computer that has other work.
	assumedReaders, assumedGap = 40, 20 * time.Millisecond
	// A call begins once it has as many readers as each of the last steadyCalls calls. A walk
	// has no more readers at once. One call in probeEveryCalls waits for more readers, because
	// a walk may have grown. If more readers wait than usual, it has grown.
	steadyCalls, probeEveryCalls = 2, 8
	// maxNames and maxIDs bound the keys of one request. 50 hostnames of 63 letters make a
	// URL of 4 KB, half of what nginx accepts. 200 ids of 6 letters make 2 KB.
	maxNames, maxIDs = 50, 200
)

// coalescer turns reads that arrive within a short time into one call. A reader joins only
// a call that has not begun, so its result is never older than its question. An announced
// reader may come later than its call ([coalescer.announce]).
//
// The waiting time depends on how the readers come. Terraform walks ten or more resources
// at once. Its own work sets the pace of their reads: on a busy computer one every 50 ms,
// in bursts. Waiting costs nothing as long as the others are still at work. So a call waits
// until it has as many readers as the last calls. Then it waits until no reader has joined
// for some average gaps.
//
// Once the client has written, its readers are steps of changes, and each change has its
// own pace. Then a call does not wait for the usual number of readers, only for some
// average gaps.
//
// Example: plans read 10 machines at once, again and again. The fourth call begins with its
// tenth reader.
type coalescer struct {
	limit       time.Duration
	minGather   time.Duration // minimum wait for the next reader; a client with single readers waits minQuietTime
	maxKeys     int
	fetch       Fetch
	hasOnlyRead func() bool // nothing was written yet

	mu           sync.Mutex
	openBatch    *batch        // has not begun; nil if there is none
	lastArrival  time.Time     // of the last reader
	meanGap      time.Duration // between readers that join one call, a moving average
	usualReaders int           // of one call, lately; assumedReaders before the first call
	hasCounted   bool          // usualReaders were counted, not assumed
	steadyRun    int           // calls in a row with usualReaders
	lastAnswered time.Time     // end of the last call that had usualReaders; zero: none yet
	waiting      int           // keys of all calls that are not answered yet
	announced    map[string]announcement
	hasLapsed    bool // an announced reader did not come
}

type batch struct {
	*sharedCall[map[string][]engine.Machine]
	keys         map[string]bool
	isComplete   bool          // has usualReaders or more
	startedEarly bool          // by startBatch: its number of readers says nothing about a walk
	joined       chan struct{} // wakes gatherReaders for a new key
	closed       chan struct{} // closed when the call waits for no other reader
}

func newCoalescer(config Config, maxKeys int, fetch Fetch) *coalescer {
	return &coalescer{
		limit: maxGatherTime + config.Limit, minGather: config.Gather, maxKeys: maxKeys, fetch: fetch, hasOnlyRead: config.HasOnlyRead,
		meanGap: assumedGap, usualReaders: assumedReaders, announced: map[string]announcement{},
	}
}

// read returns the machines of one key. Once this client has written, it takes no answer that
// may be older than the question.
func (c *coalescer) read(ctx context.Context, key string) ([]engine.Machine, error) {
	b := c.takeAnnounced(key)
	if b != nil && !c.hasOnlyRead() {
		b.leave()
		b = nil
	}
	if b == nil {
		b = c.joinBatch(ctx, key)
	}
	found, err := b.wait(ctx)
	return found[key], err
}

// joinBatch adds the key to the call that is about to begin.
func (c *coalescer) joinBatch(ctx context.Context, key string) *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.joinOpenBatch(ctx, key)
}

// joinOpenBatch is joinBatch for a caller that holds the lock.
func (c *coalescer) joinOpenBatch(ctx context.Context, key string) *batch {
	if c.openBatch == nil || !c.openBatch.join() {
		c.openBatch = c.newBatch(ctx)
	}
	b := c.openBatch
	c.noteArrival(b, time.Now())
	c.addKey(b, key)
	if len(b.keys) == c.maxKeys {
		close(b.closed)
		c.openBatch = nil
	}
	select {
	case b.joined <- struct{}{}:
	default: // gatherReaders has not received the last signal yet
	}
	return b
}

// addKey adds a key to a batch, and notices if a walk has grown.
func (c *coalescer) addKey(b *batch, key string) {
	if b.keys[key] {
		return
	}
	b.keys[key] = true
	if c.waiting++; c.waiting > c.usualReaders {
		c.steadyRun = 0
	}
}

// startBatch begins the open batch at once, without more readers.
func (c *coalescer) startBatch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.openBatch != nil {
		c.openBatch.startedEarly = true
		close(c.openBatch.closed)
		c.openBatch = nil
	}
}

// noteArrival takes the gap since the last reader into the moving average of about eight
// gaps. The first reader of a batch does not count: before it came, this client may have
// had nothing to read.
func (c *coalescer) noteArrival(b *batch, now time.Time) {
	if len(b.keys) > 0 {
		gap := min(now.Sub(c.lastArrival), maxQuietTime/8)
		c.meanGap += (gap - c.meanGap) / 8
	}
	c.lastArrival = now
}

// quietTime returns how long no reader must have joined before the call begins.
//
// More readers do more work between two reads, so for them more gaps are a smaller part of
// that work. While readers are missing, the call waits at least as long as they have been
// away. Above the usual number it waits a sixteenth of that time.
//
// These numbers gave few calls and little lost time. They were measured with walks of 10
// and 64 readers and 1 to 100 ms of work between two reads. Among changes, one gap in three
// is longer than the average, and one in seven is longer than twice the average. So a read
// waits for two.
func (c *coalescer) quietTime(b *batch) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.usualReaders == 1 {
		return minQuietTime
	}
	shortest := minQuietTime
	if c.hasOnlyRead() && len(b.keys) == c.usualReaders && c.steadyRun >= steadyCalls {
		if c.steadyRun%probeEveryCalls != 0 {
			return c.minGather
		}
		shortest = 0 // the pace is known
	}
	gaps, part := 1+float64(len(b.keys))/16, time.Duration(16)
	switch {
	case !c.hasOnlyRead():
		gaps += 1
	case len(b.keys) < c.usualReaders:
		gaps, part = gapsForMissing, 1
	}
	wait := time.Duration(gaps * float64(max(shortest, c.meanGap)))
	if c.hasOnlyRead() && !c.lastAnswered.IsZero() {
		wait = max(wait, c.lastArrival.Sub(c.lastAnswered)/part)
	}
	return min(max(wait, c.minGather), maxQuietTime)
}

// newBatch opens a batch with its first reader.
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
	found, err := c.fetch(b.ctx, c.closeBatch(b))
	c.noteAnswered(b)
	b.finish(found, err)
}

// noteAnswered notes when the readers of a full call go on with their work.
func (c *coalescer) noteAnswered(b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting -= len(b.keys)
	if b.isComplete {
		c.lastAnswered = time.Now()
	}
}

// gatherReaders waits until no reader joins any more.
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

// closeBatch closes the batch for new readers, notes how many joined and returns the keys.
func (c *coalescer) closeBatch(b *batch) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.openBatch == b {
		c.openBatch = nil
	}
	if !b.startedEarly {
		c.countReaders(b)
	}
	return slices.Sorted(maps.Keys(b.keys))
}

// countReaders takes the readers of a batch into what is usual. The first batch of several
// readers counts as it is, because usualReaders was assumed before.
func (c *coalescer) countReaders(b *batch) {
	readers := len(b.keys)
	b.isComplete = readers >= c.usualReaders
	if c.steadyRun++; readers != c.usualReaders {
		c.steadyRun = 0
	}
	if c.hasCounted || readers == 1 {
		readers = max(readers, c.usualReaders/2)
	}
	c.usualReaders, c.hasCounted = readers, c.hasCounted || len(b.keys) > 1
}
