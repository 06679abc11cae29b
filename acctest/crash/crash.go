// Package crash has a program die, in a test, of one of the things that it does
// outside of itself: a call of a server, a write to a store. From then on nothing
// that is left of it has any effect, as if its process had been killed.
package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ErrCrashed is what a dead program gets for all that it tries.
var ErrCrashed = errors.New("the program is dead")

// NotDoneSuffix ends the name of something that a program is about to do: who dies of it
// has left its intent, and no effect.
const NotDoneSuffix = ", undone"

// Operation is something that a program does outside of itself.
type Operation struct {
	Nth        int    // of all under a Fate, from 1
	Label      string // as "POST machines/*/ deploy"
	Occurrence int    // how often that was done, from 1
}

// SubtestName is a deed's as that of a subtest, which -run can select: it has no slashes.
func (d Operation) SubtestName() string {
	words := strings.FieldsFunc(d.Label, func(c rune) bool { return c == '/' || c == ' ' || c == '*' })
	return fmt.Sprintf("%s %d", strings.Join(words, " "), d.Occurrence)
}

// Plan decides what a program dies of. Those that live under it one after the
// other are counted together, and one of them dies once. It is safe for concurrent
// use.
type Plan struct {
	isFatal func(Operation) bool

	mu         sync.Mutex
	operations []Operation
	counts     map[string]int
	crashedAt  *Operation
}

// NewPlan is a fate by which a program dies of the first deed that is fatal.
func NewPlan(fatal func(Operation) bool) *Plan {
	return &Plan{isFatal: fatal, counts: map[string]int{}}
}

// NeverCrash is that of a program that is not killed.
func NeverCrash() *Plan { return NewPlan(func(Operation) bool { return false }) }

// CrashAt is that of a program that dies of a deed that was seen in a life before; its
// number there does not count, for what is looked at again and again moves it.
func CrashAt(deed Operation) *Plan {
	return NewPlan(func(d Operation) bool { return d.Label == deed.Label && d.Occurrence == deed.Occurrence })
}

// Operations are what was done so far, in order.
func (f *Plan) Operations() []Operation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.operations)
}

// CrashedAt is what a program died of, nil if none did.
func (f *Plan) CrashedAt() *Operation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crashedAt
}

// Process is that of one program. It is safe for concurrent use.
type Process struct {
	plan        *Plan
	onCrash     func()
	crashSignal chan struct{} // closed when it dies; guarded by the fate's mutex
}

// StartProcess begins a life. last is called when it ends, before anything else can
// happen under this fate, so that it sees what a killed program leaves, and the next
// life begins after it; nil: there is nothing to see.
func (f *Plan) StartProcess(last func()) *Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Process{plan: f, onCrash: last, crashSignal: make(chan struct{})}
}

// CrashSignal is closed when the program is killed.
func (l *Process) CrashSignal() <-chan struct{} { return l.crashSignal }

// HasCrashed tells whether the program was killed.
func (l *Process) HasCrashed() bool {
	select {
	case <-l.crashSignal:
		return true
	default:
		return false
	}
}

// Context ends with the program, or with ctx. Whoever calls it calls cancel in the
// end.
func (l *Process) Context(ctx context.Context) (of context.Context, cancel context.CancelFunc) {
	of, cancel = context.WithCancel(ctx)
	go func() {
		select {
		case <-l.crashSignal:
			cancel()
		case <-of.Done():
		}
	}()
	return of, cancel
}

// DoRead does what changes nothing outside. The program may die before it learns
// what it looked for: the answer is ErrCrashed then.
func (l *Process) DoRead(what string, do func() error) error {
	if l.HasCrashed() {
		return ErrCrashed
	}
	err := do()
	if l.recordOperation(what) {
		return ErrCrashed
	}
	return err
}

// DoWrite does what changes something outside. The program may also die on the way
// there.
func (l *Process) DoWrite(what string, do func() error) error {
	if l.recordOperation(what + NotDoneSuffix) {
		return ErrCrashed
	}
	return l.DoRead(what, do)
}

// recordOperation counts a deed, and tells whether the program is dead by it.
func (l *Process) recordOperation(what string) bool {
	f := l.plan
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.HasCrashed() {
		return true
	}
	f.counts[what]++
	d := Operation{Nth: len(f.operations) + 1, Label: what, Occurrence: f.counts[what]}
	f.operations = append(f.operations, d)
	if f.crashedAt != nil || !f.isFatal(d) {
		return false
	}
	f.crashedAt = &d
	close(l.crashSignal)
	if l.onCrash != nil {
		l.onCrash()
	}
	return true
}
