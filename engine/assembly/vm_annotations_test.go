package assembly_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestAnnotations annotates a VM that is made so and changed, beside what others note on it.
func TestAnnotations(t *testing.T) {
	type data = map[string]string
	annotated := func(removed []string, with data) engine.VMSpec {
		return lockableVM(nil, func(s *engine.VMSpec) { s.Annotations, s.RemovedAnnotations = with, removed })
	}
	locked := func(s engine.VMSpec) engine.VMSpec { s.Locked = new(true); return s }
	ready := func(s engine.VMSpec) engine.VMSpec { s.Deploy = nil; return s }
	cases := map[string]struct {
		reason       string
		made, change engine.VMSpec
		before       data // by an operator, in between
		want         data
		calls        int // of the change
		err          string
	}{
		"Kept":      {"What is as it is wanted costs no call.", annotated(nil, data{"app": "web"}), annotated(nil, data{"app": "web"}), nil, data{"app": "web"}, 0, ""},
		"Changed":   {"New values, new keys and removed ones go in one call.", annotated(nil, data{"app": "web", "old": "x"}), annotated([]string{"old"}, data{"app": "db", "new": "y"}), nil, data{"app": "db", "new": "y"}, 1, ""},
		"Others":    {"What others note stays.", annotated(nil, data{"app": "web"}), annotated([]string{"app"}, nil), data{"app": "web", "theirs": "z"}, data{"theirs": "z"}, 1, ""},
		"PutBack":   {"What somebody changed is put back.", annotated(nil, data{"app": "web"}), annotated(nil, data{"app": "web"}), data{"app": "x"}, data{"app": "web"}, 1, ""},
		"Locked":    {"A lock of ours does not keep them.", locked(annotated(nil, data{"app": "web"})), locked(annotated(nil, data{"app": "db"})), nil, data{"app": "db"}, 1, ""},
		"Gone":      {"What is gone need not be removed.", annotated(nil, data{"app": "web"}), annotated([]string{"app"}, nil), data{}, nil, 0, ""},
		"Reserved":  {"Our marks are ours.", annotated(nil, nil), annotated(nil, data{"maaslxd-key": "x"}), nil, nil, 0, "annotations"},
		"Blank":     {"MAAS fails on it.", annotated(nil, nil), annotated(nil, data{"a b": "x"}), nil, nil, 0, "annotations"},
		"NoDeploy":  {"A Ready machine has none.", annotated(nil, nil), ready(annotated(nil, data{"a": "x"})), nil, nil, 0, "deploy"},
		"Untouched": {"A VM without the wish costs no call.", annotated(nil, nil), annotated(nil, nil), data{"theirs": "z"}, data{"theirs": "z"}, 0, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r testMAAS, p process) {
				vm, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(newVMRef, tc.made))
				if err != nil {
					t.Fatal(err)
				}
				if tc.before != nil {
					r.editWebVM(t, sim.MachineEdit{OwnerData: &tc.before})
				}
				const route = "POST machines/{id}/ set_owner_data"
				before := r.sim.Journal().Count(route)
				_, err = r.start(t, ledger.NewMemory(nil), 0, breakage{}).applyFinished(engine.Ref{Key: newVMRef.Key, SystemID: vm.SystemID}, tc.change)
				if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
					t.Errorf("%s\nwant an error with %q, got %v", tc.reason, tc.err, err)
				}
				m := r.machine(t, "web-1")
				if diff := cmp.Diff(tc.want, m.OwnerData, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s\nowner data (-want +got):\n%s", tc.reason, diff)
				}
				if got := r.sim.Journal().Count(route) - before; got != tc.calls {
					t.Errorf("%s\n%d calls, want %d", tc.reason, got, tc.calls)
				}
				if want := tc.change.Locked != nil; m.Locked != want {
					t.Errorf("%s\nlocked is %v, want %v", tc.reason, m.Locked, want)
				}
			})
		})
	}
}
