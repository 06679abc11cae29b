package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// ArrivalAnnotation names the management cluster in which the object was seen while
// it was paused, with the key of another one: clusterctl move brings objects so.
const ArrivalAnnotation = annotationPrefix + "arrived-paused"

// ownership is whom a machine was made for: the management cluster, by the UID of
// its namespace kube-system, and the names of the object. Unlike an object's UID
// they stay when it is restored from a backup, or moved.
type ownership struct{ management, namespace, cluster, name string }

// key is the ownership as the mark of a machine: "<UID>/<namespace>/<cluster>/<name>".
func (o ownership) key() engine.Key {
	return engine.Key(strings.Join([]string{o.management, o.namespace, o.cluster, o.name}, "/"))
}

// readOwnership reads a key of that form. Former versions took the UID of the
// Machine, which says none of it.
func readOwnership(key string) (ownership, bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 4 {
		return ownership{}, false
	}
	return ownership{parts[0], parts[1], parts[2], parts[3]}, true
}

// ownershipOf is that of an object in this management cluster.
func ownershipOf(management string, m *infrav1.MaasMachine) ownership {
	return ownership{management, m.Namespace, m.Labels[clusterv1.ClusterNameLabel], m.Name}
}

func (s *machineScope) ownership() ownership { return ownershipOf(s.management, s.maasMachine) }

// ownKey is the key that the object's machine is marked with.
func (s *machineScope) ownKey() engine.Key { return s.ownership().key() }

// key is by what the engine knows the machine, as it was written down.
func (s *machineScope) engineKey() engine.Key {
	return engine.Key(s.maasMachine.Annotations[KeyAnnotation])
}

// checkOwner finds out whether the object has a right to the machine that it names.
// Otherwise refused says why, and nothing is done for the object: neither to make it
// ready, nor as it goes. The error is that this cannot be told.
func (r *MachineReconciler) checkOwner(ctx context.Context, s *machineScope) (err error) {
	s.refused, s.rival = nil, nil
	if systemIDOf(s.maasMachine) == "" && !s.claimed() {
		return nil
	}
	if s.rival, err = r.rivalOf(ctx, s.maasMachine); err != nil {
		return err
	}
	key := s.engineKey()
	_, isMark := readOwnership(string(key))
	switch {
	case isUnproven(s.maasMachine) && (s.adoptionPending() || !isMark), s.isNamedLate() && !s.deleting():
		s.refused, err = r.unprovenRefused(ctx, s)
	case key == s.ownKey():
		return nil // the machine's own mark says whose it is
	case s.rival != nil:
		s.refused = s.takenBy(s.rival)
	case key == "" && s.namesForeignMachine():
		s.refused, err = r.takeOverRefused(ctx, s)
	case key != "":
		s.refused, err = r.keyRefused(ctx, s)
	}
	return err
}

// takenBy says that another object has the machine.
func (s *machineScope) takenBy(other *infrav1.MaasMachine) *blocked {
	return &blocked{
		reason: infrav1.ConflictReason,
		message: fmt.Sprintf("machine %s is that of the MaasMachine %s: one machine has one object, and this one was made later, or is a copy",
			systemIDOf(s.maasMachine), client.ObjectKeyFromObject(other)),
		hint: "Delete this object: nothing is done to the machine for that.",
	}
}

// takeOverRefused is why a new object may not have the machine that it names.
func (r *MachineReconciler) takeOverRefused(ctx context.Context, s *machineScope) (*blocked, error) {
	if !s.wantsTakeOver() {
		return s.noRight(), nil
	}
	return r.identityRefuses(ctx, s, fmt.Sprintf("machine %s was not made for this object, and the cluster's identity allows no take-over", systemIDOf(s.maasMachine)))
}

// keyRefused is why an object may not have what was made by its key. Former
// versions' keys name nobody: there the object without a rival has it.
func (r *MachineReconciler) keyRefused(ctx context.Context, s *machineScope) (*blocked, error) {
	made, ok := readOwnership(string(s.engineKey()))
	if !ok {
		return nil, nil
	}
	own := s.ownership()
	message := fmt.Sprintf("its machine was made for the MaasMachine %s/%s of cluster %s", made.namespace, made.name, made.cluster)
	if made.management != own.management {
		message += " of another management cluster"
		moved := made
		moved.management = own.management
		switch {
		case moved == own && s.maasMachine.Annotations[ArrivalAnnotation] == own.management:
			return nil, nil
		case moved == own:
			message += "; if that cluster no longer has it, pause the Cluster for a moment"
			return r.identityRefuses(ctx, s, message)
		}
	}
	return r.identityRefuses(ctx, s, message+", of which this object is a copy")
}

// identityRefuses refuses, unless the identity of the cluster allows to take over.
func (r *MachineReconciler) identityRefuses(ctx context.Context, s *machineScope, message string) (*blocked, error) {
	if s.maasCluster == nil {
		return nil, nil // its deletion is blocked, which says so
	}
	site, err := r.Sites.Site(ctx, s.maasCluster)
	if err != nil || site.AllowTakeOver {
		return nil, err
	}
	return &blocked{
		reason: infrav1.ConflictReason, message: message,
		hint: "Delete this object: nothing is done to the machine for that. Or let the administrator allow it, by allowTakeOver of the MaasClusterIdentity, or the manager's --allow-take-over.",
	}, nil
}

