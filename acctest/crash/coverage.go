package crash

import (
	"maps"
	"slices"
	"sync"
)

// MissingOperations returns those of the named operations that no process of
// the plan has done. A run without a necessary operation was not observed.
func (f *Plan) MissingOperations(what ...string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(what, func(w string) bool { return f.counts[w] > 0 })
}

// Coverage records the operations at which programs crashed, and those at which
// they were meant to crash. Its zero value is ready. It is safe for concurrent
// use.
type Coverage struct {
	mu      sync.Mutex
	crashes map[string]bool // by the operation's name; true: a program crashed there
}

// RecordRun records whether a program crashed under a plan that CrashAt made
// for an operation. It counts all occurrences of an operation as one: how often
// a program does a thing depends on what it sees in between.
func (t *Coverage) RecordRun(d Operation, f *Plan) {
	died := f.CrashedAt() != nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.crashes == nil {
		t.crashes = map[string]bool{}
	}
	t.crashes[d.Label] = t.crashes[d.Label] || died
}

// PlannedCrashes is the number of different operations at which programs were
// meant to crash.
func (t *Coverage) PlannedCrashes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.crashes)
}

// NeverCrashed are the operations at which no program crashed, sorted.
func (t *Coverage) NeverCrashed() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.crashes)), func(what string) bool { return t.crashes[what] })
}
