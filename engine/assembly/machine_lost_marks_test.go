package assembly_test

import (
	"errors"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// loseMarks deletes the owner data of a machine, as somebody with the command line of MAAS might.
func (r testMAAS) loseMarks(t *testing.T, hostname string) {
	t.Helper()
	r.edit(t, hostname, sim.MachineEdit{OwnerData: new(map[string]string{})})
	if left := r.machine(t, hostname).OwnerData; len(left) != 0 {
		t.Fatalf("%s still has %v", hostname, left)
	}
}

// makeInstalledMachine deploys a machine, and returns what a front end knows of it.
func (p process) makeInstalledMachine(t *testing.T) engine.Ref {
	t.Helper()
	made, err := p.applyMachine(newMachineRef, engine.MachineSpec{Machine: "small", Deploy: noble()})
	if err != nil {
		t.Fatal(err)
	}
	return engine.Ref{Key: metalKey, SystemID: made.SystemID, Finished: true}
}

// TestMachineLostMarks deletes the owner data of a machine by hand. Its allocation still tells
// whose it is.
func TestMachineLostMarks(t *testing.T) {
	cases := map[string]struct {
		reason   string
		do       func(*testing.T, testMAAS, process, engine.Ref)
		released bool
	}{
		"Observed": {reason: "It was allocated for this key.", do: func(t *testing.T, _ testMAAS, p process, ref engine.Ref) {
			if seen, err := p.engine.Machines.Observe(p.ctx, ref); err != nil || !seen.Ours {
				t.Errorf("want it to be ours, got %+v, %v", seen, err)
			}
		}},
		"ObservedByAnother": {reason: "It was not allocated for the other key.", do: func(t *testing.T, _ testMAAS, p process, ref engine.Ref) {
			ref.Key = "default/db-2"
			if seen, err := p.engine.Machines.Observe(p.ctx, ref); err != nil || seen.Ours {
				t.Errorf("want it to be another's, got %+v, %v", seen, err)
			}
		}},
		"Deleted": {reason: "Its owner destroys it.", released: true, do: func(t *testing.T, _ testMAAS, p process, ref engine.Ref) {
			if err := p.release(ref); err != nil {
				t.Error(err)
			}
		}},
		"DeletedAsAdopted": {reason: "The caller says that somebody else installed it.", do: func(t *testing.T, _ testMAAS, p process, ref engine.Ref) {
			ref.Release.Adopted = true
			if err := p.release(ref); err != nil {
				t.Error(err)
			}
		}},
		"DeletedByAnother": {reason: "Another machine had the name before.", do: func(t *testing.T, r testMAAS, p process, ref engine.Ref) {
			ref.SystemID = r.machine(t, "pooled").SystemID
			if err := p.release(ref); err != nil {
				t.Error(err)
			}
		}},
		"CreatedAgain": {reason: "A state that lost it must import it: nothing tells how far it was made.", do: func(t *testing.T, r testMAAS, _ process, _ engine.Ref) {
			q := r.start(t, ledger.NewMemory(nil), 0, breakage{})
			if _, err := q.applyMachine(newMachineRef, engine.MachineSpec{Machine: "small", Deploy: noble()}); !errors.Is(err, engine.ErrConflict) {
				t.Errorf("want a conflict, got %v", err)
			}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inMetal(t, func(t *testing.T, r testMAAS, p process) {
				ref := p.makeInstalledMachine(t)
				r.loseMarks(t, "small")
				tc.do(t, r, p, ref)
				time.Sleep(time.Hour) // a release takes its time
				want := "Deployed"
				if tc.released {
					want = "Ready"
				}
				if got := r.machine(t, "small").StatusName; got != want {
					t.Errorf("%s\nit is %s, want %s", tc.reason, got, want)
				}
				if got := r.machine(t, "pooled").StatusName; got != "Ready" {
					t.Errorf("%s\nanother machine is %s", tc.reason, got)
				}
			})
		})
	}
}

// TestAdoptedMachineLostMarks: nothing tells any more whose it is, and it was never allocated for
// the key. So it stays as it is.
func TestAdoptedMachineLostMarks(t *testing.T) {
	inMetal(t, func(t *testing.T, r testMAAS, p process) {
		made, err := p.applyMachine(newMachineRef, engine.MachineSpec{Machine: "busy", Adopt: true})
		if err != nil {
			t.Fatal(err)
		}
		r.loseMarks(t, "busy")
		ref := engine.Ref{Key: metalKey, SystemID: made.SystemID, Finished: true}
		if seen, err := p.engine.Machines.Observe(p.ctx, ref); err != nil || seen.Ours {
			t.Errorf("want it to be nobody's, got %+v, %v", seen, err)
		}
		if err := p.release(ref); err != nil {
			t.Error(err)
		}
		if got := r.machine(t, "busy").StatusName; got != "Deployed" {
			t.Errorf("it is %s, want Deployed", got)
		}
	})
}
