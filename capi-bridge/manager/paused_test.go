package manager_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestKubePaused: MAAS is asked for nothing, and nothing is written, while a Cluster
// is paused, or its objects are by an annotation, not even when they are deleted.
// Afterwards it goes on.
func TestKubePaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "paused", fastModel())
	before := len(w.maas.Machines())
	other := w.newReadyWorld("paused-other")
	c := w.createReadyCluster("c", nil)
	w.createMachine("c", "w-0", newVMSpec(), func(m *infrav1.MaasMachine) { m.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
	if m := w.awaitPaused(w.machineObject("w-0")).(*infrav1.MaasMachine); len(m.Finalizers) > 0 || len(w.maas.Instances()) > 0 {
		t.Errorf("finalizers %v, instances %+v", m.Finalizers, w.maas.Instances())
	}
	w.patchObject(w.machineObject("w-0"), func(o client.Object) { o.SetAnnotations(nil) })
	id := *w.awaitReady("w-0").Spec.SystemID

	w.setPaused(true)
	w.createMachine("c", "w-1", newVMSpec(), nil)
	all := []client.Object{w.awaitPaused(c), w.awaitPaused(w.machineObject("w-0")), w.awaitPaused(w.machineObject("w-1"))}
	w.maas.ResetJournal()
	w.editMachine(id, sim.MachineEdit{StatusName: ptr.To("Broken")})
	w.deleteObject(w.machineObject("w-0"))
	w.deleteObject(c)
	versions := map[client.Object]string{}
	for _, o := range all {
		w.awaitPaused(o)
		w.touchObject(o)
		versions[o] = o.GetResourceVersion()
	}
	other.runMachineLifecycle()
	for _, o := range all {
		w.awaitObject(o, "is there", func() string { return "" })
		if o.GetResourceVersion() != versions[o] {
			t.Errorf("%T %s was written while it was paused: %+v", o, o.GetName(), o)
		}
	}
	if calls := w.maas.Journal().Calls; len(calls) > 0 {
		t.Errorf("MAAS was asked: %+v", calls)
	}

	w.setPaused(false)
	w.awaitGone(w.machineObject("w-0"))
	w.awaitReady("w-1")
	w.deleteMachines("w-1")
	w.awaitGone(c)
	w.wantNothingLeft(before)
}

// newReadyWorld is another world whose life goes on: once the manager has seen to it, it
// would have seen to what came before.
func (w *world) newReadyWorld(space string) *world {
	w.t.Helper()
	other := newWorld(w.t, space, fastModel())
	other.createReadyCluster("c", nil)
	return other
}

// runMachineLifecycle takes a machine through its.
func (w *world) runMachineLifecycle() {
	w.t.Helper()
	w.createMachine("c", "w-0", newVMSpec(), nil)
	w.awaitReady("w-0")
	w.deleteMachines("w-0")
}

func (w *world) setPaused(on bool) {
	w.t.Helper()
	w.patchObject(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "c"}}, func(o client.Object) {
		o.(*clusterv1.Cluster).Spec.Paused = ptr.To(on)
	})
}

// awaitPaused waits until an object says that it is, as it is now.
func (w *world) awaitPaused(o client.Object) client.Object {
	w.t.Helper()
	w.awaitObject(o, "paused", func() string {
		var all []metav1.Condition
		switch o := o.(type) {
		case *infrav1.MaasCluster:
			all = o.Status.Conditions
		case *infrav1.MaasMachine:
			all = o.Status.Conditions
		}
		for _, c := range all {
			if c.Type == infrav1.PausedCondition && c.Status == metav1.ConditionTrue && c.ObservedGeneration == o.GetGeneration() {
				return ""
			}
		}
		return "it is not"
	})
	return o
}
