package assembly_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// inPlaceMachine is a deployed machine with all that changes in place.
func inPlaceMachine(edits ...func(*engine.MachineSpec)) engine.MachineSpec {
	spec := engine.MachineSpec{Machine: "small", Deploy: noble(), Hostname: "db-1", InPlaceSettings: engine.InPlaceSettings{
		Zone: "az2", Pool: "metal", Tags: []string{"blue", "gpu"}, Description: new("database"), Locked: new(true),
	}}
	for _, edit := range edits {
		edit(&spec)
	}
	return spec
}

// TestMachineKept makes a machine, changes it in place, and gives it back.
func TestMachineKept(t *testing.T) {
	cases := map[string]struct {
		reason  string
		change  engine.MachineSpec
		err     string
		others  sim.MachineEdit // what somebody does before the release
		zone    string          // after the release
		locked  bool            // before it
		tagged  bool            // with blue, before it
		unlocks int
	}{
		"Nothing":  {reason: "What is as it is wanted costs no call.", change: inPlaceMachine(), zone: "default", locked: true, tagged: true},
		"Moved":    {reason: "It is unlocked for that, and given back as it was at first.", change: inPlaceMachine(func(s *engine.MachineSpec) { s.InPlaceSettings.Zone = "az1" }), zone: "default", locked: true, tagged: true, unlocks: 1},
		"Unlocked": {reason: "A lock that is wanted no more goes.", change: inPlaceMachine(func(s *engine.MachineSpec) { s.InPlaceSettings.Locked = new(false) }), zone: "default", tagged: true, unlocks: 1},
		"Untagged": {
			reason: "A tag that is wanted no more goes, and one of the site stays.", zone: "default", locked: true, unlocks: 1,
			change: inPlaceMachine(func(s *engine.MachineSpec) {
				s.InPlaceSettings.Tags, s.InPlaceSettings.RemovedTags = nil, []string{"blue"}
			}),
		},
		"Zone":   {reason: "MAAS has none of that name.", change: inPlaceMachine(func(s *engine.MachineSpec) { s.InPlaceSettings.Zone = "az9" }), err: `"az9"`, zone: "default", locked: true, tagged: true},
		"Taken":  {reason: "Another machine has that hostname.", change: inPlaceMachine(func(s *engine.MachineSpec) { s.Hostname = "half" }), err: "half already", zone: "default", locked: true, tagged: true, unlocks: 1},
		"Others": {reason: "Somebody has moved it, and means it.", change: inPlaceMachine(), others: sim.MachineEdit{Zone: new("az1")}, zone: "az1", locked: true, tagged: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r testMAAS, p process) {
				was := r.machine(t, "small")
				made, err := p.applyMachine(newMachineRef, inPlaceMachine())
				if err != nil {
					t.Fatal(err)
				}
				ref := engine.Ref{Key: metalKey, SystemID: made.SystemID, Finished: true}
				const unlock = "POST machines/{id}/ unlock"
				before := r.sim.Journal().Count(unlock)
				_, err = p.applyMachine(ref, tc.change)
				if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\nwant an error with %q, got %v", tc.reason, tc.err, err)
				}
				m := r.machine(t, "db-1")
				if got := r.sim.Journal().Count(unlock) - before; m.Locked != tc.locked || got != tc.unlocks || slices.Contains(m.Tags, "blue") != tc.tagged {
					t.Errorf("%s\nlocked: %v after %d unlocks, with the tags %v", tc.reason, m.Locked, got, m.Tags)
				}
				if m.Locked {
					tc.others.Locked = new(false)
				}
				r.edit(t, "db-1", tc.others)
				if err := p.release(engine.Ref{Key: metalKey, SystemID: made.SystemID}); err != nil {
					t.Fatal(err)
				}
				back := r.machine(t, "small")
				if back.StatusName != "Ready" || back.Zone != tc.zone || back.Pool != was.Pool || back.Description != was.Description || !slices.Equal(back.Tags, was.Tags) {
					t.Errorf("%s\nit was given back in %s and %s with %q and %v, was %+v", tc.reason, back.Zone, back.Pool, back.Description, back.Tags, was)
				}
			})
		})
	}
}

// TestMachineKeptBroken breaks each call of the making and of the giving back of a machine
// that is renamed. Runs that follow end with the hostname, and with the former one.
func TestMachineKeptBroken(t *testing.T) {
	for _, with := range survivableBreakages {
		t.Run(with.name, func(t *testing.T) {
			for nth, broke := 1, true; broke; nth++ {
				synctest.Test(t, func(t *testing.T) {
					r := inMemoryOf(t, metalWorld())
					rows := ledger.NewMemory(nil)
					spec := inPlaceMachine(func(s *engine.MachineSpec) {
						s.InPlaceSettings.Locked = nil
						s.Deploy.Storage = &engine.StorageLayout{Type: "lvm", VolumeSizeGB: 20}
					})
					p := r.start(t, rows, nth, with)
					_, first := p.applyMachine(newMachineRef, spec)
					if first != nil {
						if _, err := r.start(t, rows, 0, breakage{}).applyMachine(newMachineRef, spec); err != nil && !strings.Contains(err.Error(), "finished") {
							t.Errorf("call %d, %s, first %v, then %v", nth, p.breaker.hit, first, err)
						}
					}
					made := r.machine(t, "db-1")
					if made.StatusName != "Deployed" || made.Zone != "az2" {
						t.Errorf("call %d, %s, %v: it is %s in %s", nth, p.breaker.hit, first, made.StatusName, made.Zone)
					}
					broke = p.breaker.hit != ""
					p = r.start(t, rows, nth, with)
					ref := engine.Ref{Key: metalKey, SystemID: made.SystemID}
					if first = p.release(ref); first != nil {
						if err := r.start(t, rows, 0, breakage{}).release(ref); err != nil {
							t.Errorf("call %d, %s, first %v, then %v", nth, p.breaker.hit, first, err)
						}
					}
					if m := r.machine(t, "small"); m.StatusName != "Ready" || m.Zone != "default" || slices.Contains(m.Tags, "blue") {
						t.Errorf("call %d, %s, %v: it was given back %s in %s with %v", nth, p.breaker.hit, first, m.StatusName, m.Zone, m.Tags)
					}
					broke = broke || p.breaker.hit != ""
				})
			}
		})
	}
}
