package machine_test

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestNoVMOfOthersIsDeleted: a VM that is somebody else's by now stays, also
// where the removal was held up before, for whatever reason.
func TestNoVMOfOthersIsDeleted(t *testing.T) {
	cases := map[string]struct {
		reason string // why the removal was held up
		fault  *sim.Fault
	}{
		"AtOnce":      {reason: "Nothing delayed the removal."},
		"MAASWasAway": {reason: "MAAS did not answer at first.", fault: &sim.Fault{Kind: sim.FaultStatus, Status: 503}},
		"MAASRefused": {reason: "MAAS did not take the key at first.", fault: &sim.Fault{Kind: sim.FaultStatus, Status: 401}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("web", controllertest.VMMachineSpec(), nil)
				id := *w.reconcileUntilReady("web").Spec.SystemID
				w.editMaasMachine(id, sim.MachineEdit{Description: ptr.To("maaslxd-0123456789ab somebody/else")})
				w.markDeleted("web")
				if tc.fault != nil {
					fault := w.sim.AddFault(*tc.fault)
					w.reconcileOnce("web")
					w.reconcileOnce("web")
					w.sim.RemoveFault(fault)
				}
				w.takeEvents()
				w.reconcileUntilGone("web")
				if told := strings.Join(w.takeEvents(), "\n"); !strings.Contains(told, id+") belongs to somebody else by now") {
					t.Errorf("nobody is told that it stays: %s", told)
				}
				if got := w.maasMachine(id); got.StatusName != "Deployed" || len(w.sim.Instances()) != 1 {
					t.Errorf("%s Somebody else's VM is %+v, in LXD %v", tc.reason, got, w.sim.Instances())
				}
			})
		})
	}
}

// TestDeletionSaysWhatMayBeLeft: MAAS answers no in the same way before and after LXD
// has made an instance, and shows nothing of it. So the last event of an object names
// the host and the instance, and of one that was made well it says that nothing is left.
func TestDeletionSaysWhatMayBeLeft(t *testing.T) {
	t.Parallel()
	refuse := sim.Fault{Method: "POST", Path: "vm-hosts/*/", Op: "compose", Kind: sim.FaultStatus, Status: 503}
	once := refuse
	once.Nth = 1
	breaks := func(f sim.Fault) func(*machineWorld) error {
		return func(w *machineWorld) error { w.sim.AddFault(f); return nil }
	}
	cases := map[string]struct {
		reason string
		before func(*machineWorld) error
		made   bool
		says   []string
	}{
		"RefusedEarly": {reason: "Nobody can tell it from a late refusal.", before: breaks(refuse), says: []string{"host1", "instance web", "look there"}},
		"RefusedLate": {
			reason: "An instance is left in LXD.", says: []string{"host1", "instance web", "look there"},
			before: func(w *machineWorld) error {
				return w.sim.AddInstance(sim.Instance{Host: "host1", Name: "web", Cores: 2, MemoryMiB: 4096})
			},
		},
		"RefusedOnce": {reason: "LXD admits a name once: it is the VM's, which goes.", before: breaks(once), made: true, says: []string{"nothing of the object is left"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				if err := tc.before(w); err != nil {
					t.Fatal(err)
				}
				spec := controllertest.VMMachineSpec()
				spec.LXDConfig = &infrav1.LXDConfig{VMHost: ptr.To("host1")}
				w.addMachine("web", spec, func(_ *clusterv1.Machine, m *infrav1.MaasMachine) {
					m.Annotations = map[string]string{infrav1.VMNameAnnotation: "web"}
				})
				if tc.made {
					w.reconcileUntilReady("web")
				} else {
					w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.VMCreationFailedReason)
				}
				w.takeEvents()
				w.removeMachine("web")
				last := ""
				for _, e := range w.takeEvents() {
					if strings.Contains(e, infrav1.DeletionCompletedReason) {
						last = e
					}
				}
				for _, words := range tc.says {
					if !strings.Contains(last, words) {
						t.Errorf("%s\nit does not say %q: %s", tc.reason, words, last)
					}
				}
				if warns := strings.HasPrefix(last, "Warning"); warns == tc.made {
					t.Errorf("%s\n%s", tc.reason, last)
				}
			})
		})
	}
}
