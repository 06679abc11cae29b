package share

import (
	"maps"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// freshFor is how long a look's finding serves the reads that follow it: time
// enough for those who were woken by it.
const freshFor = time.Second

// looks keeps what the poller found for those whom it wakes, so that a
// wake-up costs no second call. A finding from before a write's end is not
// served after it.
type looks struct {
	now func() time.Time

	mu     sync.Mutex
	active map[*look]struct{}
	fresh  map[string]finding
}

type look struct {
	of      *looks
	spoiled map[string]bool // machines written to since it began
	kept    map[string][]engine.Machine
}

type finding struct {
	machines []engine.Machine // none if the machine is gone
	until    time.Time
}

func (l *looks) begin() *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active == nil {
		l.active, l.fresh = map[*look]struct{}{}, map[string]finding{}
	}
	k := &look{of: l, spoiled: map[string]bool{}, kept: map[string][]engine.Machine{}}
	l.active[k] = struct{}{}
	return k
}

func (k *look) keep(systemID string, machines []engine.Machine) { k.kept[systemID] = machines }

// end offers what was kept, and clears away what is no longer fresh.
func (k *look) end() {
	l := k.of
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.active, k)
	now := l.now()
	maps.DeleteFunc(l.fresh, func(_ string, f finding) bool { return !now.Before(f.until) })
	for id, machines := range k.kept {
		if !k.spoiled[id] {
			l.fresh[id] = finding{machines, now.Add(freshFor)}
		}
	}
}

// spoil says that a machine was just written to.
func (l *looks) spoil(systemID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.fresh, systemID)
	for k := range l.active {
		k.spoiled[systemID] = true
	}
}

// take returns what the last look found, if that is fresh.
func (l *looks) take(systemID string) ([]engine.Machine, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, ok := l.fresh[systemID]
	if !ok || !l.now().Before(f.until) {
		return nil, false
	}
	return f.machines, true
}
