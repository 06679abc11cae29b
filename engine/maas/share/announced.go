package share

import (
	"context"
	"time"
)

// announcementTTL is how long an announced read is waited for. It bounds the age of its
// answer, too. Terraform reads an object some milliseconds after it handed over its state. On
// a busy computer that can be a second.
const announcementTTL = 5 * time.Second

// announcement is a reader that has not come yet. The call waits for it as for a reader.
type announcement struct {
	batch *batch
	lapse *time.Timer
}

// announce begins the read of a key before its reader comes, so that the reader works while
// MAAS answers.
//
// Only a walk of reads gains by it. So there must be several readers, and no write yet. If an
// announced reader does not come, no other one is announced: then this client upgrades states
// that it does not read, as in a plan without a refresh.
func (c *coalescer) announce(ctx context.Context, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.announced[key]
	if known || c.hasLapsed || !c.hasCounted || c.usualReaders == 1 || !c.hasOnlyRead() {
		return
	}
	b := c.joinOpenBatch(ctx, key)
	c.announced[key] = announcement{b, time.AfterFunc(announcementTTL, func() { c.dropAnnounced(key, b) })}
}

// takeAnnounced returns the call that was begun for a reader, or nil. The reader has joined
// it already.
func (c *coalescer) takeAnnounced(key string) *batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, known := c.announced[key]
	if !known {
		return nil
	}
	a.lapse.Stop()
	delete(c.announced, key)
	return a.batch
}

// dropAnnounced drops an announcement whose reader did not come, and notes that.
func (c *coalescer) dropAnnounced(key string, b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.announced[key].batch == b { // else the reader has just come
		delete(c.announced, key)
		c.hasLapsed = true
		b.leave()
	}
}
