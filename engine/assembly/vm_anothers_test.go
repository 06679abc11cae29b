package assembly_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// TestVMOfAnotherByNow changes and deletes a VM by the system id that a state has, after its
// mark was changed. A VM that another owner took over is left alone.
func TestVMOfAnotherByNow(t *testing.T) {
	cases := map[string]struct {
		reason, description string
		guessed             bool // the state does not know its key
		refused             bool
	}{
		"Another":   {"Another owner took it over.", "maaslxd-0123456789ab team-b/web-1", false, true},
		"Cluster":   {"A cluster took it over.", "maaslxd-0123456789ab 5f2c/default/blue/blue-cp-0", false, true},
		"Guessed":   {"A state from before keys were noted believes the mark.", "maaslxd-0123456789ab before/web-1", true, false},
		"NoMark":    {"Somebody wrote another description.", "the shop's web server", false, false},
		"SameOwner": {"A rename was cut off before the state knew of it.", "maaslxd-0123456789ab default/web-2", false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r testMAAS, p process) {
				vm, err := p.create(newVMRef)
				if err != nil {
					t.Fatal(err)
				}
				r.editWebVM(t, sim.MachineEdit{Description: &tc.description})
				before := r.machine(t, "web-1")
				ref := engine.Ref{Key: vmKey, Name: "web-1", SystemID: vm.SystemID, Finished: true, Guessed: tc.guessed}

				if tc.refused {
					_, changeErr := p.create(ref)
					for verb, err := range map[string]error{"change": changeErr, "delete": p.delete(ref)} {
						if !errors.Is(err, engine.ErrConflict) || !strings.Contains(err.Error(), "cannot "+verb+" VM web-1 ("+vm.SystemID+"): it is marked as made for ") {
							t.Errorf("%s\n%s: want a conflict that says whose it is, got %v", tc.reason, verb, err)
						}
					}
					if after := r.machine(t, "web-1"); after.Description != before.Description || after.Status != before.Status || len(r.sim.Instances()) != 1 {
						t.Errorf("%s\nit was touched: %+v, before %+v", tc.reason, after, before)
					}
					return
				}
				if _, err := p.create(ref); err != nil {
					t.Errorf("%s\nchange: %v", tc.reason, err)
				}
				r.wantOne(t) // and its mark is back
				if err := p.delete(ref); err != nil {
					t.Errorf("%s\ndelete: %v", tc.reason, err)
				}
				r.wantNone(t)
			})
		})
	}
}
