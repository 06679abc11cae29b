package assembly_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

// TestRefusedDeleteKeepsRoom: a delete that is refused because the VM is locked
// takes no room beside the VM's own.
func TestRefusedDeleteKeepsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 1, 2, "az1") // room for two VMs
		p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
		first, err := p.applyVM(smallVM("one", engine.Placement{}))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.sim.EditMachine(first.SystemID, sim.MachineEdit{Locked: ptr(true)}); err != nil {
			t.Fatal(err)
		}
		if err := p.delete(engine.Ref{Key: "default/one", Name: "one", SystemID: first.SystemID, Finished: true}); !errors.Is(err, engine.ErrConflict) {
			t.Fatalf("want refused, got %v", err)
		}
		if err := r.sim.EditMachine(first.SystemID, sim.MachineEdit{Locked: ptr(false)}); err != nil {
			t.Fatal(err)
		}
		if _, err = p.applyVM(smallVM("two", engine.Placement{})); err != nil {
			t.Errorf("the host has room for two VMs and holds one: %v", err)
		}
	})
}

// TestAbandonedDeleteKeepsRoom gives up deletes halfway, and keeps the VM: only
// looks follow, and they give no room back.
func TestAbandonedDeleteKeepsRoom(t *testing.T) {
	cases := map[string]struct {
		reason   string
		deployed bool
		fault    sim.Fault
		lost     bool // the LXD
	}{
		"NoAnswer": {reason: "The LXD does not say whether the VM is off.", lost: true},
		"NoRelease": {
			reason: "MAAS refuses the release, after the row was marked.", deployed: true,
			fault: sim.Fault{Method: "POST", Path: "machines/*/", Op: "release", Kind: sim.FaultStatus, Status: 500},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleetOf(t, 1, 2, "az1")
				p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
				one := smallVM("one", engine.Placement{})
				if tc.deployed {
					one.Deploy = noble()
				}
				first, err := p.applyVM(one)
				if err != nil {
					t.Fatal(err)
				}
				ref := engine.Ref{Key: "default/one", Name: "one", SystemID: first.SystemID, Finished: true}
				if tc.lost {
					if err := r.sim.SetLXDCondition("lxd1", sim.ConditionUnreachable); err != nil {
						t.Fatal(err)
					}
				} else {
					r.sim.AddFault(tc.fault)
				}
				if err := p.delete(ref); err == nil {
					t.Fatal(tc.reason + " The delete succeeds all the same")
				}
				if tc.lost {
					if err := r.sim.SetLXDCondition("lxd1", sim.ConditionOK); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Hour)
				for range 5 { // as a plan does
					if _, err := p.engine.VMs.Observe(t.Context(), ref); err != nil {
						t.Fatal(err)
					}
				}
				if _, err = p.applyVM(smallVM("two", engine.Placement{})); err != nil {
					t.Errorf("%s\nThe host has room for two VMs and holds one: %v", tc.reason, err)
				}
				for _, excess := range r.sim.Overcommits() {
					t.Error(excess)
				}
			})
		})
	}
}

// TestLeavingRoomIsWaitedFor: a VM that is being deleted makes room for one that is made in the
// same run. That holds even if the release takes longer than the wait for room.
func TestLeavingRoomIsWaitedFor(t *testing.T) {
	for _, release := range []time.Duration{5 * time.Second, 30 * time.Second} {
		t.Run(release.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := world()
				m.Hosts = []sim.HostModel{{
					Name: "lxd1", Cores: 2, MemoryMiB: 2048, Zone: "az1", LXDVersion: "5.21.3", Subnets: []string{"lan"},
					StoragePools: []sim.StoragePoolModel{{Name: "default", Driver: "zfs", SizeGB: 100, Default: true}},
				}}
				m.Latency.Release = release
				r := inMemoryOf(t, m)
				p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
				spec := smallVM("old", engine.Placement{})
				spec.Deploy = noble()
				old, err := p.applyVM(spec)
				if err != nil {
					t.Fatal(err)
				}
				var deleting sync.WaitGroup
				deleting.Go(func() {
					if err := p.delete(engine.Ref{Key: "default/old", Name: "old", SystemID: old.SystemID, Finished: true}); err != nil {
						t.Error(err)
					}
				})
				time.Sleep(time.Second)
				if _, err = p.applyVM(smallVM("new", engine.Placement{})); err != nil {
					t.Errorf("the ledger knows that the room is leaving: %v", err)
				}
				deleting.Wait()
			})
		})
	}
}

// racingLedger lets another process act before a row is dropped for the first time.
type racingLedger struct {
	engine.Ledger
	once   sync.Once
	before func()
}

func (r *racingLedger) Drop(ctx context.Context, row engine.Row) error {
	r.once.Do(r.before)
	return r.Ledger.Drop(ctx, row)
}

// TestDeleteKeepsAnothersReservation: two processes delete a VM, and one of them
// makes it anew before the other is done.
func TestDeleteKeepsAnothersReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 1, 2, "az1")
		inner := ledger.NewMemory(nil)
		t.Cleanup(func() { inner.Close() })
		rows := &racingLedger{Ledger: inner}
		p := r.start(t, rows, 0, breakage{})
		vm, err := p.applyVM(smallVM("old", engine.Placement{}))
		if err != nil {
			t.Fatal(err)
		}
		rows.before = func() { // the other process ends its delete, and begins a create
			if err := ledgertest.DropRow(t.Context(), inner, "default/old"); err != nil {
				t.Error(err)
			}
			reserve(t, r, inner)
		}
		if err := p.delete(engine.Ref{Key: "default/old", Name: "old", SystemID: vm.SystemID}); err != nil {
			t.Fatal(err)
		}
		if _, err := inner.Row(t.Context(), "default/old"); err != nil {
			t.Errorf("the delete has forgotten the reservation of the other process's create: %v", err)
		}
	})
}