// noteArrival writes down that a paused object came from another management
// cluster: once it is no longer paused, its machine is this one's. An object that
// somebody else changed meanwhile is looked at again, before it may be unpaused.
func (r *MachineReconciler) noteArrival(ctx context.Context, s *machineScope) (ctrl.Result, error) {
	own := s.ownership()
	made, ok := readOwnership(string(s.engineKey()))
	if !ok || made.management == own.management || s.maasMachine.Annotations[ArrivalAnnotation] == own.management {
		return ctrl.Result{}, nil
	}
	before := s.maasMachine.DeepCopy()
	annotate(s.maasMachine, ArrivalAnnotation, own.management)
	err := r.Client.Patch(ctx, s.maasMachine, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return ctrl.Result{RequeueAfter: rereadAfter}, ignoreConflict(err)
	}
	return ctrl.Result{}, nil
}

// adopt marks what runs as the object's: what another provider, another management
// cluster or a former version made. From then on it is ours to release, and ours
// alone.
func (r *MachineReconciler) adopt(ctx context.Context, s *machineScope, seen sighting) time.Duration {
	marked, own := seen.MarkedBy(), s.ownKey()
	if marked == own {
		delete(s.maasMachine.Annotations, UnprovenAnnotation)
	}
	settled := s.engineKey() == own && !s.adoptionPending() && (marked == own || s.kind() != kindVM)
	if settled || seen.Status.Phase() != engine.PhaseDeployed || s.foreign(seen) {
		return 0
	}
	if limited := s.takeOverLimited(seen); limited != nil {
		return s.failing(sighting{}, limited)
	}
	if marked == "" && s.kind() != kindVM {
		if pause, done := r.adoptUnmarked(ctx, s, seen); !done {
			return pause
		}
	} else if err := s.site.Marks.Remark(ctx, seen.SystemID, marked, own); err != nil {
		p := explain(err)
		ctrl.LoggerFrom(ctx).Info("cannot mark the machine as this object's", "systemID", seen.SystemID, "reason", p.reason, "error", p.message)
		return jittered(p.after)
	}
	s.becomeOwner()
	ctrl.LoggerFrom(ctx).Info("took the machine over", "systemID", seen.SystemID, "from", string(marked))
	return 0
}

// becomeOwner writes down that the machine is marked as the object's. A VM keeps
// the name that it was made by.
func (s *machineScope) becomeOwner() {
	all := s.maasMachine.Annotations
	if s.kind() == kindVM && s.engineKey() != s.ownKey() {
		all[infrav1.VMNameAnnotation] = s.vmName()
	}
	all[KeyAnnotation] = string(s.ownKey())
	if s.adoptionPending() {
		all[InheritedAnnotation] = inheritanceTaken
	}
	delete(all, ArrivalAnnotation)
	delete(all, UnprovenAnnotation)
}

// adoptUnmarked takes over bare metal that another provider deployed; done tells
// that it says so itself.
func (r *MachineReconciler) adoptUnmarked(ctx context.Context, s *machineScope, seen sighting) (pause time.Duration, done bool) {
	res, err := s.site.Machines.Reconcile(ctx, engine.Ref{Key: s.ownKey(), SystemID: seen.SystemID}, s.inheritance())
	if err != nil {
		p := explain(err)
		ctrl.LoggerFrom(ctx).Info("cannot take the machine over", "systemID", seen.SystemID, "reason", p.reason, "error", p.message)
		return jittered(p.after), false
	}
	return res.After, res.Done
}

// systemIDIndex is the field of MaasMachines by which those of a machine are found.
const systemIDIndex = "systemID"

// indexSystemID is what a MaasMachine is found by: the machine that it names.
func indexSystemID(o client.Object) []string {
	m, ok := o.(*infrav1.MaasMachine)
	if !ok {
		return nil
	}
	if id := systemIDOf(m); id != "" {
		return []string{id}
	}
	return nil
}

// rivalOf is another object, of any namespace, that names the same machine and has
// the better right to it; nil: there is none.
func (r *MachineReconciler) rivalOf(ctx context.Context, m *infrav1.MaasMachine) (*infrav1.MaasMachine, error) {
	id := systemIDOf(m)
	if id == "" {
		return nil, nil
	}
	var list infrav1.MaasMachineList
	var options []client.ListOption
	if r.indexed {
		options = append(options, client.MatchingFields{systemIDIndex: id})
	}
	if err := r.Client.List(ctx, &list, options...); err != nil {
		return nil, fmt.Errorf("cannot look for other MaasMachines of machine %s: %w", id, err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		same := other.Namespace == m.Namespace && other.Name == m.Name
		if !same && systemIDOf(other) == id && r.hasBetterRight(other, m) {
			return other, nil
		}
	}
	return nil, nil
}

// hasBetterRight tells which of two objects has a machine that both name: the one
// that it was made for, by its key, else the older one.
func (r *MachineReconciler) hasBetterRight(a, b *infrav1.MaasMachine) bool {
	if x, y := r.claimRank(a), r.claimRank(b); x != y {
		return x < y
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return client.ObjectKeyFromObject(a).String() < client.ObjectKeyFromObject(b).String()
}

// claimRank is how good an object's claim is to its machine, the best first. A key of
// this management cluster counts for nothing that only came with the object.
func (r *MachineReconciler) claimRank(m *infrav1.MaasMachine) int {
	key := m.Annotations[KeyAnnotation]
	owner := metav1.GetControllerOf(m)
	made, _ := readOwnership(key)
	switch {
	case isUnproven(m) && (made.management == "" || made.management == r.ManagementCluster):
		return 3
	case key == string(ownershipOf(r.ManagementCluster, m).key()):
		return 0
	case key != "" && owner != nil && key == string(owner.UID): // as former versions wrote it
		return 1
	case key != "":
		return 2
	}
	return 3
}
