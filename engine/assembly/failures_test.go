package assembly_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestFailEverywhere breaks each external call of a create and of a delete, before and after
// its effect. It wants exactly one object, made once, or nothing left, and no change to foreign
// objects.
func TestFailEverywhere(t *testing.T) {
	var kinds sync.Map // broken calls by kind
	t.Cleanup(func() { // after the parallel ones
		var all int64
		for _, kind := range []string{"VM", "Machine", "Host"} {
			if n, ok := kinds.Load(kind); ok {
				t.Logf("%s: survived %d broken calls", kind, n.(*atomic.Int64).Load())
				all += n.(*atomic.Int64).Load()
			}
		}
		t.Logf("survived %d broken calls", all)
	})
	for _, s := range subjects() {
		n, _ := kinds.LoadOrStore(s.kind, new(atomic.Int64))
		s.name = s.kind + s.name
		run := func(name string, in runner, workers int, survivable []breakage) {
			t.Run(s.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				f := failureRun{subject: s, in: in, survivable: survivable, sample: workers > 1, broken: n.(*atomic.Int64)}
				f.run(t, workers)
			})
		}
		run("InMemory", inBubbles, 1, append(hangBreakages, survivableBreakages...))
		if s.http {
			run("HTTP", overSockets, 128, survivableBreakages)
		}
	}
}

// runner runs f in a region of its own.
type runner func(t *testing.T, s subject, f func(*testing.T, testMAAS))

func inBubbles(t *testing.T, s subject, f func(*testing.T, testMAAS)) {
	synctest.Test(t, func(t *testing.T) {
		r := hostRegion(t, inMemoryOf(t, s.model()))
		r.processTimeout = time.Hour
		if s.prepare != nil {
			s.prepare(t, r)
		}
		f(t, r)
	})
}

func overSockets(t *testing.T, s subject, f func(*testing.T, testMAAS)) {
	r := hostRegion(t, overHTTP(t, s.model()))
	r.processTimeout = 6 * time.Minute
	if s.prepare != nil {
		s.prepare(t, r)
	}
	f(t, r)
}

// failureRun breaks the calls of one subject in one kind of region.
type failureRun struct {
	subject
	in         runner
	survivable []breakage
	sample     bool // calls that only read are broken in one way each
	broken     *atomic.Int64
}

// operation is what is broken, in which ways, and what happens then. It
// returns the call that it broke, empty for none.
type operation struct {
	name string
	call []string // the methods of its calls, where nothing breaks
	with []breakage
	try  func(t *testing.T, r testMAAS, nth int, with breakage) string
}

// run breaks everything, with so many workers. A test's own parallelism would
// leave the processors idle, for over HTTP a case mostly waits.
func (f failureRun) run(t *testing.T, workers int) {
	var pool sync.WaitGroup
	queue := make(chan func())
	for range workers {
		pool.Go(func() {
			for do := range queue {
				do()
			}
		})
	}
	for _, o := range f.operations(t) {
		for i, b := range o.with {
			// Runs differ a little in how reads fall together, so a number more
			// is tried; one beyond the last call breaks nothing, and does not
			// count.
			calls, writes := o.countCalls(b)
			for nth := 1; nth <= calls+1; nth++ {
				if f.sample && !writes(nth) && i != o.breakageOfRead(nth) {
					continue
				}
				queue <- func() { f.breakOneCall(t, o, b, nth) }
			}
		}
	}
	close(queue)
	pool.Wait()
}

func (f failureRun) breakOneCall(t *testing.T, o operation, b breakage, nth int) {
	t.Run(fmt.Sprintf("%s/%s/%d", o.name, b.name, nth), func(t *testing.T) {
		f.in(t, f.subject, func(t *testing.T, r testMAAS) {
			hit := o.try(t, r, nth, b)
			if hit != "" {
				f.broken.Add(1)
			}
			if t.Failed() {
				t.Logf("after %s of %q", b.name, hit)
			}
		})
	})
}

// countCalls counts those that can break in a way, and tells which of them write.
func (o operation) countCalls(b breakage) (n int, writes func(nth int) bool) {
	var methods []string
	for _, method := range o.call {
		if method != http.MethodGet || !b.writesOnly() {
			methods = append(methods, method)
		}
	}
	return len(methods), func(nth int) bool { return nth > len(methods) || methods[nth-1] != http.MethodGet }
}

// breakageOfRead chooses the way in which the nth call is broken, if it only reads and
// has to do with one.
func (o operation) breakageOfRead(nth int) int {
	var ways []int
	for i, b := range o.with {
		if !b.writesOnly() {
			ways = append(ways, i)
		}
	}
	return ways[nth%len(ways)]
}

