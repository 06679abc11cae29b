package machine

import (
	"context"

	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
)

// claim writes the engine's key of the machine to the object, before it asks
// the engine for anything.
type claim struct{ *scope }

// ensure adds the finalizer. Once the machine is about to be made, it also
// writes the engine's key and kind of the machine, before it asks the engine
// for anything. A machine of another provider gets them whatever its spec says,
// because that spec cannot change any more. It fails where the object has
// changed since it was read: it may be going by now.
func (s claim) ensure(ctx context.Context) error {
	if s.IsDeleting() {
		return nil
	}
	before := s.MaasMachine.DeepCopy()
	changed := controllerutil.AddFinalizer(s.MaasMachine, infrav1.MachineFinalizer)
	if changed && !s.IsClaimed() {
		annotations.AddAnnotations(s.MaasMachine, map[string]string{ownership.AdoptionAnnotation: ownership.AdoptionNone}) // no provider held the object before
	}
	if s.ownershipErr = s.checkOwnership(ctx); s.canClaim() {
		s.writeAnnotations(s.MaasMachine)
		changed = true
	}
	if _, recorded := s.MaasMachine.Annotations[ownership.AttemptAnnotation]; recorded && !s.RecordsAttempts {
		delete(s.MaasMachine.Annotations, ownership.AttemptAnnotation) // from now on the annotation would be wrong
		changed = true
	}
	if !changed {
		return nil
	}
	return s.Client.Patch(ctx, s.MaasMachine, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// canClaim reports whether the engine is about to be asked for the machine for
// the first time.
func (s claim) canClaim() bool {
	return !s.IsClaimed() && s.refusal == nil && s.ownershipErr == nil && s.provisioning().checkPrerequisites() == nil &&
		(s.resolveSpec() == nil || s.SystemID() != "")
}

// noteOrigin writes down that an object arrived with the claim to a machine. It
// came from another management cluster, from a backup, or from a user who made
// it up. Such an object has no status, because the API server drops the status
// of a new object. Objects that another provider left in this management
// cluster have one. done means that the object was changed.
func (s claim) noteOrigin(ctx context.Context) (done bool, err error) {
	m := s.MaasMachine
	name, value := controller.UnprovenAnnotation, "true"
	if !s.IsClaimed() {
		name, value = ownership.AdoptionAnnotation, ownership.AdoptionArrived
	}
	held := s.IsClaimed() || controllerutil.ContainsFinalizer(m, infrav1.MachineFinalizer)
	if !held || m.Annotations[name] != "" || ownership.HasStatus(m) && !s.HasLateSystemID() {
		return false, nil
	}
	before := m.DeepCopy()
	annotations.AddAnnotations(m, map[string]string{name: value})
	return true, s.Client.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// noteArrival writes down that a paused object came from another management
// cluster. Once it is no longer paused, this cluster owns its machine. If
// somebody else changed the object meanwhile, it is read again before it may be
// unpaused.
func (s claim) noteArrival(ctx context.Context) (ctrl.Result, error) {
	own := s.Mark()
	made, ok := ownership.ParseMark(string(s.EngineKey()))
	if !ok || made.Management == own.Management || s.MaasMachine.Annotations[ownership.ArrivalAnnotation] == own.Management {
		return ctrl.Result{}, nil
	}
	before := s.MaasMachine.DeepCopy()
	annotations.AddAnnotations(s.MaasMachine, map[string]string{ownership.ArrivalAnnotation: own.Management})
	err := s.Client.Patch(ctx, s.MaasMachine, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return ctrl.Result{RequeueAfter: requeue.StaleCacheAfter}, problem.IgnoreConflict(err)
	}
	return ctrl.Result{}, nil
}

// writeAnnotations writes the annotations of a claim.
func (s claim) writeAnnotations(m *infrav1.MaasMachine) {
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[ownership.KeyAnnotation] = string(s.OwnKey())
	m.Annotations[ownership.KindAnnotation] = s.wantedKind()
	if s.RecordsAttempts && s.wantedKind() == ownership.KindVM {
		m.Annotations[ownership.AttemptAnnotation] = ownership.NoAttempt
	}
	if id := ownership.SystemIDOf(m); id != "" {
		m.Annotations[ownership.SystemIDAnnotation] = id
		m.Annotations[ownership.AdoptionAnnotation] = ownership.AdoptionPending
	}
}

// wantedKind returns the kind that the specs ask for.
func (s claim) wantedKind() string {
	switch {
	case s.want.Mode == infrav1.ProvisioningModeLXD:
		return ownership.KindVM
	case s.hosts != nil:
		return ownership.KindHost
	default:
		return ownership.KindMachine
	}
}

// checkOwnership finds out whether the object has a right to the machine that
// it names. The error says that this cannot be found out.
func (s claim) checkOwnership(ctx context.Context) error {
	verdict, err := ownership.Check{Record: s.Record, Client: s.Client, Sites: s.Sites, Indexed: s.indexed, MaasCluster: s.maasCluster}.Run(ctx)
	s.rival, s.refusal = verdict.Rival, verdict.Refusal
	return err
}
