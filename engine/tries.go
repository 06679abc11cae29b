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

// sweeps remembers when the ledger was swept.
type sweeps struct {
	mu   sync.Mutex
	last time.Time
}

// due says whether it is time again, and takes it that it is then done.
func (s *sweeps) due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.IsZero() && now.Sub(s.last) < sweepEvery {
		return false
	}
	s.last = now
	return true
}

// groupEvery is how long the members of a group are taken for alive.
const groupEvery = 10 * time.Minute

// groups remembers when the members of groups were looked at.
type groups struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due says whether it is time again, and takes it that it is then done.
func (g *groups) due(group string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if last, ok := g.last[group]; ok && now.Sub(last) < groupEvery {
		return false
	}
	if g.last == nil {
		g.last = map[string]time.Time{}
	}
	g.last[group] = now
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
	if had := l.was[key]; had != "" && !strings.Contains(had, what) {
		what = had + "; " + what
	}
	l.was[key] = what
}

func (l *leftovers) of(key Key) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.was[key]
}
