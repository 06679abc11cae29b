package machine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
)

// countEvents is how many events have a reason.
func countEvents(told []string, reason string) int {
	n := 0
	for _, event := range told {
		if strings.SplitN(event, " ", 3)[1] == reason {
			n++
		}
	}
	return n
}

// TestEventsAreSentences: what is told of machines from their objects to the end
// is what a person wants to know.
func TestEventsAreSentences(t *testing.T) {
	for name, spec := range map[string]infrav1.MaasMachineSpec{"VM": controllertest.VMMachineSpec(), "BareMetal": controllertest.MetalMachineSpec()} {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("web", spec, nil)
				m := w.reconcileUntilReady("web")
				id := *m.Spec.SystemID
				w.removeMachine("web")
				told := w.takeEvents()
				controllertest.WantSentences(t, told)
				for _, reason := range []string{infrav1.MachineDeployedReason, infrav1.DeletionCompletedReason} {
					if n := countEvents(told, reason); n != 1 {
						t.Errorf("%s is told %d times: %q", reason, n, told)
					}
				}
				if !slices.ContainsFunc(told, func(e string) bool {
					return strings.Contains(e, infrav1.ReleasingReason+" ") && strings.Contains(e, "("+id+")")
				}) {
					t.Errorf("that it is being released is not told: %q", told)
				}
			})
		})
	}
}

// TestEventsComeOnce: what could not be written down, or only in part, is told
// once all the same.
func TestEventsComeOnce(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.flakyWrites = 1
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		failures := 0
		turn := func() {
			if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: fleetKeyOf("web")}); err != nil {
				failures++
			}
			time.Sleep(time.Second)
		}
		for begun := time.Now(); !conditions.IsTrue(w.getMachine("web"), infrav1.ReadyCondition); turn() {
			if time.Since(begun) > time.Hour {
				t.Fatalf("never ready: %s", conditionSummary(w.getMachine("web")))
			}
		}
		w.markDeleted("web")
		for begun := time.Now(); !w.isGone("web"); turn() {
			if time.Since(begun) > time.Hour {
				t.Fatalf("never gone: %s", conditionSummary(w.getMachine("web")))
			}
		}
		told := w.takeEvents()
		controllertest.WantSentences(t, told)
		for _, reason := range []string{infrav1.LXDVMCreatedReason, infrav1.MachineDeployedReason, infrav1.DeletionCompletedReason} {
			if n := countEvents(told, reason); n != 1 {
				t.Errorf("%s is told %d times: %q", reason, n, told)
			}
		}
		if failures < 5 {
			t.Errorf("only %d reconciles failed", failures)
		}
	})
}

// TestFirstLookAtAMachineThatIsOff: a machine that is switched off before it was
// ever looked at as Deployed is not said to run.
func TestFirstLookAtAMachineThatIsOff(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("web", controllertest.VMMachineSpec(), func(m *clusterv1.Machine, _ *infrav1.MaasMachine) { m.Spec.FailureDomain = "az1" })
		m := w.reconcileUntil("web", infrav1.MachineDeployedCondition, infrav1.MachineDeployingReason)
		id := m.Annotations[ownership.SystemIDAnnotation]
		for w.maasMachine(id).StatusName != "Deploying" {
			w.reconcileOnce("web")
			time.Sleep(time.Second)
		}
		for w.maasMachine(id).StatusName != "Deployed" {
			time.Sleep(time.Second)
		}
		w.editMaasMachine(id, sim.MachineEdit{PowerState: ptr.To("off")})
		w.takeEvents()
		for !ptr.Deref(w.getMachine("web").Status.Initialization.Provisioned, false) {
			w.reconcileOnce("web")
			time.Sleep(time.Second)
			if c := conditions.Get(w.getMachine("web"), infrav1.MachineDeployedCondition); c.Status == metav1.ConditionTrue {
				t.Fatalf("it is said to run: %s", conditionSummary(w.getMachine("web")))
			}
		}
		m = w.getMachine("web")
		w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.MachinePoweredOffReason, id, "Switch it on")
		w.wantCondition(m, infrav1.LXDVMDeployedCondition, metav1.ConditionFalse, infrav1.MachinePoweredOffReason)
		if told := w.takeEvents(); countEvents(told, infrav1.MachineDeployedReason) > 0 || countEvents(told, infrav1.MachinePoweredOffReason) != 1 {
			t.Errorf("told: %q", told)
		}
		w.editMaasMachine(id, sim.MachineEdit{PowerState: ptr.To("on")})
		w.reconcileUntilReady("web")
	})
}
