package lxd

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// cutOffDelete makes web1 up to a stage. Then it cuts off the delete after the instance is
// gone: MAAS keeps the machine.
func cutOffDelete(t *testing.T, w *composeWorld, book engine.Ledger, stage string) engine.Ref {
	t.Helper()
	want := newSpec()
	if stage == "Ready" {
		want.Deploy = nil
	}
	e, ref := w.newEngineWith(t, book), web1Ref
	begun, err := e.VMs.Reconcile(t.Context(), ref, want)
	ref.SystemID = begun.Object.SystemID
	if err == nil && stage != "New" {
		_, err = engine.WaitUntilDone(t.Context(), e.VMs.Steps(ref, want))
	}
	if err != nil {
		t.Fatal(err)
	}
	w.sim.AddFault(sim.Fault{Method: "DELETE", Path: "machines/*/", Kind: sim.FaultReset, When: sim.FaultBeforeEffect})
	_, err = engine.WaitUntilDone(t.Context(), func(ctx context.Context) (engine.Result[engine.VM], error) {
		res, err := e.VMs.Delete(ctx, ref)
		return res, engine.MarkTerminal(err)
	})
	if err == nil {
		t.Fatal("the delete was not cut off")
	}
	w.sim.ClearFaults()
	if diff := cmp.Diff([]string{"machine web1"}, w.listObjects()); diff != "" {
		t.Fatalf("the cut left (-want +got):\n%s", diff)
	}
	return ref
}

// TestEngineCutOff applies after a delete that was cut off between the instance and the
// machine. Nothing is installed on the missing instance, and one apply makes the VM again.
// The exception is a machine that a state knows as finished.
func TestEngineCutOff(t *testing.T) {
	t.Parallel()
	anew := []string{"instance web1 on h1", "machine web1"}
	cases := map[string]struct {
		reason string
		stage  string
		known  bool // by its system id
		lost   bool // the ledger
		want   []string
		says   string
	}{
		"New":           {"It was never commissioned.", "New", false, false, anew, ""},
		"NewByID":       {"A state names it.", "New", true, false, anew, ""},
		"NewLost":       {"Its mark alone tells.", "New", false, true, anew, ""},
		"NewByIDLost":   {"Another runner continues the create.", "New", true, true, anew, ""},
		"Ready":         {"The delete had begun, as the ledger says.", "Ready", false, false, anew, ""},
		"Deployed":      {"The same, of one that ran.", "Deployed", false, false, anew, ""},
		"ReadyByID":     {"What ran is removed by a plan alone.", "Ready", true, false, []string{"machine web1"}, "no LXD has its instance any more"},
		"DeployedByID":  {"The same, of one that was deployed.", "Deployed", true, false, []string{"machine web1"}, "no LXD has its instance any more"},
		"DeployedLost":  {"Nothing tells that it was to go.", "Deployed", false, true, []string{"machine web1"}, "is finished"},
		"DeployedOther": {"Another runner's state names it.", "Deployed", true, true, []string{"machine web1"}, "no LXD has its instance any more"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, book := newWorld(t, 1), engine.Ledger(ledger.NewMemory(nil))
			ref := cutOffDelete(t, w, book, tc.stage)
			if tc.lost {
				book = ledger.NewMemory(nil)
			}
			if !tc.known {
				ref.SystemID = ""
			}
			w.sim.ResetJournal()
			vm, err := engine.WaitUntilDone(t.Context(), w.newEngineWith(t, book).VMs.Steps(ref, newSpec()))
			if diff := cmp.Diff(tc.want, w.listObjects()); diff != "" {
				t.Errorf("%s\n%v (-want +got):\n%s", tc.reason, err, diff)
			}
			deployed := w.sim.Journal().Count("POST machines/{id}/ deploy")
			if tc.says == "" {
				if err != nil || vm.StatusName != "Deployed" || deployed != 1 {
					t.Errorf("%s\n%s, deployed %d times, %v", tc.reason, vm.StatusName, deployed, err)
				}
				return
			}
			if deployed != 0 || !errors.Is(err, engine.ErrConflict) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s\ndeployed %d times, %v", tc.reason, deployed, err)
			}
		})
	}
}
