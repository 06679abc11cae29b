// Package crash lets a test crash a program at one of its outside operations: a
// call to a server, or a write to a store. Afterwards nothing that the program
// does has any effect, as if its process had been killed.
package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// ErrCrashed is what each operation of a crashed program returns.
var ErrCrashed = errors.New("the program is dead")

// NotDoneSuffix ends the name of an operation that is about to be done. A
// program that crashes there leaves its intent, and no effect.
const NotDoneSuffix = ", undone"

// Operation is something that a program does outside of itself.
type Operation struct {
	Nth        int    // number among all operations of a Plan, from 1
	Label      string // as "POST machines/*/ deploy"
	Occurrence int    // number among those with this label, from 1
}

// SubtestName names the operation as a subtest. -run can select it, because it
// has no slashes.
func (d Operation) SubtestName() string {
	words := strings.FieldsFunc(d.Label, func(c rune) bool { return c == '/' || c == ' ' || c == '*' })
	return fmt.Sprintf("%s %d", strings.Join(words, " "), d.Occurrence)
}

// Plan decides at which operation a program crashes. It counts the operations
// of all its processes, which run one after the other. One of them crashes,
// once. It is safe for concurrent use.
type Plan struct {
	isFatal func(Operation) bool

	mu         sync.Mutex
	operations []Operation
	counts     map[string]int
	crashedAt  *Operation
}

// NewPlan makes a plan by which a program crashes at the first operation that
// is fatal.
func NewPlan(fatal func(Operation) bool) *Plan {
	return &Plan{isFatal: fatal, counts: map[string]int{}}
}

// NeverCrash is the plan of a program that does not crash.
func NeverCrash() *Plan { return NewPlan(func(Operation) bool { return false }) }

// CrashAt makes a plan by which a program crashes at an operation that was seen
// in an earlier run. Nth is not compared: repeated looks change it.
func CrashAt(deed Operation) *Plan {
	return NewPlan(func(d Operation) bool { return d.Label == deed.Label && d.Occurrence == deed.Occurrence })
}

// Operations are the operations so far, in order.
func (f *Plan) Operations() []Operation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.operations)
}

// CrashedAt is the operation at which a program crashed, or nil.
func (f *Plan) CrashedAt() *Operation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crashedAt
}

// Process is one program under a Plan. It is safe for concurrent use.
type Process struct {
	plan        *Plan
	onCrash     func()
	crashSignal chan struct{} // closed at the crash; guarded by the plan's mutex
}

// StartProcess starts a process of the plan. last runs when the process
// crashes, before anything else can happen under this plan, and may be nil. So
// it sees what a killed program leaves. The next process starts after it.
func (f *Plan) StartProcess(last func()) *Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Process{plan: f, onCrash: last, crashSignal: make(chan struct{})}
}

// CrashSignal is closed when the program crashes.
func (l *Process) CrashSignal() <-chan struct{} { return l.crashSignal }

// HasCrashed reports whether the program has crashed.
func (l *Process) HasCrashed() bool {
	select {
	case <-l.crashSignal:
		return true
	default:
		return false
	}
}

// Context ends with the program, or with ctx. Call cancel at the end.
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

// DoRead does an operation that changes nothing outside. The program may crash
// before it gets the answer, which is then ErrCrashed.
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

// DoWrite does an operation that changes something outside. The program may
// also crash before the change.
func (l *Process) DoWrite(what string, do func() error) error {
	if l.recordOperation(what + NotDoneSuffix) {
		return ErrCrashed
	}
	return l.DoRead(what, do)
}

// recordOperation counts an operation, and reports whether the program has
// crashed.
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
