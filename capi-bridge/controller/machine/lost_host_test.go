package machine_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/engine"
)

// makeReadyHost makes a machine an LXD host of the cluster.
func (w *machineWorld) makeReadyHost(name string) *infrav1.MaasMachine {
	w.t.Helper()
	w.changeCluster(func(c *infrav1.MaasCluster) {
		c.Spec.LXDControlPlaneCluster = ptr.To(true)
		c.Spec.LXDConfig = &infrav1.LXDHostConfig{StorageBackend: "dir"}
	})
	w.addMachine(name, controllertest.MetalMachineSpec(), nil)
	return w.reconcileUntil(name, infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
}

// unregisterHost removes the VM host of a machine, and releases the machine, as
// somebody would by hand.
func (w *machineWorld) unregisterHost(m *infrav1.MaasMachine) {
	w.t.Helper()
	ref := engine.Ref{Key: engine.Key(m.Annotations[ownership.KeyAnnotation]), SystemID: *m.Spec.SystemID}
	ref.Release.Credentials = w.site.Credentials
	if _, err := engine.WaitUntilDone(w.t.Context(), func(ctx context.Context) (engine.Result[engine.Host], error) { return w.site.Hosts.Delete(ctx, ref) }); err != nil {
		w.t.Fatal(err)
	}
}

// reconcileAtRest reconciles some minutes long, in which MAAS is only looked at and, after
// two looks, nothing is written: the first may see what was seen before.
func (w *machineWorld) reconcileAtRest(name string) *infrav1.MaasMachine {
	w.t.Helper()
	w.sim.ResetJournal()
	for n := range 6 {
		time.Sleep(max(w.reconcileOnce(name).RequeueAfter, time.Second))
		if n == 1 {
			w.writes = nil
		}
	}
	w.wantOnlyReads()
	if len(w.writes) > 0 {
		w.t.Errorf("written at rest: %v", w.writes)
	}
	return w.getMachine(name)
}

// TestHostThatIsLostIsNotReady: a machine that was an LXD host is none once it does
// not run, or is gone, whatever VM hosts MAAS lists.
func TestHostThatIsLostIsNotReady(t *testing.T) {
	edit := func(e sim.MachineEdit) func(*machineWorld, *infrav1.MaasMachine) {
		return func(w *machineWorld, m *infrav1.MaasMachine) { w.editMaasMachine(*m.Spec.SystemID, e) }
	}
	cases := map[string]struct {
		why    string
		do     func(*machineWorld, *infrav1.MaasMachine)
		reason string // of MachineDeployed
		says   string
	}{
		"Released":   {"Its VM host is still listed.", edit(sim.MachineEdit{StatusName: ptr.To("Ready")}), infrav1.MachineReleasedReason, "released"},
		"Broken":     {"Somebody works on it.", edit(sim.MachineEdit{StatusName: ptr.To("Broken")}), infrav1.MachineStateUndefinedReason, "Broken"},
		"Off":        {"Its LXD does not run.", edit(sim.MachineEdit{PowerState: ptr.To("off")}), infrav1.MachinePoweredOffReason, "switched off"},
		"Others":     {"The machine belongs to somebody else, and so would the host.", edit(sim.MachineEdit{OwnerData: &map[string]string{"maaslxd-key": "somebody/else"}}), infrav1.ConflictReason, "belongs to somebody else by now"},
		"Unregister": {"Somebody removed the VM host, and then released the machine.", (*machineWorld).unregisterHost, infrav1.MachineReleasedReason, "released"},
		"Removed": {"MAAS has neither machine nor VM host.", func(w *machineWorld, m *infrav1.MaasMachine) {
			w.unregisterHost(m)
			if err := w.sim.DeleteMachine(*m.Spec.SystemID); err != nil {
				w.t.Fatal(err)
			}
		}, infrav1.MachineNotFoundReason, "no longer has"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				m := w.makeReadyHost("cp-1")
				tc.do(w, m)
				w.takeEvents()
				m = w.reconcileAtRest("cp-1")
				w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, tc.reason, tc.says)
				if conditions.IsTrue(m, infrav1.LXDReadyCondition) {
					t.Fatalf("%s It is said to be an LXD host:\n%s", tc.why, conditionSummary(m))
				}
				w.wantCondition(m, infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.LXDFailedReason, tc.says)
				if told := w.takeEvents(); countEvents(told, tc.reason) != 1 || countEvents(told, infrav1.LXDFailedReason) > 0 {
					t.Errorf("told: %q", told)
				}
			})
		})
	}
}

// TestHostThatComesBackIsReady: what was only switched off is a host again.
func TestHostThatComesBackIsReady(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		m := w.makeReadyHost("cp-1")
		w.editMaasMachine(*m.Spec.SystemID, sim.MachineEdit{PowerState: ptr.To("off")})
		w.reconcileUntil("cp-1", infrav1.LXDReadyCondition, infrav1.LXDFailedReason)
		w.editMaasMachine(*m.Spec.SystemID, sim.MachineEdit{PowerState: ptr.To("on")})
		w.sim.ResetJournal()
		m = w.reconcileUntil("cp-1", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
		w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
		w.wantOnlyReads()
	})
}

// vmConditions are those that only a VM has.
var vmConditions = []string{
	infrav1.LXDHostSelectedCondition, infrav1.LXDResourcesAllocatedCondition, infrav1.LXDVMCreatedCondition, infrav1.LXDVMDeployedCondition,
}

// TestVMThatIsGone: of a VM that MAAS no longer has, nothing is said to hold, nor
// that it is being made.
func TestVMThatIsGone(t *testing.T) {
	cases := map[string]struct{ why, condition, reason string }{
		"Running": {"The VM was Deployed.", infrav1.ReadyCondition, infrav1.ReadyReason},
		"Early":   {"A VM that is gone is not made again.", infrav1.ReadyCondition, infrav1.MachineCommissioningReason},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("web", controllertest.VMMachineSpec(), nil)
				w.reconcileUntil("web", tc.condition, tc.reason)
				if err := w.sim.DeleteMachine(w.sim.Instances()[0].MachineID); err != nil {
					t.Fatal(err)
				}
				w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.MachineNotFoundReason)
				m := w.reconcileAtRest("web")
				for _, kind := range vmConditions {
					if c := conditions.Get(m, kind); c == nil || c.Reason != infrav1.MachineNotFoundReason {
						t.Errorf("%s %s is not said to be gone:\n%s", tc.why, kind, conditionSummary(m))
					}
					w.wantCondition(m, kind, metav1.ConditionFalse, infrav1.MachineNotFoundReason, "Delete the Machine")
				}
				w.removeMachine("web")
			})
		})
	}
}
