package assembly_test

import (
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// poweredVM is a VM that is deployed, with what is wanted of its power.
func poweredVM(power string, edits ...func(*engine.VMSpec)) engine.VMSpec {
	return lockableVM(nil, append(edits, func(s *engine.VMSpec) { s.Power = power })...)
}

// isRunning tells whether the one instance runs.
func (r testMAAS) isRunning(t *testing.T) bool {
	t.Helper()
	all := r.sim.Instances()
	if len(all) != 1 {
		t.Fatalf("%d instances: %+v", len(all), all)
	}
	return all[0].Running
}

// TestVMPower makes VMs with each wish for their power, and changes it.
func TestVMPower(t *testing.T) {
	on, off := "on", "off"
	locked := func(s *engine.VMSpec) { s.Locked = new(true) }
	retagged := func(s *engine.VMSpec) { s.Tags = []string{"blue"} }
	ready := func(s *engine.VMSpec) { s.Deploy = nil }
	cases := map[string]struct {
		reason       string
		made, change engine.VMSpec
		before       string // turned by hand in between
		runs         bool
		turned       int // calls that turn it, by the change
		err          string
	}{
		"MadeOff":   {"A VM that is to be off is off once it is made.", poweredVM(off), poweredVM(off), "", false, 0, ""},
		"On":        {"It is turned on in place.", poweredVM(off), poweredVM(on), "", true, 1, ""},
		"Off":       {"And off.", poweredVM(on), poweredVM(off), "", false, 1, ""},
		"PutBack":   {"What somebody turned is turned back.", poweredVM(on), poweredVM(on), off, true, 1, ""},
		"LeftAlone": {"Without a wish it stays as somebody turned it, and costs no call.", poweredVM(""), poweredVM("", retagged), off, false, 0, ""},
		"Locked":    {"A lock of ours does not keep the power.", poweredVM(on, locked), poweredVM(off, locked), "", false, 1, ""},
		"ReadyOff":  {"A Ready VM can be off.", poweredVM(off, ready), poweredVM(off, ready), "", false, 0, ""},
		"ReadyOn":   {"But not on.", poweredVM("", ready), poweredVM(on, ready), "", false, 0, "power_state"},
		"Absurd":    {"There are two states.", poweredVM(""), poweredVM("cycle"), "", true, 0, "power_state"},
		"Ephemeral": {"What runs from memory is not turned.", poweredVM(""), poweredVM(off, func(s *engine.VMSpec) { s.Deploy.Ephemeral = true }), "", true, 0, "memory"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r testMAAS, p process) {
				vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(newVMRef, tc.made))
				if err != nil {
					t.Fatal(err)
				}
				if tc.made.Power != "" && r.isRunning(t) != (tc.made.Power == on) {
					t.Errorf("%s\nit was made running: %v", tc.reason, r.isRunning(t))
				}
				if tc.before != "" {
					r.call(t, "POST", "machines/"+vm.SystemID+"/?op=power_"+tc.before, nil)
					time.Sleep(5 * time.Second)
				}
				turned := func() int {
					return r.sim.Journal().Count("POST machines/{id}/ power_on") + r.sim.Journal().Count("POST machines/{id}/ power_off")
				}
				before := turned()
				_, err = r.start(t, ledger.NewMemory(nil), 0, breakage{}).applyFinished(engine.Ref{Key: newVMRef.Key, SystemID: vm.SystemID}, tc.change)
				if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
					t.Errorf("%s\nwant an error with %q, got %v", tc.reason, tc.err, err)
				}
				if got := r.isRunning(t); got != tc.runs {
					t.Errorf("%s\nit runs: %v, want %v", tc.reason, got, tc.runs)
				}
				if got := turned() - before; got != tc.turned {
					t.Errorf("%s\nit was turned %d times, want %d", tc.reason, got, tc.turned)
				}
				if want := tc.change.Locked != nil && *tc.change.Locked; r.machine(t, "web-1").Locked != want {
					t.Errorf("%s\nlocked is %v, want %v", tc.reason, !want, want)
				}
			})
		})
	}
}

// TestPowerElsewhere leaves the power of a VM alone that MAAS or an operator is at.
func TestPowerElsewhere(t *testing.T) {
	inBubble(t, func(t *testing.T, r testMAAS, p process) {
		vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(newVMRef, poweredVM("on")))
		if err != nil {
			t.Fatal(err)
		}
		broken := "Broken"
		r.editWebVM(t, sim.MachineEdit{StatusName: &broken})
		_, err = p.applyFinished(engine.Ref{Key: newVMRef.Key, SystemID: vm.SystemID}, poweredVM("off"))
		if err == nil || !strings.Contains(err.Error(), "Broken") {
			t.Errorf("want an error that names the state, got %v", err)
		}
	})
}