func (f failureRun) operations(t *testing.T) []operation {
	creating, deleting := f.recordCalls(t)
	t.Logf("a create makes %d calls, a delete %d", len(creating), len(deleting))
	list := []operation{
		{"Create", creating, f.survivable, f.createSurviving},
		{"CreateCancelled", creating, cancelBreakages, f.createAfterCancel},
		{"CreateDies", creating, deadlyBreakages, f.createAfterDeath(sameRows)},
		{"CreateDiesThenDelete", creating, deadlyBreakages, f.createThenDelete},
		{"CreateCancelledThenDelete", creating, cancelBreakages, f.createThenDelete},
		{"Delete", deleting, f.survivable, f.deleteOnce},
		{"DeleteCancelled", deleting, cancelBreakages, f.deleteAgain(sameRows)},
		{"DeleteDies", deleting, deadlyBreakages, f.deleteAgain(sameRows)},
	}
	if f.rows {
		list = append(list,
			operation{"CreateDiesEmptyLedger", creating, deadlyBreakages, f.createAfterDeath(emptyRows)},
			operation{"CreateDiesYesterdaysLedger", creating, deadlyBreakages, f.createAfterDeath(yesterdaysRows)},
			operation{"DeleteDiesEmptyLedger", deleting, deadlyBreakages, f.deleteAgain(emptyRows)},
			operation{"DeleteDiesYesterdaysLedger", deleting, deadlyBreakages, f.deleteAgain(yesterdaysRows)},
		)
	}
	return list
}

// recordCalls are the methods of the calls of a create and a delete that nothing
// breaks.
func (f failureRun) recordCalls(t *testing.T) (creating, deleting []string) {
	inBubbles(t, f.subject, func(t *testing.T, r testMAAS) {
		p := r.start(t, newRows(), 0, breakage{})
		id, err := f.create(p, f.ref)
		if err != nil {
			t.Fatal(err)
		}
		f.subject.wantObject(t, r)
		q := r.start(t, newRows(), 0, breakage{})
		if err := f.delete(q, f.refOf(id)); err != nil {
			t.Fatal(err)
		}
		f.wantGone(t, r)
		creating, deleting = p.breaker.sent, q.breaker.sent
	})
	return creating, deleting
}

// refOf is what a front end knows of an object with a system id.
func (f failureRun) refOf(systemID string) engine.Ref {
	ref := f.ref
	ref.SystemID = systemID
	return ref
}

// wantGone lets what is under way end, and wants nothing left.
func (f failureRun) wantGone(t *testing.T, r testMAAS) {
	t.Helper()
	r.letAllEnd()
	f.wantNothing(t, r)
}

// letAllEnd lets what is under way end.
func (r testMAAS) letAllEnd() {
	if r.interval == 0 {
		time.Sleep(10 * time.Minute)
	}
	r.sim.Settle()
}

func (f failureRun) createSurviving(t *testing.T, r testMAAS, nth int, with breakage) string {
	p := r.start(t, newRows(), nth, with)
	if _, err := f.create(p, f.ref); err != nil {
		t.Errorf("create: %v", err)
	}
	f.subject.wantObject(t, r)
	f.wantOnce(t, r)
	return p.breaker.brokenCall()
}

// wantOnce checks that the call which must not be repeated took effect once.
func (f failureRun) wantOnce(t *testing.T, r testMAAS) {
	t.Helper()
	n := 0
	for _, c := range r.sim.Journal().Calls {
		if c.Route == f.once && (c.Status == 0 || c.Status == 200) {
			n++
		}
	}
	if f.once != "" && n != 1 {
		t.Errorf("%s took effect %d times", f.once, n)
	}
}

// createAfterCancel is a create whose ctx ended, followed by one that knows what the first
// has learned.
func (f failureRun) createAfterCancel(t *testing.T, r testMAAS, nth int, with breakage) string {
	rows := newRows()
	p := r.start(t, rows, nth, with)
	id, err := f.create(p, f.ref)
	if err != nil {
		if _, err = f.create(r.start(t, rows, 0, breakage{}), f.refOf(id)); err != nil {
			t.Errorf("the create after it: %v", err)
		}
	}
	f.subject.wantObject(t, r)
	f.wantOnce(t, r)
	return p.breaker.brokenCall()
}

// history is a ledger, and what is left of it after a death.
type history func(t *testing.T) (rows engine.Ledger, pending func(), after func() engine.Ledger)

func sameRows(*testing.T) (engine.Ledger, func(), func() engine.Ledger) {
	rows := newRows()
	return rows, nil, func() engine.Ledger { return rows }
}

func emptyRows(*testing.T) (engine.Ledger, func(), func() engine.Ledger) {
	return newRows(), nil, func() engine.Ledger { return newRows() }
}

