package share

import (
	"maps"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// pollResultTTL is how long a poll result serves later reads. It is long enough for the
// callers that the poll woke.
const pollResultTTL = time.Second

// pollResults keeps what the poller read for the callers that it wakes, so that a wake-up
// costs no second call. After a write it never returns a result from before the write.
type pollResults struct {
	now func() time.Time

	mu     sync.Mutex
	active map[*pollRun]struct{}
	fresh  map[string]pollResult
}

type pollRun struct {
	results     *pollResults
	invalidated map[string]bool // machines that were written to since the run began
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

// finish offers the kept results to readers, and deletes expired ones.
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

// invalidate notes that a machine was just written to.
func (l *pollResults) invalidate(systemID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.fresh, systemID)
	for k := range l.active {
		k.invalidated[systemID] = true
	}
}

// freshMachines returns the result of the last poll if it is still fresh.
func (l *pollResults) freshMachines(systemID string) ([]engine.Machine, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, ok := l.fresh[systemID]
	if !ok || !l.now().Before(f.until) {
		return nil, false
	}
	return f.machines, true
}
