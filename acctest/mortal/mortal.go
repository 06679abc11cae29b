// Package mortal has a program die, in a test, of one of the things that it does
// outside of itself: a call of a server, a write to a store. From then on nothing
// that is left of it has any effect, as if its process had been killed.
package mortal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ErrDead is what a dead program gets for all that it tries.
var ErrDead = errors.New("the program is dead")

// Undone ends the name of something that a program is about to do: who dies of it
// has left its intent, and no effect.
const Undone = ", undone"

// Deed is something that a program does outside of itself.
type Deed struct {
	Nth   int    // of all under a Fate, from 1
	What  string // as "POST machines/*/ deploy"
	Again int    // how often that was done, from 1
}

// Name is a deed's as that of a subtest, which -run can select: it has no slashes.
func (d Deed) Name() string {
	words := strings.FieldsFunc(d.What, func(c rune) bool { return c == '/' || c == ' ' || c == '*' })
	return fmt.Sprintf("%s %d", strings.Join(words, " "), d.Again)
}

// Fate decides what a program dies of. Those that live under it one after the
// other are counted together, and one of them dies once. It is safe for concurrent
// use.
type Fate struct {
	fatal func(Deed) bool

	mu    sync.Mutex
	deeds []Deed
	times map[string]int
	death *Deed
}

// New is a fate by which a program dies of the first deed that is fatal.
func New(fatal func(Deed) bool) *Fate { return &Fate{fatal: fatal, times: map[string]int{}} }

// Never is that of a program that is not killed.
func Never() *Fate { return New(func(Deed) bool { return false }) }

// Of is that of a program that dies of a deed that was seen in a life before; its
// number there does not count, for what is looked at again and again moves it.
func Of(deed Deed) *Fate {
	return New(func(d Deed) bool { return d.What == deed.What && d.Again == deed.Again })
}

// Deeds are what was done so far, in order.
func (f *Fate) Deeds() []Deed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.deeds)
}

// Death is what a program died of, nil if none did.
func (f *Fate) Death() *Deed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.death
}

// Life is that of one program. It is safe for concurrent use.
type Life struct {
	fate *Fate
	last func()
	end  chan struct{} // closed when it dies; guarded by the fate's mutex
}

// Begin begins a life. last is called when it ends, before anything else can
// happen under this fate, so that it sees what a killed program leaves, and the next
// life begins after it; nil: there is nothing to see.
func (f *Fate) Begin(last func()) *Life {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Life{fate: f, last: last, end: make(chan struct{})}
}

// End is closed when the program is killed.
func (l *Life) End() <-chan struct{} { return l.end }

// Dead tells whether the program was killed.
func (l *Life) Dead() bool {
	select {
	case <-l.end:
		return true
	default:
		return false
	}
}

// Context ends with the program, or with ctx. Whoever calls it calls cancel in the
// end.
func (l *Life) Context(ctx context.Context) (of context.Context, cancel context.CancelFunc) {
	of, cancel = context.WithCancel(ctx)
	go func() {
		select {
		case <-l.end:
			cancel()
		case <-of.Done():
		}
	}()
	return of, cancel
}

// Look does what changes nothing outside. The program may die before it learns
// what it looked for: the answer is ErrDead then.
func (l *Life) Look(what string, do func() error) error {
	if l.Dead() {
		return ErrDead
	}
	err := do()
	if l.dies(what) {
		return ErrDead
	}
	return err
}

// Act does what changes something outside. The program may also die on the way
// there.
func (l *Life) Act(what string, do func() error) error {
	if l.dies(what + Undone) {
		return ErrDead
	}
	return l.Look(what, do)
}

// dies counts a deed, and tells whether the program is dead by it.
func (l *Life) dies(what string) bool {
	f := l.fate
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.Dead() {
		return true
	}
	f.times[what]++
	d := Deed{Nth: len(f.deeds) + 1, What: what, Again: f.times[what]}
	f.deeds = append(f.deeds, d)
	if f.death != nil || !f.fatal(d) {
		return false
	}
	f.death = &d
	close(l.end)
	if l.last != nil {
		l.last()
	}
	return true
}
