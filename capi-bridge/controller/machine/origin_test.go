package machine_test

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
)

// forgedKey is the key that the manager would note in the neighbour's object.
const forgedKey = fleetManagement + "/neighbour/neighbour/m"

// forgeryCases are what a user can write into a new object, so that it seems to have a
// machine.
var forgeryCases = map[string]struct {
	reason    string
	finalizer bool
	marks     map[string]string // all but kind and system-id, which each with a key has
	late      bool              // the ids come once the object was seen
	away      bool              // MAAS cannot be reached at the first looks
}{
	"Finalizer":       {reason: "Objects of another provider have the finalizer, too.", finalizer: true},
	"IDsLater":        {reason: "The object had the finalizer when it was first seen.", finalizer: true, late: true},
	"NewIDsLater":     {reason: "The manager makes a machine for it already.", late: true},
	"OwnKey":          {reason: "The manager's own objects have their key.", finalizer: true, marks: map[string]string{ownership.KeyAnnotation: forgedKey, ownership.AdoptionAnnotation: "taken"}},
	"MAASIsAway":      {reason: "The object has conditions before its machine is seen.", marks: map[string]string{ownership.KeyAnnotation: forgedKey}, away: true},
	"FormerKey":       {reason: "The keys of former versions name no object.", marks: map[string]string{ownership.KeyAnnotation: "uid", ownership.AdoptionAnnotation: "none"}},
	"AdoptionPending": {reason: "The annotations claim that the object has the machine.", marks: map[string]string{ownership.KeyAnnotation: forgedKey, ownership.AdoptionAnnotation: "pending"}},
	"PendingKeyless":  {reason: "The annotation claims the machine without a key.", finalizer: true, marks: map[string]string{ownership.AdoptionAnnotation: "pending"}},
}

// TestForgedObjectsOwnNothing: whoever can make paused objects can make them up with all
// that the manager notes. A machine without a mark is not theirs for that: nothing is
// done to it, neither while the object is there nor when it goes.
func TestForgedObjectsOwnNothing(t *testing.T) {
	t.Parallel()
	victims := map[string]struct {
		kind string
		make func(*machineWorld) (string, infrav1.MaasMachineSpec)
	}{
		"VM": {"vm", (*machineWorld).makeIncumbentVM},
		"Metal": {"machine", func(w *machineWorld) (string, infrav1.MaasMachineSpec) {
			return w.deployAsIncumbent("metal").SystemID, controllertest.MetalMachineSpec()
		}},
	}
	for name, tc := range forgeryCases {
		for what, victim := range victims {
			for _, paused := range []string{"Object", "Cluster", "Nothing"} {
				t.Run(name+"/"+what+"/"+paused+"Paused", func(t *testing.T) {
					t.Parallel()
					runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
						id, spec := victim.make(w)
						w.sim.ResetJournal()
						name := func(m *infrav1.MaasMachine) {
							m.Spec.SystemID, m.Spec.ProviderID = ptr.To(id), ptr.To("maas:///az1/"+id)
						}
						w.addNeighbour(func(m *infrav1.MaasMachine) {
							m.Spec, m.Annotations = spec, map[string]string{}
							for key, value := range tc.marks {
								m.Annotations[key] = value
							}
							if m.Annotations[ownership.KeyAnnotation] != "" {
								m.Annotations[ownership.KindAnnotation], m.Annotations[ownership.SystemIDAnnotation] = victim.kind, id
							}
							if tc.finalizer {
								m.Finalizers = []string{infrav1.MachineFinalizer}
							}
							if !tc.late {
								name(m)
							}
						})
						if paused != "Nothing" {
							w.setNeighbourPaused(paused, true)
							w.reconcileNeighbour()
							w.setNeighbourPaused(paused, false)
						}
						if tc.away {
							w.siteErr = errors.New("MAAS is away")
							w.reconcileNeighbour()
							w.reconcileNeighbour()
							w.siteErr = nil
						}
						if tc.late {
							w.reconcileNeighbour()
							w.changeNeighbour(name)
						}
						w.wantCondition(w.reconcileAndDeleteNeighbour(), infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.ConflictReason)
						w.wantOnlyReads()
						w.wantStillDeployed(id, tc.reason)
					})
				})
			}
		}
	}
}

// reconcileNeighbour reconciles the neighbour's object until it is written down, as far as
// it was not.
func (w *machineWorld) reconcileNeighbour() {
	w.t.Helper()
	for range 3 {
		_, _ = w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: neighbourNamespace, Name: "m"}})
		time.Sleep(time.Second)
	}
}

func (w *machineWorld) changeNeighbour(change func(*infrav1.MaasMachine)) {
	w.t.Helper()
	m := &infrav1.MaasMachine{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: neighbourNamespace, Name: "m"}, m); err != nil {
		w.t.Fatal(err)
	}
	change(m)
	if err := w.client.Update(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
}

// setNeighbourPaused pauses the neighbour's object, or its Cluster.
func (w *machineWorld) setNeighbourPaused(what string, on bool) {
	w.t.Helper()
	if what == "Object" {
		w.changeNeighbour(func(m *infrav1.MaasMachine) {
			delete(m.Annotations, clusterv1.PausedAnnotation)
			if on {
				metav1.SetMetaDataAnnotation(&m.ObjectMeta, clusterv1.PausedAnnotation, "")
			}
		})
		return
	}
	cluster := &clusterv1.Cluster{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: neighbourNamespace, Name: neighbourNamespace}, cluster); err != nil {
		w.t.Fatal(err)
	}
	cluster.Spec.Paused = ptr.To(on)
	if err := w.client.Update(w.t.Context(), cluster); err != nil {
		w.t.Fatal(err)
	}
}
