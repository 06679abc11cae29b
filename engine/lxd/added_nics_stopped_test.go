package lxd

import (
	"errors"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// withAddedInterfaces is a spec with interfaces of these labels, which are added in place.
func withAddedInterfaces(spec engine.VMSpec, labels ...string) engine.VMSpec {
	spec.AddedInterfaces = nil
	for _, label := range labels {
		i := newStorageInterface(engine.LinkDHCP)
		i.Name = label
		spec.AddedInterfaces = append(spec.AddedInterfaces, i)
	}
	return spec
}

// TestAddInterfaceStops adds a fifth interface to a running VM, which has four free ports. The spec must
// allow to stop the VM. Afterwards it runs with all of them.
func TestAddInterfaceStops(t *testing.T) {
	t.Parallel()
	w, book := newWorld(t, 1), ledger.NewMemory(nil)
	ref, made := w.createRunningVM(t, func(s *engine.VMSpec) {
		s.Resize, s.Interfaces = false, []engine.Interface{{Name: "eth0", Subnet: fleetSubnet}}
	})
	want := withAddedInterfaces(made, "a", "b", "c", "d", "e")
	_, err := w.newEngineWith(t, book).VMs.Reconcile(t.Context(), ref, want)
	if _, runs := errors.AsType[*engine.RunningError](err); !runs || !strings.Contains(err.Error(), "must be stopped to change its interfaces") {
		t.Fatalf("want an error that it must be stopped, got %v", err)
	}
	want.MayStop = true
	vm, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(ref, want))
	if i, _ := w.onlyInstance(t); err != nil || len(vm.AddedNICs) != 5 || len(i.MACs) != 6 || !i.Running {
		t.Errorf("want five more NICs, and that it runs, got %+v, %+v, %v", vm.AddedNICs, i, err)
	}
}

// TestLockOfOthers: somebody has locked the VM in MAAS. LXD does not know the lock, and its instance is
// not changed. What is as wanted is no change.
func TestLockOfOthers(t *testing.T) {
	t.Parallel()
	w, book := newWorld(t, 1), ledger.NewMemory(nil)
	ref, made := w.createRunningVM(t, func(s *engine.VMSpec) {
		s.Interfaces = []engine.Interface{{Name: "eth0", Subnet: fleetSubnet}}
	})
	made = withAddedInterfaces(made, "a")
	if _, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(ref, made)); err != nil {
		t.Fatal(err)
	}
	if err := w.sim.EditMachine(ref.SystemID, sim.MachineEdit{Locked: new(true)}); err != nil {
		t.Fatal(err)
	}
	cores, config, removed := made, made, withoutInterface(made, "a")
	cores.Cores++
	config.Reconfigure, config.Config = true, map[string]string{"boot.autostart": "true"}
	for name, want := range map[string]engine.VMSpec{"cores": cores, "config": config, "added": withAddedInterfaces(made, "a", "b"), "removed": removed} {
		before, _ := w.onlyInstance(t)
		_, err := w.newEngineWith(t, book).VMs.Reconcile(t.Context(), ref, want)
		if _, locked := errors.AsType[*engine.LockedError](err); !locked {
			t.Errorf("%s: want an error of the lock, got %v", name, err)
		}
		if now, _ := w.onlyInstance(t); now.Cores != before.Cores || len(now.MACs) != len(before.MACs) {
			t.Errorf("%s: it is %+v, and was %+v", name, now, before)
		}
	}
	if _, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(ref, made)); err != nil {
		t.Errorf("nothing is to be changed: %v", err)
	}
}
