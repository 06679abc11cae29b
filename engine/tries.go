package engine

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// tries counts what fails again and again. It only brakes: what is lost with
// the process costs some tries.
type tries struct {
	mu   sync.Mutex
	made map[Key]int
}

func newTries() *tries { return &tries{made: map[Key]int{}} }

// again counts a try of the key and says whether another one is worth it. After
// the last one the count begins anew.
func (t *tries) again(key Key, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made[key]++
	if t.made[key] < most {
		return true
	}
	delete(t.made, key)
	return false
}

// count counts a try of the key, and says how many there were.
func (t *tries) count(key Key) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made[key]++
	return t.made[key]
}

func (t *tries) forget(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.made, key)
}

// intervals remembers when something was last done that is worth its calls only
// now and then.
type intervals struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due says whether it is time for it again, and takes it that it is then done.
func (i *intervals) due(what string, every time.Duration, now time.Time) bool {
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

// leftovers remembers, as long as the process lives, what a create left where
// MAAS does not show it.
type leftovers struct {
	mu  sync.Mutex
	was map[Key][]string
}

func (l *leftovers) note(key Key, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.was == nil {
		l.was = map[Key][]string{}
	}
	if !slices.Contains(l.was[key], what) {
		l.was[key] = append(l.was[key], what)
	}
}

// drop takes back what turned out not to be there.
func (l *leftovers) drop(key Key, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.was == nil {
		return
	}
	l.was[key] = slices.DeleteFunc(l.was[key], func(had string) bool { return had == what })
	if len(l.was[key]) == 0 {
		delete(l.was, key)
	}
}

func (l *leftovers) of(key Key) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.was[key], "; ")
}
