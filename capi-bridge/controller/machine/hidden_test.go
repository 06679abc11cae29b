package machine_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestHiddenMachines: the API key in the Secret becomes that of a user who is no administrator.
// MAAS hides the machines from this user. None is taken for gone, made anew or let go.
func TestHiddenMachines(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]infrav1.MaasMachineSpec{"VM": controllertest.VMMachineSpec(), "Metal": controllertest.MetalMachineSpec()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("web", spec, nil)
				before := w.reconcileUntilReady("web")
				w.apiKey = sim.DefaultUserKey
				w.restartManager()
				w.sim.ResetJournal()
				for range 3 {
					w.reconcileOnce("web")
					time.Sleep(time.Minute)
				}
				if !slices.ContainsFunc(w.sim.Journal().Calls, func(c sim.Call) bool { return c.Route == "GET users/ whoami" }) {
					t.Error("no reconcile has seen that the machine is hidden")
				}
				m := w.getMachine("web")
				w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
				if m.Status.FailureReason != nil || !slices.Equal(m.Finalizers, before.Finalizers) {
					t.Errorf("failure %v, finalizers %v, want %v", m.Status.FailureReason, m.Finalizers, before.Finalizers)
				}
				w.markDeleted("web")
				for range 3 {
					w.reconcileOnce("web")
					time.Sleep(time.Minute)
				}
				w.wantCondition(w.getMachine("web"), infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, "no administrator", "Give the identity the API key")
				w.apiKey = ""
				w.restartManager()
				w.reconcileUntilGone("web")
				if n := len(w.sim.Instances()); n != 0 {
					t.Errorf("%d VMs are left", n)
				}
			})
		})
	}
}
