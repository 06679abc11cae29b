package assembly_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestMovedVMIsFollowed: the caller was cut off between a move and the note of
// the new system id.
func TestMovedVMIsFollowed(t *testing.T) {
	for _, how := range []string{"delete", "observe"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleetOf(t, 2, 4, "az1")
				p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
				var old string
				time.AfterFunc(4*time.Second, func() {
					old = r.machine(t, "web-1").SystemID
					if err := r.sim.FailMachine(old, "no disk"); err != nil {
						t.Error(err)
					}
				})
				vm, err := p.applyVM(smallVM("web-1", engine.Placement{}))
				if err != nil || vm.SystemID == old || old == "" {
					t.Fatal(vm.SystemID, old, err)
				}
				ref := engine.Ref{Key: "default/web-1", Name: "web-1", SystemID: old}
				got, err := p.engine.VMs.Observe(t.Context(), ref)
				if how == "observe" {
					if err != nil || got.SystemID != vm.SystemID {
						t.Errorf("observe finds %q, %v, and not the moved VM", got.SystemID, err)
					}
					return
				}
				if err := p.delete(ref); err != nil {
					t.Fatal(err)
				}
				if n := len(r.sim.Instances()); n != 0 {
					t.Errorf("delete was Done and %d instance is left", n)
				}
			})
		})
	}
}

// TestLeaksAreFew: MAAS refuses each compose after LXD has made the instance.
// Not every host of the fleet is tried.
func TestLeaksAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 8, 4, "az1")
		r.sim.SetRandomFaults(sim.RandomFaults{LeakCompose: 1})
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		if _, err := p.applyVM(smallVM("web-1", engine.Placement{})); err == nil {
			t.Error("nothing failed, so this test shows nothing")
		}
		if n := len(r.sim.Instances()); n > 3 {
			t.Errorf("%d instances leaked", n)
		}
	})
}

// TestLeakIsSaid: the first compose leaves an instance where MAAS does not show
// it.
func TestLeakIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 2, 4, "az1")
		r.sim.SetRandomFaults(sim.RandomFaults{LeakCompose: 1})
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		time.AfterFunc(1*time.Second, func() { r.sim.SetRandomFaults(sim.RandomFaults{}) })
		vm, err := p.applyVM(smallVM("web-1", engine.Placement{}))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(r.sim.Instances()); n != 1 && vm.Leftover == "" {
			t.Errorf("%d instances, and nothing is said: %q", n, vm.Leftover)
		}
	})
}

// TestDeletedMembersDoNotCount: somebody deletes two of three members of a group
// elsewhere.
func TestDeletedMembersDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 2, 8, "az1", "az2")
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		g := engine.Placement{Group: "g"}
		az := map[string]string{"lxd1": "az1", "lxd2": "az2"}
		in := map[string][]engine.VM{}
		for i := range 3 {
			vm, err := p.applyVM(smallVM(fmt.Sprint("a", i), g))
			if err != nil {
				t.Fatal(err)
			}
			in[az[vm.HostName]] = append(in[az[vm.HostName]], vm)
		}
		full, lone := "az1", "az2"
		if len(in["az2"]) == 2 {
			full, lone = "az2", "az1"
		}
		for _, vm := range in[full] {
			if err := r.sim.DeleteMachine(vm.SystemID); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		vm, err := p.applyVM(smallVM("b", g))
		if err != nil {
			t.Fatal(err)
		}
		if az[vm.HostName] == lone {
			t.Errorf("group has one VM in %s and none in %s; the new one goes to %s", lone, full, az[vm.HostName])
		}
	})
}

// TestReservationsWaitForTheirTurn: composes are so slow that some wait for
// longer than a lost one may bear fruit. Their reservations are no less theirs.
func TestReservationsWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := world()
		m.Zones = []string{"az1"}
		m.Hosts = nil
		const vms = 48
		for n := range 4 {
			m.Hosts = append(m.Hosts, sim.HostModel{Name: fmt.Sprintf("lxd%d", n+1), Zone: "az1", LXDVersion: "5.21.3", Cores: 24, MemoryMiB: 2048 * 12, Subnets: []string{"lan"},
				StoragePools: []sim.StoragePoolModel{{Name: "default", Driver: "zfs", SizeGB: 96, Default: true}}})
		}
		m.Latency.Compose = 50 * time.Second
		s, err := sim.New(m)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.SetRandomFaults(sim.RandomFaults{Overcommit: true})
		r := testMAAS{sim: s, url: "http://maas.example/MAAS", transport: s.RoundTripper}
		rows := ledger.NewMemory(nil)
		p := r.start(t, rows, 0, breakage{})
		var wg sync.WaitGroup
		errs := map[string]int{}
		var mu sync.Mutex
		for i := range vms {
			wg.Go(func() {
				_, err := p.applyVM(smallVM(fmt.Sprint("vm-", i), engine.Placement{}))
				if err != nil {
					mu.Lock()
					errs[err.Error()]++
					mu.Unlock()
				}
			})
		}
		time.Sleep(10 * time.Second)
		for i := range 12 {
			wg.Go(func() { p.applyVM(smallVM(fmt.Sprint("late-", i), engine.Placement{})) }) //nolint:errcheck // there is no room for them
		}
		wg.Wait()
		for _, e := range r.sim.Overcommits() {
			t.Errorf("over-commit: %v", e)
		}
		if n := len(s.Instances()); n != vms {
			t.Errorf("%d instances in a fleet with room for %d: %v", n, vms, errs)
		}
	})
}

// TestBareMetalIsNotDeleted: a VM's state names a machine that is no VM.
func TestBareMetalIsNotDeleted(t *testing.T) {
	inHosts(t, func(t *testing.T, r testMAAS, p process) {
		before := r.machine(t, "m1")
		ref := engine.Ref{Key: "default/m1", Name: "m1", SystemID: before.SystemID}
		_, err := p.engine.VMs.Delete(t.Context(), ref)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("want a refusal, got %v", err)
		}
		if after := r.machine(t, "m1"); after.SystemID != before.SystemID || after.StatusName != before.StatusName {
			t.Errorf("it was %+v, and is %+v", before, after)
		}
	})
}
