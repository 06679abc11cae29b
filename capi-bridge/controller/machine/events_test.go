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

// count is how many events have a reason.
func count(told []string, reason string) int {
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
	for name, spec := range map[string]infrav1.MaasMachineSpec{"VM": controllertest.VMMachine(), "BareMetal": controllertest.MetalMachine()} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.add("web", spec, nil)
				m := w.ready("web")
				id := *m.Spec.SystemID
				w.remove("web")
				told := w.told()
				controllertest.WantSentences(t, told)
				for _, reason := range []string{infrav1.MachineDeployedReason, infrav1.DeletionCompletedReason} {
					if n := count(told, reason); n != 1 {
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
	inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.flaky = 1
		w.add("web", controllertest.VMMachine(), nil)
		failures := 0
		turn := func() {
			if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: fleetKeyOf("web")}); err != nil {
				failures++
			}
			time.Sleep(time.Second)
		}
		for begun := time.Now(); !conditions.IsTrue(w.get("web"), infrav1.ReadyCondition); turn() {
			if time.Since(begun) > time.Hour {
				t.Fatalf("never ready: %s", summaryOf(w.get("web")))
			}
		}
		w.markDeleted("web")
		for begun := time.Now(); !w.gone("web"); turn() {
			if time.Since(begun) > time.Hour {
				t.Fatalf("never gone: %s", summaryOf(w.get("web")))
			}
		}
		told := w.told()
		controllertest.WantSentences(t, told)
		for _, reason := range []string{infrav1.LXDVMCreatedReason, infrav1.MachineDeployedReason, infrav1.DeletionCompletedReason} {
			if n := count(told, reason); n != 1 {
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
	inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.add("web", controllertest.VMMachine(), func(m *clusterv1.Machine, _ *infrav1.MaasMachine) { m.Spec.FailureDomain = "az1" })
		m := w.until("web", infrav1.MachineDeployedCondition, infrav1.MachineDeployingReason)
		id := m.Annotations[ownership.SystemIDAnnotation]
		for w.known(id).StatusName != "Deploying" {
			w.once("web")
			time.Sleep(time.Second)
		}
		for w.known(id).StatusName != "Deployed" {
			time.Sleep(time.Second)
		}
		w.edit(id, sim.MachineEdit{PowerState: ptr.To("off")})
		w.told()
		for !ptr.Deref(w.get("web").Status.Initialization.Provisioned, false) {
			w.once("web")
			time.Sleep(time.Second)
			if c := conditions.Get(w.get("web"), infrav1.MachineDeployedCondition); c.Status == metav1.ConditionTrue {
				t.Fatalf("it is said to run: %s", summaryOf(w.get("web")))
			}
		}
		m = w.get("web")
		w.want(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.MachinePoweredOffReason, id, "Switch it on")
		w.want(m, infrav1.LXDVMDeployedCondition, metav1.ConditionFalse, infrav1.MachinePoweredOffReason)
		if told := w.told(); count(told, infrav1.MachineDeployedReason) > 0 || count(told, infrav1.MachinePoweredOffReason) != 1 {
			t.Errorf("told: %q", told)
		}
		w.edit(id, sim.MachineEdit{PowerState: ptr.To("on")})
		w.ready("web")
	})
}
