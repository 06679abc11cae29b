package controller_test

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
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
)

// wantSentences checks that no event says twice what another one does, and that
// none only repeats its reason, or a word of MAAS's for a state.
func wantSentences(t *testing.T, told []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, event := range told {
		parts := strings.SplitN(event, " ", 3) // type, reason, note
		note := parts[2]
		if seen[note] {
			t.Errorf("told twice: %s", event)
		}
		seen[note] = true
		last := note[strings.LastIndex(note, ": ")+1:]
		if !strings.Contains(note, " ") || strings.Contains(note, parts[1]) ||
			slices.Contains([]string{"Ready", "Released", "Releasing", "Deployed", "Deploying", "Commissioning"}, strings.TrimSpace(last)) {
			t.Errorf("no sentence: %s", event)
		}
	}
}

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
	for name, spec := range map[string]infrav1.MaasMachineSpec{"VM": vmMachine(), "BareMetal": metalMachine()} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.add("web", spec, nil)
				m := w.ready("web")
				id := *m.Spec.SystemID
				w.remove("web")
				told := w.told()
				wantSentences(t, told)
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
		w.add("web", vmMachine(), nil)
		failures := 0
		turn := func() {
			if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: fleetKeyOf("web")}); err != nil {
				failures++
			}
			time.Sleep(time.Second)
		}
		for begun := time.Now(); !conditions.IsTrue(w.get("web"), infrav1.ReadyCondition); turn() {
			if time.Since(begun) > time.Hour {
				t.Fatalf("never ready: %s", said(w.get("web")))
			}
		}
		w.markDeleted("web")
		for begun := time.Now(); !w.gone("web"); turn() {
			if time.Since(begun) > time.Hour {
				t.Fatalf("never gone: %s", said(w.get("web")))
			}
		}
		told := w.told()
		wantSentences(t, told)
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
		w.add("web", vmMachine(), func(m *clusterv1.Machine, _ *infrav1.MaasMachine) { m.Spec.FailureDomain = "az1" })
		m := w.until("web", infrav1.MachineDeployedCondition, infrav1.MachineDeployingReason)
		id := m.Annotations[controller.SystemIDAnnotation]
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
				t.Fatalf("it is said to run: %s", said(w.get("web")))
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
