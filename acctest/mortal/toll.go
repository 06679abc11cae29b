package mortal

import (
	"maps"
	"slices"
	"sync"
)

// Missing are those of some deeds that were never done under a fate: a life that
// lacks what it cannot do without was not seen.
func (f *Fate) Missing(what ...string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(what, func(w string) bool { return f.times[w] > 0 })
}

// Toll is what programs died of, of what they were to die of. The zero Toll is
// ready. It is safe for concurrent use.
type Toll struct {
	mu   sync.Mutex
	died map[string]bool // by what was to kill
}

// Note notes whether a program died under a fate that is Of a deed. A deed that
// some of its numbers have killed by counts as deadly: how often a thing is done
// hangs on what is seen between.
func (t *Toll) Note(d Deed, f *Fate) {
	died := f.Death() != nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.died == nil {
		t.died = map[string]bool{}
	}
	t.died[d.What] = t.died[d.What] || died
}

// Noted is how many different things were to kill.
func (t *Toll) Noted() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.died)
}

// Survived are the things that never killed, sorted.
func (t *Toll) Survived() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.died)), func(what string) bool { return t.died[what] })
}
