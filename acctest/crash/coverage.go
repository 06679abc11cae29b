package crash

import (
	"maps"
	"slices"
	"sync"
)

// MissingOperations are those of some deeds that were never done under a fate: a life that
// lacks what it cannot do without was not seen.
func (f *Plan) MissingOperations(what ...string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(what, func(w string) bool { return f.counts[w] > 0 })
}

// Coverage is what programs died of, of what they were to die of. The zero Toll is
// ready. It is safe for concurrent use.
type Coverage struct {
	mu      sync.Mutex
	crashes map[string]bool // by what was to kill
}

// RecordRun notes whether a program died under a fate that is Of a deed. A deed that
// some of its numbers have killed by counts as deadly: how often a thing is done
// hangs on what is seen between.
func (t *Coverage) RecordRun(d Operation, f *Plan) {
	died := f.CrashedAt() != nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.crashes == nil {
		t.crashes = map[string]bool{}
	}
	t.crashes[d.Label] = t.crashes[d.Label] || died
}

// PlannedCrashes is how many different things were to kill.
func (t *Coverage) PlannedCrashes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.crashes)
}

// NeverCrashed are the things that never killed, sorted.
func (t *Coverage) NeverCrashed() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.crashes)), func(what string) bool { return t.crashes[what] })
}
