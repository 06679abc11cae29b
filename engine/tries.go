package engine

import (
	"strings"
	"sync"
	"time"
)

// tries counts what fails again and again. It only brakes: what is lost with
// the process costs some tries.
type tries struct {
	mu    sync.Mutex
	count map[Key]int
}

func newTries() *tries { return &tries{count: map[Key]int{}} }

// again counts a try of the key and says whether another one is worth it. After
// the last one the count begins anew.
func (t *tries) again(key Key, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count[key]++
	if t.count[key] < most {
		return true
	}
	delete(t.count, key)
	return false
}

func (t *tries) forget(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.count, key)
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
	was map[Key]string
}

func (l *leftovers) note(key Key, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.was == nil {
		l.was = map[Key]string{}
	}
	switch had := l.was[key]; {
	case strings.Contains(had, what):
	case had == "":
		l.was[key] = what
	default:
		l.was[key] = had + "; " + what
	}
}

func (l *leftovers) of(key Key) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.was[key]
}
