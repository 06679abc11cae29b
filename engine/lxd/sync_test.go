package lxd

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestSyncOne: a sync of one VM asks nothing about its neighbours, and does not fail
// because of them.
func TestSyncOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	moved, gone := w.composeVM(w.composer, newRootOnlyComposition("web1")), w.composeVM(w.composer, newRootOnlyComposition("web2"))
	w.moveInstance(t)
	if err := w.sim.RemoveInstance("h1", "maas", "web2"); err != nil {
		t.Fatal(err)
	}
	if state, err := w.maas.Machines.QueryPower(t.Context(), moved); err != nil || state != powerStateError {
		t.Fatalf("MAAS looks where it is not, and finds it %s, %v", state, err)
	}
	host := engine.VMHost{MachineID: "host01"}
	from := len(w.sim.Journal().Calls)
	if err := w.composer.SyncHost(t.Context(), host, gone); err != nil {
		t.Errorf("web1 was moved, which says nothing of web2: %v", err)
	}
	for _, c := range w.sim.Journal().Calls[from:] {
		if c.Host == "" && strings.HasPrefix(c.Route, "GET ") {
			t.Errorf("a sync about web2 asked MAAS: %s", c.Path)
		}
	}
	if diff := cmp.Diff([]string{"instance web1 on h2", "machine web1"}, w.listObjects()); diff != "" {
		t.Errorf("after the sync (-want +got):\n%s", diff)
	}
	if err := w.composer.SyncHost(t.Context(), host, moved); errorKinds(err) != "ErrConflict" {
		t.Errorf("about web1 itself: %v", err)
	}
}

// TestSyncSilent: a host that has just not answered is asked once for all waiting VMs, and
// again after a while.
func TestSyncSilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	now := time.Now()
	w.composer.Now = func() time.Time { return now }
	var ids []string
	for _, name := range []string{"web1", "web2", "web3"} {
		ids = append(ids, w.composeVM(w.composer, newRootOnlyComposition(name)))
	}
	address, dialled := listenAndHangUp(t)
	w.servers[0].Address = address
	host := engine.VMHost{MachineID: "host01"}
	sync := func() (dials int64) {
		for _, id := range ids {
			if err := w.composer.SyncHost(t.Context(), host, id); errorKinds(err) != "ErrUnavailable, HostUnavailable" {
				t.Errorf("%s: %v", errorKinds(err), err)
			}
			if dials == 0 {
				dials = dialled.Load()
			}
		}
		if got := dialled.Load(); got != dials {
			t.Errorf("the silent host was dialled %d times, and for one VM %d times", got, dials)
		}
		return dialled.Swap(0)
	}
	once := sync()
	now = now.Add(failureTTL)
	if again := sync(); once == 0 || again != once {
		t.Errorf("after a while it was dialled %d times, want %d", again, once)
	}
}

// TestHostNeverReturns: the host of a VM is no longer a host. Deleting the VM's machine in
// MAAS gives the VM up, as the error says.
func TestHostNeverReturns(t *testing.T) {
	t.Parallel()
	w, book := newWorld(t, 2), ledger.NewMemory(nil)
	want := newSpec()
	want.Host, want.Deploy = "h1", nil
	vm, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(web1Ref, want))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.sim.SetLXDCondition("h1", sim.ConditionUnreachable); err != nil {
		t.Fatal(err)
	}
	ref := web1Ref
	ref.SystemID, ref.Finished = vm.SystemID, true
	w.servers = w.servers[1:] // its tag was taken off
	err = deleteVM(t, w.newEngineWith(t, book), ref)
	if !errors.Is(err, engine.ErrConflict) || !strings.Contains(shownText(err), "which is not one of the hosts") || !strings.Contains(shownText(err), "delete the machine in MAAS") {
		t.Errorf("got %v", err)
	}
	if err := w.sim.DeleteMachine(vm.SystemID); err != nil {
		t.Fatal(err)
	}
	if err := deleteVM(t, w.newEngineWith(t, book), ref); err != nil {
		t.Errorf("it was given up: %v", err)
	}
}