// yesterdaysRows is a file that is restored from a copy: the one that was made
// while the VM was pending, if it came to that, else an older one.
func yesterdaysRows(t *testing.T) (engine.Ledger, func(), func() engine.Ledger) {
	folder, copies := t.TempDir(), 0
	path := filepath.Join(folder, "ledger.db")
	save := func() {
		copies++
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(path + suffix)
			if err != nil && !errors.Is(err, os.ErrNotExist) || err == nil && os.WriteFile(filepath.Join(folder, fmt.Sprint("copy", copies, ".db", suffix)), data, 0o600) != nil {
				t.Errorf("cannot copy the ledger: %v", err)
			}
		}
	}
	open := func(path string) engine.Ledger {
		rows, err := ledger.OpenFile(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rows.Close() }) //nolint:errcheck // it was only read
		return rows
	}
	rows := open(path)
	save()
	return rows, save, func() engine.Ledger { return open(filepath.Join(folder, fmt.Sprint("copy", copies, ".db"))) }
}

// createAfterDeath lets a create die and starts another one, as a user would. One death
// cannot be resumed without a ledger: the one after the last call, which leaves
// a finished object that could be anyone's. It must be named.
func (f failureRun) createAfterDeath(begin history) func(*testing.T, testMAAS, int, breakage) string {
	return func(t *testing.T, r testMAAS, nth int, with breakage) string {
		rows, _, after := begin(t)
		p := r.start(t, rows, nth, with)
		_, died := f.create(p, f.ref)
		rest := after()
		_, err := f.create(r.start(t, rest, 0, breakage{}), f.ref)
		switch {
		case errors.Is(err, engine.ErrConflict) && offersImport(err):
		case err != nil:
			t.Errorf("the create after it: %v (the first: %v)", err, died)
		}
		f.subject.wantObject(t, r)
		if rest == rows {
			f.wantOnce(t, r)
		}
		return p.breaker.brokenCall()
	}
}

// offersImport says whether a refusal names the finished object, by which it can be imported.
func offersImport(err error) bool {
	bad, ok := errors.AsType[*engine.SpecError](err)
	return ok && slices.ContainsFunc(bad.Ways, func(way engine.Way) bool {
		kind, id, _ := strings.Cut(string(way), " ")
		return id != "" && (engine.Way(kind) == engine.WayImport || engine.Way(kind) == engine.WayImportLost)
	})
}

// createThenDelete ends a create in the middle, and then deletes what it has
// left; the caller may have learned the system id or not.
func (f failureRun) createThenDelete(t *testing.T, r testMAAS, nth int, with breakage) string {
	rows := newRows()
	p := r.start(t, rows, nth, with)
	id, _ := f.create(p, f.ref)
	switch {
	case f.named != "":
		id = r.machine(t, f.named).SystemID
	case with.deadly:
		id = ""
	}
	if err := f.delete(r.start(t, rows, 0, breakage{}), f.refOf(id)); err != nil {
		t.Errorf("the delete after it: %v", err)
	}
	f.wantGone(t, r)
	return p.breaker.brokenCall()
}

func (f failureRun) deleteOnce(t *testing.T, r testMAAS, nth int, with breakage) string {
	rows := newRows()
	ref := f.makeObject(t, r, rows, nil)
	p := r.start(t, rows, nth, with)
	if err := f.delete(p, ref); err != nil {
		t.Errorf("delete: %v", err)
	}
	f.wantGone(t, r)
	return p.breaker.brokenCall()
}

// deleteAgain lets a delete end in the middle, and starts another one.
func (f failureRun) deleteAgain(begin history) func(*testing.T, testMAAS, int, breakage) string {
	return func(t *testing.T, r testMAAS, nth int, with breakage) string {
		rows, pending, after := begin(t)
		ref := f.makeObject(t, r, rows, pending)
		p := r.start(t, rows, nth, with)
		f.delete(p, ref) //nolint:errcheck // it dies
		if err := f.delete(r.start(t, after(), 0, breakage{}), ref); err != nil {
			t.Errorf("the delete after it: %v", err)
		}
		f.wantGone(t, r)
		return p.breaker.brokenCall()
	}
}

// makeObject makes the object and returns what a front end knows of it. pending
// is called while its compose is under way.
func (f failureRun) makeObject(t *testing.T, r testMAAS, rows engine.Ledger, pending func()) engine.Ref {
	t.Helper()
	p := r.start(t, rows, 0, breakage{})
	p.breaker.compose = pending
	id, err := f.create(p, f.ref)
	if err != nil {
		t.Fatal(err)
	}
	return f.refOf(id)
}
