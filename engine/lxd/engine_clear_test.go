package lxd

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/assembly"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// shortenComposeWindow makes the engine consider a compose lost at once.
func shortenComposeWindow(c *engine.Config) { c.ComposeWindow = time.Millisecond }

// newSpecOn returns the spec of the VM web1 on a host. The VM is left Ready.
func newSpecOn(host string) engine.VMSpec {
	want := newSpec()
	want.Host, want.Deploy = host, nil
	return want
}

// countRows counts the rows of a ledger.
func countRows(t *testing.T, book engine.Ledger) int {
	t.Helper()
	all, err := book.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// cutOffCreate returns a world and a ledger in which a create of web1 on h1 was cut off
// before MAAS knew the instance.
func cutOffCreate(t *testing.T) (*composeWorld, engine.Ledger) {
	t.Helper()
	w, book := newWorld(t, 2), ledger.NewMemory(nil)
	fault{path: "machines/", method: "POST", nth: 1, kind: sim.FaultReset, when: sim.FaultBeforeEffect}.inject(w.sim)
	if _, err := w.newEngineWith(t, book).VMs.Reconcile(t.Context(), web1Ref, newSpecOn("h1")); err == nil || len(w.listObjects()) != 1 || countRows(t, book) != 1 {
		t.Fatalf("it was not cut off: %v, there is %v", err, w.listObjects())
	}
	w.sim.ClearFaults()
	return w, book
}

// TestEngineFailEverywhere breaks each call of a create's first step, or of the delete
// after it. Then another process deletes what exists, and nothing is left.
func TestEngineFailEverywhere(t *testing.T) {
	t.Parallel()
	create := func(t *testing.T, f fault) (*composeWorld, engine.Ledger, error) {
		w, book := newWorld(t, 2), ledger.NewMemory(nil)
		f.inject(w.sim)
		_, err := w.newEngineWith(t, book).VMs.Reconcile(t.Context(), web1Ref, newSpecOn("h1"))
		return w, book, err
	}
	clear := func(t *testing.T, f fault) (*composeWorld, engine.Ledger, error) {
		w, book := cutOffCreate(t)
		f.inject(w.sim)
		time.Sleep(2 * time.Millisecond)
		_, err := w.newEngineWith(t, book, shortenComposeWindow).VMs.Delete(t.Context(), web1Ref)
		return w, book, err
	}
	const reads = 10 // the calls of an inventory
	enlist, look := fault{path: "machines/", method: "POST"}, fault{path: "machines/", method: "GET"}
	for name, tc := range map[string]struct {
		do     func(*testing.T, fault) (*composeWorld, engine.Ledger, error)
		faults []fault
	}{"Create": {create, faults(18, enlist, look)}, "Delete": {clear, faults(18, look)}} {
		for n, f := range tc.faults {
			if how := n / (len(tc.faults) / 4); f.nth <= reads && how != f.nth%4 && f.method == "" {
				continue // what only reads is broken in one way each
			}
			t.Run(name+"/"+f.name(), func(t *testing.T) {
				t.Parallel()
				w, book, failure := tc.do(t, f)
				w.sim.ClearFaults()
				if err := deleteVM(t, w.newEngineWith(t, book, shortenComposeWindow), web1Ref); err != nil {
					t.Errorf("the delete after %v: %v", failure, err)
				}
				if diff := cmp.Diff([]string(nil), w.listObjects()); diff != "" {
					t.Errorf("after %v, left (-want +got):\n%s", failure, diff)
				}
				if n := countRows(t, book); n != 0 {
					t.Errorf("after %v, %d rows are left", failure, n)
				}
				w.wantVolumes(t)
			})
		}
	}
}

// TestEngineClearSilent: the row stays while its host does not show its instances, unless
// the host is no longer a host.
func TestEngineClearSilent(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		then   func(*testing.T, *composeWorld)
		left   []string
	}{
		"Back":    {"What was begun there goes.", func(t *testing.T, w *composeWorld) { w.setUnreachable(t) }, nil},
		"GoneFor": {"Nobody can look there.", func(_ *testing.T, w *composeWorld) { w.servers = w.servers[1:] }, []string{"instance web1 on h1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, book := cutOffCreate(t)
			w.setUnreachable(t, "h1")
			time.Sleep(2 * time.Millisecond)
			_, err := w.newEngineWith(t, book, shortenComposeWindow).VMs.Delete(t.Context(), web1Ref)
			if errorKinds(err) != "ErrUnavailable, HostUnavailable" || engine.IsTerminal(err) || !strings.Contains(shownText(err), "host h1") || !strings.Contains(shownText(err), "maaslxd-host from machine host01") {
				t.Errorf("while h1 does not answer: %s: %v", errorKinds(err), err)
			}
			if n := countRows(t, book); n != 1 {
				t.Errorf("%d rows are left", n)
			}
			tc.then(t, w)
			if err := deleteVM(t, w.newEngineWith(t, book, shortenComposeWindow), web1Ref); err != nil || countRows(t, book) != 0 {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.left, w.listObjects()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEngineDrops: when a row is dropped, what was begun for it is removed.
func TestEngineDrops(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		do     func(*testing.T, *assembly.Engine)
	}{
		"Abandon": {"The VM cannot be made as it is wanted now.", func(t *testing.T, e *assembly.Engine) {
			want := newSpecOn("h1")
			want.Disks[0].Pool = "ghost"
			if _, err := e.VMs.Reconcile(t.Context(), web1Ref, want); err == nil {
				t.Error("there is no such pool")
			}
		}},
		"Sweep": {"Another VM needs the room.", func(t *testing.T, e *assembly.Engine) {
			want := newSpecOn("h1")
			want.Name, want.Cores = "web2", 6
			if _, err := engine.WaitUntilDone(t.Context(), e.VMs.Steps(engine.Ref{Key: "test/web2", Name: "web2"}, want)); err != nil {
				t.Error(err)
			}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, book := cutOffCreate(t)
			time.Sleep(2 * time.Millisecond)
			tc.do(t, w.newEngineWith(t, book, shortenComposeWindow))
			for _, line := range w.listObjects() {
				if strings.Contains(line, "web1") {
					t.Errorf("%s: %s is left", tc.reason, line)
				}
			}
			if _, err := book.Row(t.Context(), web1Ref.Key); errorKinds(err) != "ErrNotFound" {
				t.Errorf("its row: %v", err)
			}
			w.wantVolumes(t, map[string][]string{"Sweep": {"web2-disk1"}}[name]...)
		})
	}
}

// foreignRowLedger refuses to write the row of web1, as a service for several owners does.
type foreignRowLedger struct{ engine.Ledger }

func (o foreignRowLedger) MayWrite(_ context.Context, key engine.Key) error {
	if key == web1Ref.Key {
		return engine.ErrForbidden
	}
	return nil
}

func (o foreignRowLedger) Drop(ctx context.Context, row engine.Row) error {
	if err := o.MayWrite(ctx, row.Key); err != nil {
		return err
	}
	return o.Ledger.Drop(ctx, row)
}

// TestEngineSweepsOwn: another owner needs the room of a create that was cut off. It may
// not change the row, so what was begun stays too. The row's own create continues with it.
func TestEngineSweepsOwn(t *testing.T) {
	t.Parallel()
	w, book := cutOffCreate(t)
	before := w.listObjects()
	time.Sleep(2 * time.Millisecond)
	want := newSpecOn("h1")
	want.Name, want.Cores = "web2", 6
	other := w.newEngineWith(t, foreignRowLedger{book}, shortenComposeWindow)
	for range 2 { // the first one finds the room taken, and sweeps
		if _, err := other.VMs.Reconcile(t.Context(), engine.Ref{Key: "other/web2", Name: "web2"}, want); errorKinds(err) != "ErrBusy" {
			t.Errorf("the room is taken: %v", err)
		}
	}
	if diff := cmp.Diff(before, w.listObjects()); diff != "" {
		t.Errorf("what another owner began was touched\n-want +got:\n%s", diff)
	}
	if _, err := book.Row(t.Context(), web1Ref.Key); err != nil {
		t.Errorf("its row: %v", err)
	}
}

// TestEngineMachineGone: the machine of a VM was deleted in MAAS, but the VM runs on. A
// delete and a create on any host report that, and no second VM is made.
func TestEngineMachineGone(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		do     func(*testing.T, *assembly.Engine, engine.Ref) error
	}{
		"Delete": {"It would be forgotten.", func(t *testing.T, e *assembly.Engine, ref engine.Ref) error {
			_, err := e.VMs.Delete(t.Context(), ref)
			return err
		}},
		"Anywhere": {"Another host has room for a second one.", func(t *testing.T, e *assembly.Engine, _ engine.Ref) error {
			want := newSpec()
			_, err := e.VMs.Reconcile(t.Context(), web1Ref, want)
			return err
		}},
		"SameHost": {"LXD has the name.", func(t *testing.T, e *assembly.Engine, _ engine.Ref) error {
			_, err := e.VMs.Reconcile(t.Context(), web1Ref, newSpecOn("h1"))
			return err
		}},
		"OtherHost": {"LXD would admit it.", func(t *testing.T, e *assembly.Engine, _ engine.Ref) error {
			_, err := e.VMs.Reconcile(t.Context(), web1Ref, newSpecOn("h2"))
			return err
		}},
	}
	for name, tc := range cases {
		for _, lost := range []bool{false, true} {
			title := name
			if lost {
				title += "LedgerLost"
			}
			t.Run(title, func(t *testing.T) {
				t.Parallel()
				w, book := newWorld(t, 2), engine.Ledger(ledger.NewMemory(nil))
				want := newSpec()
				want.Host = "h1"
				vm, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(web1Ref, want))
				if err != nil {
					t.Fatal(err)
				}
				if err := w.sim.DeleteMachine(vm.SystemID); err != nil {
					t.Fatal(err)
				}
				if lost {
					book = ledger.NewMemory(nil)
				}
				ref := web1Ref
				ref.SystemID, ref.Finished = vm.SystemID, true
				began := time.Now()
				err = tc.do(t, w.newEngineWith(t, book), ref)
				if err == nil || !strings.Contains(errorKinds(err), "ErrConflict") || !engine.IsTerminal(err) || !strings.Contains(shownText(err), "web1 of project maas on host h1") || !strings.Contains(shownText(err), "lxc delete web1") {
					t.Errorf("%s\ngot %s: %v", tc.reason, errorKinds(err), err)
				}
				// Looking for a new instance of ours takes half a minute, and none will
				// come.
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("it took %s to say so", took)
				}
				if diff := cmp.Diff([]string{"instance web1 on h1"}, w.listObjects()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			})
		}
	}
}

// TestEngineCopied: a copy of a VM outlives the VM. The next VM is made, and reports the
// copy.
func TestEngineCopied(t *testing.T) {
	t.Parallel()
	w, book := newWorld(t, 2), ledger.NewMemory(nil)
	want := newSpecOn("h1")
	want.Disks = want.Disks[:1]
	vm, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(web1Ref, want))
	if err != nil {
		t.Fatal(err)
	}
	w.copyInstance(t, 0, 1, "web1")
	ref := web1Ref
	ref.SystemID, ref.Finished = vm.SystemID, true
	if err := deleteVM(t, w.newEngineWith(t, book), ref); err != nil {
		t.Fatal(err)
	}
	vm, err = engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(web1Ref, want))
	if err != nil || !strings.Contains(vm.Leftover, "VM host h2 holds an instance web1") {
		t.Errorf("it tells %q, %v", vm.Leftover, err)
	}
	if diff := cmp.Diff([]string{"instance web1 on h1", "instance web1 on h2", "machine web1"}, w.listObjects()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
