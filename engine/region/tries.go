package region

import (
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Tries counts repeated failures. It only slows things down: if it is lost with the process,
// the price is some tries.
type Tries struct {
	mu     sync.Mutex
	counts map[engine.Key]int
}

// NewTries returns Tries without any counts.
func NewTries() *Tries { return &Tries{counts: map[engine.Key]int{}} }

// CountBelow counts a try of the key and says whether another one is worthwhile. After the last
// one the count begins anew.
func (t *Tries) CountBelow(key engine.Key, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[key]++
	if t.counts[key] < most {
		return true
	}
	delete(t.counts, key)
	return false
}

// Count counts a try of the key, and returns the number of tries.
func (t *Tries) Count(key engine.Key) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[key]++
	return t.counts[key]
}

// ResetIfSpent says whether the key has that many tries. If so, the count begins anew.
func (t *Tries) ResetIfSpent(key engine.Key, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[key] < most {
		return false
	}
	delete(t.counts, key)
	return true
}

// Forget resets the count of a key.
func (t *Tries) Forget(key engine.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.counts, key)
}

// Intervals remembers when something was last done that should not be done often.
type Intervals struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// BeginIfDue says whether the time has come again. If so, it assumes that the caller does it
// now.
func (i *Intervals) BeginIfDue(what string, every time.Duration, now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if last, ok := i.last[what]; ok && now.Sub(last) < every {
		return false
	}
	if i.last == nil {
		i.last = map[string]time.Time{}
	}
	i.last[what] = now
	return true
}
