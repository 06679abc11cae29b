package share

import (
	"maps"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// pollResultTTL is how long a look's finding serves the reads that follow it: time
// enough for those who were woken by it.
const pollResultTTL = time.Second

// pollResults keeps what the poller found for those whom it wakes, so that a
// wake-up costs no second call. A finding from before a write's end is not
// served after it.
type pollResults struct {
	now func() time.Time

	mu     sync.Mutex
	active map[*pollRun]struct{}
	fresh  map[string]pollResult
}

type pollRun struct {
	results     *pollResults
	invalidated map[string]bool // machines written to since it began
	kept        map[string][]engine.Machine
}

type pollResult struct {
	machines []engine.Machine // none if the machine is gone
	until    time.Time
}

func (l *pollResults) startRun() *pollRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active == nil {
		l.active, l.fresh = map[*pollRun]struct{}{}, map[string]pollResult{}
	}
	k := &pollRun{results: l, invalidated: map[string]bool{}, kept: map[string][]engine.Machine{}}
	l.active[k] = struct{}{}
	return k
}

func (k *pollRun) add(systemID string, machines []engine.Machine) { k.kept[systemID] = machines }

// finish offers what was kept, and clears away what is no longer fresh.
func (k *pollRun) finish() {
	l := k.results
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.active, k)
	now := l.now()
	maps.DeleteFunc(l.fresh, func(_ string, f pollResult) bool { return !now.Before(f.until) })
	for id, machines := range k.kept {
		if !k.invalidated[id] {
			l.fresh[id] = pollResult{machines, now.Add(pollResultTTL)}
		}
	}
}

// invalidate says that a machine was just written to.
func (l *pollResults) invalidate(systemID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.fresh, systemID)
	for k := range l.active {
		k.invalidated[systemID] = true
	}
}

// freshMachines returns what the last look found, if that is fresh.
func (l *pollResults) freshMachines(systemID string) ([]engine.Machine, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, ok := l.fresh[systemID]
	if !ok || !l.now().Before(f.until) {
		return nil, false
	}
	return f.machines, true
}
