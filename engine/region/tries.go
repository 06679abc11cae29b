package region

import (
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Tries counts what fails again and again. It only brakes: what is lost with
// the process costs some tries.
type Tries struct {
	mu     sync.Mutex
	counts map[engine.Key]int
}

// NewTries returns Tries of which none was made.
func NewTries() *Tries { return &Tries{counts: map[engine.Key]int{}} }

// CountBelow counts a try of the key and says whether another one is worth it. After
// the last one the count begins anew.
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

// Count counts a try of the key, and says how many there were.
func (t *Tries) Count(key engine.Key) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[key]++
	return t.counts[key]
}

// ResetIfSpent says whether so many tries of the key were counted. The count then begins anew.
func (t *Tries) ResetIfSpent(key engine.Key, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[key] < most {
		return false
	}
	delete(t.counts, key)
	return true
}

// Forget begins the count of a key anew.
func (t *Tries) Forget(key engine.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.counts, key)
}

// Intervals remembers when something was last done that is worth its calls only
// now and then.
type Intervals struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// BeginIfDue says whether it is time for it again, and takes it that it is then done.
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
