package assembly_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// lockableVM is a VM that is deployed, with what becomes of its lock.
func lockableVM(locked *bool, edits ...func(*engine.VMSpec)) engine.VMSpec {
	spec := webVMSpec()
	spec.Deploy, spec.Locked = noble(), locked
	for _, edit := range edits {
		edit(&spec)
	}
	return spec
}

// applyFinished brings a finished VM to a spec.
func (p process) applyFinished(ref engine.Ref, spec engine.VMSpec) (engine.VM, error) {
	ref.Finished = true
	return engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(ref, spec))
}

// TestVMLock makes a VM with each wish for its lock, which MAAS has or has not before.
func TestVMLock(t *testing.T) {
	retagged := func(s *engine.VMSpec) { s.Tags = []string{"blue"} }
	moved := func(s *engine.VMSpec) { s.Zone = "az2" }
	cases := map[string]struct {
		reason       string
		made, before *bool // made with the lock; locked by hand then
		change       engine.VMSpec
		locked       bool
		unlocks      int
		err          string
	}{
		"Kept":      {"A change unlocks the VM, and locks it again.", new(true), nil, lockableVM(new(true), moved), true, 1, ""},
		"Tagged":    {"Tags need no unlocking: MAAS does not ask for the lock.", new(true), nil, lockableVM(new(true), retagged), true, 0, ""},
		"Nothing":   {"What is as it is wanted costs no call.", new(true), nil, lockableVM(new(true)), true, 0, ""},
		"TakenOff":  {"A lock that is wanted no more goes.", new(true), nil, lockableVM(new(false)), false, 1, ""},
		"PutBack":   {"A lock that somebody took off comes back.", new(true), new(false), lockableVM(new(true)), true, 0, ""},
		"Added":     {"A VM that was made without it gets it in place.", nil, nil, lockableVM(new(true), moved), true, 0, ""},
		"Others":    {"A lock of somebody else refuses changes.", nil, new(true), lockableVM(nil, moved), true, 0, "locked in MAAS"},
		"OthersOff": {"It goes where the spec says so.", nil, new(true), lockableVM(new(false), moved), false, 1, ""},
		"Failed":    {"A change that MAAS refuses does not cost the lock.", new(true), nil, lockableVM(new(true), func(s *engine.VMSpec) { s.Name = "lxd2" }), true, 1, "lxd2"},
		"Unknown":   {"What is not there is looked for before anything is unlocked.", new(true), nil, lockableVM(new(true), func(s *engine.VMSpec) { s.Zone = "az9" }), true, 0, "az9"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model := world()
				model.Zones = append(model.Zones, "az2")
				r := inMemoryOf(t, model)
				p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
				vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(newVMRef, lockableVM(tc.made)))
				if err != nil {
					t.Fatal(err)
				}
				if tc.made != nil && (!vm.Locked || !r.machine(t, "web-1").Locked) {
					t.Fatal("it was made without the lock")
				}
				if tc.before != nil {
					r.editWebVM(t, sim.MachineEdit{Locked: tc.before})
				}
				const unlock = "POST machines/{id}/ unlock"
				before := r.sim.Journal().Count(unlock)
				vm, err = r.start(t, ledger.NewMemory(nil), 0, breakage{}).applyFinished(engine.Ref{Key: newVMRef.Key, SystemID: vm.SystemID}, tc.change)
				switch {
				case tc.err == "" && err != nil, tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
					t.Errorf("%s\nwant an error with %q, got %v", tc.reason, tc.err, err)
				}
				m := r.machine(t, "web-1")
				if m.Locked != tc.locked || err == nil && vm.Locked != tc.locked {
					t.Errorf("%s\nlocked is %v in MAAS and %v in the result, want %v", tc.reason, m.Locked, vm.Locked, tc.locked)
				}
				if tc.err == "" && tc.change.Zone != "" && m.Zone != tc.change.Zone {
					t.Errorf("%s\nthe zone is %s, want %s", tc.reason, m.Zone, tc.change.Zone)
				}
				if got := r.sim.Journal().Count(unlock) - before; got != tc.unlocks {
					t.Errorf("%s\nthe VM was unlocked %d times, want %d", tc.reason, got, tc.unlocks)
				}
			})
		})
	}
}

// TestLockBroken breaks each call of a change of a locked VM. The run that follows finds
// the VM, and ends with the change and the lock.
func TestLockBroken(t *testing.T) {
	for _, with := range append(hangBreakages, survivableBreakages...) {
		t.Run(with.name, func(t *testing.T) {
			for nth, broke := 1, true; broke; nth++ {
				synctest.Test(t, func(t *testing.T) {
					r := inMemory(t)
					rows := ledger.NewMemory(nil)
					vm, err := engine.WaitUntilDone(t.Context(), r.start(t, rows, 0, breakage{}).engine.VMs.Steps(newVMRef, lockableVM(new(true))))
					if err != nil {
						t.Fatal(err)
					}
					ref := engine.Ref{Key: newVMRef.Key, SystemID: vm.SystemID}
					spec := lockableVM(new(true), func(s *engine.VMSpec) { s.Name, s.Tags = "web-2", []string{"blue"} })
					p := r.start(t, rows, nth, with)
					_, err = p.applyFinished(ref, spec)
					broke = p.breaker.hit != ""
					if _, err := r.start(t, rows, 0, breakage{}).applyFinished(ref, spec); err != nil {
						t.Errorf("call %d, %s, first %v, then %v", nth, p.breaker.hit, err, err)
					}
					if m := r.machine(t, "web-2"); !m.Locked {
						t.Errorf("call %d, %s, %v: it is not locked", nth, p.breaker.hit, err)
					}
				})
			}
		})
	}
}
