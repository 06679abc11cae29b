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
	other := w.besides("paused-other")
	c := w.readyCluster("c", nil)
	w.machine("c", "w-0", vm(), func(m *infrav1.MaasMachine) { m.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
	if m := w.paused(w.object("w-0")).(*infrav1.MaasMachine); len(m.Finalizers) > 0 || len(w.maas.Instances()) > 0 {
		t.Errorf("finalizers %v, instances %+v", m.Finalizers, w.maas.Instances())
	}
	w.amend(w.object("w-0"), func(o client.Object) { o.SetAnnotations(nil) })
	id := *w.isReady("w-0").Spec.SystemID

	w.pause(true)
	w.machine("c", "w-1", vm(), nil)
	all := []client.Object{w.paused(c), w.paused(w.object("w-0")), w.paused(w.object("w-1"))}
	w.maas.ResetJournal()
	w.edit(id, sim.MachineEdit{StatusName: ptr.To("Broken")})
	w.remove(w.object("w-0"))
	w.remove(c)
	versions := map[client.Object]string{}
	for _, o := range all {
		w.paused(o)
		w.nudge(o)
		versions[o] = o.GetResourceVersion()
	}
	other.life()
	for _, o := range all {
		w.await(o, "is there", func() string { return "" })
		if o.GetResourceVersion() != versions[o] {
			t.Errorf("%T %s was written while it was paused: %+v", o, o.GetName(), o)
		}
	}
	if calls := w.maas.Journal().Calls; len(calls) > 0 {
		t.Errorf("MAAS was asked: %+v", calls)
	}

	w.pause(false)
	w.awaitGone(w.object("w-0"))
	w.isReady("w-1")
	w.removeAll("w-1")
	w.awaitGone(c)
	w.nothingLeft(before)
}

// besides is another world whose life goes on: once the manager has seen to it, it
// would have seen to what came before.
func (w *world) besides(space string) *world {
	w.t.Helper()
	other := newWorld(w.t, space, fastModel())
	other.readyCluster("c", nil)
	return other
}

// life takes a machine through its.
func (w *world) life() {
	w.t.Helper()
	w.machine("c", "w-0", vm(), nil)
	w.isReady("w-0")
	w.removeAll("w-0")
}

func (w *world) pause(on bool) {
	w.t.Helper()
	w.amend(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.space, Name: "c"}}, func(o client.Object) {
		o.(*clusterv1.Cluster).Spec.Paused = ptr.To(on)
	})
}

// paused waits until an object says that it is, as it is now.
func (w *world) paused(o client.Object) client.Object {
	w.t.Helper()
	w.await(o, "paused", func() string {
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
