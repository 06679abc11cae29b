package machine_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestMachinesOfAnotherMAAS: the credentials lead to another MAAS than the cluster was
// made in. Its machines are not there, and yet none is lost, made anew or let go.
func TestMachinesOfAnotherMAAS(t *testing.T) {
	t.Parallel()
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		w.reconcileUntilReady("web")
		mark, err := w.site.RegionMarks.MakeRegionMark(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		region := func(name, value string) {
			w.changeCluster(func(c *infrav1.MaasCluster) {
				if c.Annotations == nil {
					c.Annotations = map[string]string{}
				}
				c.Annotations[name] = value
			})
		}
		region(controller.RegionAnnotation, "another")
		w.reconcileOnce("web")
		m := w.getMachine("web")
		if w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason); m.Status.FailureReason != nil {
			t.Errorf("the machine is said to have failed: %s", *m.Status.FailureReason)
		}
		w.markDeleted("web")
		for range 3 {
			w.reconcileOnce("web")
			time.Sleep(time.Minute)
		}
		w.wantCondition(w.getMachine("web"), infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, "another MAAS", infrav1.AcceptMAASAnnotation+"="+mark)
		if n := len(w.sim.Instances()); n != 1 {
			t.Errorf("there are %d VMs, want the one", n)
		}
		region(infrav1.AcceptMAASAnnotation, mark)
		w.reconcileUntilGone("web")
		if n := len(w.sim.Instances()); n != 0 {
			t.Errorf("%d VMs are left", n)
		}
	})
}
