package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// UnprovenAnnotation is on a MaasMachine that came with its key: only its annotations
// say that the machine was made for it. It has the machine once that bears its mark. On
// a MaasCluster it says the same of the DNS record, which is the cluster's once it is
// seen to lead to nothing but the cluster's machines.
const UnprovenAnnotation = annotationPrefix + "unproven"

// noteOrigin writes down that an object came from elsewhere with what says that it has
// a machine: another management cluster, a backup, or a user who made it up. Such an
// object has no status: the API server takes none from who makes an object. Objects
// that another provider left in this management cluster have one. done tells that the
// object was changed.
func (r *MachineReconciler) noteOrigin(ctx context.Context, s *machineScope) (done bool, err error) {
	m := s.maasMachine
	name, value := UnprovenAnnotation, "true"
	if !s.claimed() {
		name, value = InheritedAnnotation, inheritanceArrived
	}
	held := s.claimed() || controllerutil.ContainsFinalizer(m, infrav1.MachineFinalizer)
	if !held || m.Annotations[name] != "" || hasStatus(m) && !s.isNamedLate() {
		return false, nil
	}
	before := m.DeepCopy()
	annotate(m, name, value)
	return true, r.Client.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// hasStatus tells whether a controller saw an object while it was not paused.
func hasStatus(m *infrav1.MaasMachine) bool {
	seen := infrav1.MaasMachine{Status: *m.Status.DeepCopy()}
	conditions.Delete(&seen, infrav1.PausedCondition)
	return !equality.Semantic.DeepEqual(seen.Status, infrav1.MaasMachineStatus{})
}

// isUnproven tells whether only an object's annotations say that it has its machine.
func isUnproven(m *infrav1.MaasMachine) bool {
	return m.Annotations[UnprovenAnnotation] != "" || m.Annotations[KeyAnnotation] != "" && !hasStatus(m)
}

// isNamedLate tells that somebody named a machine while the manager makes one for the
// object: what the manager makes, it names by the annotation first. As the object goes,
// what was made by its key goes, and the other machine stays.
func (s *machineScope) isNamedLate() bool {
	return s.claimed() && s.maasMachine.Annotations[SystemIDAnnotation] == "" && systemIDOf(s.maasMachine) != ""
}

// unprovenRefused is why an object may not have a machine whose mark, if it has one,
// does not name the object.
func (r *MachineReconciler) unprovenRefused(ctx context.Context, s *machineScope) (*blocked, error) {
	return r.identityRefuses(ctx, s, "only this object's annotations say that its machine was made for it")
}
