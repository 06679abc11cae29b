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
	inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.add("web", controllertest.VMMachine(), nil)
		w.ready("web")
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
		w.once("web")
		m := w.get("web")
		if w.want(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason); m.Status.FailureReason != nil {
			t.Errorf("the machine is said to have failed: %s", *m.Status.FailureReason)
		}
		w.markDeleted("web")
		for range 3 {
			w.once("web")
			time.Sleep(time.Minute)
		}
		w.want(w.get("web"), infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, "another MAAS", infrav1.AcceptMAASAnnotation+"="+mark)
		if n := len(w.sim.Instances()); n != 1 {
			t.Errorf("there are %d VMs, want the one", n)
		}
		region(infrav1.AcceptMAASAnnotation, mark)
		w.untilGone("web")
		if n := len(w.sim.Instances()); n != 0 {
			t.Errorf("%d VMs are left", n)
		}
	})
}
