package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/outbox"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
)

// deletion gives a machine back to MAAS and releases its object.
type deletion struct{ *scope }

// reconcile takes one step of the machine's removal. Once nothing of the
// machine is left, it removes the finalizer. It returns when to come back.
func (s deletion) reconcile(ctx context.Context) time.Duration {
	m := s.MaasMachine
	if !controllerutil.ContainsFinalizer(m, infrav1.MachineFinalizer) && !controllerutil.ContainsFinalizer(m, infrav1.HostEvacuationFinalizer) {
		s.wakeups.forget(s.ObjectKey())
		return 0
	}
	seen, err := s.removeMachine(ctx)
	if seen.SystemID != "" {
		s.reporter().recordObservation(seen)
	}
	var waiting *problem.BlockedError
	var limited takeOverDeniedError
	switch {
	case errors.As(err, &limited):
		return s.leaveMachineAlone(ctx, limited)
	case errors.As(err, &waiting) && waiting.Transient:
		s.setTrue(infrav1.DeletingCondition, waiting.Reason, waiting.Message)
		return requeue.WithJitter(waiting.RetryAfter)
	case err != nil:
		return s.reportError(seen, err)
	case !seen.done:
		reason, sentence := s.deletingReason(seen)
		if seen.message == seen.StatusMessage && seen.Status.Phase() != engine.PhaseReleasing {
			seen.message = "" // MAAS's message is about the work that ends now
		}
		s.setTrue(infrav1.DeletingCondition, reason, seen.stageMessage(sentence))
		return requeue.WithJitter(seen.requeueAfter)
	}
	s.removeFinalizers(seen.leftoverMessage())
	ctrl.LoggerFrom(ctx).Info("nothing of the machine is left in MAAS", "systemID", ownership.SystemIDOf(m))
	return 0
}

// removeFinalizers removes our finalizers from an object whose machine is gone.
func (s deletion) removeFinalizers(message string) {
	s.setTrue(infrav1.DeletingCondition, infrav1.DeletionCompletedReason, message)
	s.wakeups.forget(s.ObjectKey())
	controllerutil.RemoveFinalizer(s.MaasMachine, infrav1.MachineFinalizer)
	controllerutil.RemoveFinalizer(s.MaasMachine, infrav1.HostEvacuationFinalizer)
}

// leaveMachineAlone releases an object whose machine the identity does not
// allow. Such a machine was never taken over.
func (s deletion) leaveMachineAlone(ctx context.Context, limited takeOverDeniedError) time.Duration {
	s.removeFinalizers("")
	s.events = append(s.events, outbox.Event{
		Type: corev1.EventTypeWarning, Reason: infrav1.ConflictReason, Action: infrav1.DeletingCondition,
		Note: limited.Message + "; the machine stays as it is",
	})
	ctrl.LoggerFrom(ctx).Info("left the machine as it is, because it was never taken over", "systemID", s.SystemID(), "reason", limited.Message)
	return 0
}

// leftoverMessage says what may still exist that no object names any more;
// empty: nothing.
func (seen observation) leftoverMessage() string {
	if seen.leftover == "" {
		return ""
	}
	return "the VM is gone from MAAS, but MAAS refused a compose of it or the reply was lost, and " + seen.leftover + "; look there, and delete it if nobody needs it"
}

// releaseUntouchedObject releases an object that has nothing in MAAS. If the
// object has changed since it was read, it is read again.
func (s deletion) releaseUntouchedObject(ctx context.Context) (ctrl.Result, error) {
	s.wakeups.forget(s.ObjectKey())
	changed := s.MaasMachine.DeepCopy()
	controllerutil.RemoveFinalizer(changed, infrav1.MachineFinalizer)
	controllerutil.RemoveFinalizer(changed, infrav1.HostEvacuationFinalizer)
	lock := client.MergeFromWithOptions(s.MaasMachine, client.MergeFromWithOptimisticLock{})
	err := s.Client.Patch(ctx, changed, lock)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: requeue.StaleCacheAfter}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// removeMachine takes one step of the machine's removal.
func (s deletion) removeMachine(ctx context.Context) (observation, error) {
	if s.maasCluster == nil {
		return observation{}, s.maasClusterGoneError()
	}
	if s.ownershipErr != nil {
		return observation{}, s.ownershipErr
	}
	s.claimForRemoval()
	d, ref, err := s.prepareRemoval(ctx)
	if err != nil {
		return observation{}, err
	}
	stepCtx, returned := s.wakeups.beginStep(ctx, s.ObjectKey())
	defer returned()
	seen, err := d.remove(stepCtx, ref)
	s.wakeups.wakeWhenChanged(stepCtx, s.ObjectKey(), seen.changed)
	return seen, err
}

// prepareRemoval does everything that comes before the machine is touched. It
// returns how the engine finds the machine.
func (s deletion) prepareRemoval(ctx context.Context) (d driver, ref engine.Ref, err error) {
	if d, err = s.findDriver(ctx); err != nil {
		return nil, ref, err
	}
	if err := s.adoption().checkTakeOverAllowed(ctx, d); err != nil {
		return nil, ref, err
	}
	if !dnsAttachment(s).reconcileDetach(ctx) {
		return nil, ref, &problem.BlockedError{
			Reason: infrav1.DetachingDNSReason, Transient: true, RetryAfter: requeue.BusyAfter,
			Message: "the machine's address is being removed from the DNS record of the cluster's API",
		}
	}
	if d, err = lxdHost(s).skipForeignHost(ctx, d); err != nil {
		return nil, ref, err
	}
	if err := s.adoption().adoptBeforeRelease(ctx, d); err != nil {
		return nil, ref, err
	}
	ref, err = s.resolveRemovalRef(ctx, d)
	return d, ref, err
}

// maasClusterGoneError says why a machine cannot be given back.
func (s deletion) maasClusterGoneError() error {
	return &problem.BlockedError{
		Reason:  infrav1.DeletionBlockedReason,
		Message: fmt.Sprintf("the Cluster or MaasCluster is gone, and without it the MAAS of machine %s is unknown", s.SystemID()),
		Hint: "Create both again. Or release the machine, or delete the VM, in MAAS, and then remove the finalizer " +
			infrav1.MachineFinalizer + " from the MaasMachine.",
	}
}

// resolveRemovalRef returns how the engine finds the machine for its removal.
// We do not touch a machine that somebody else has by now. The engine then
// looks for a machine with our key, and there may be none. MAAS removes the
// mark of bare metal when it releases it. A release that has begun therefore
// continues without a mark; the engine itself releases no other's machine.
func (s deletion) resolveRemovalRef(ctx context.Context, d driver) (engine.Ref, error) {
	ref := s.engineRef()
	begun := conditions.GetReason(s.MaasMachine, infrav1.DeletingCondition) == infrav1.ReleasingReason
	if ref.SystemID == "" || begun && s.Kind() != ownership.KindVM {
		return ref, nil
	}
	seen, err := d.observe(ctx, ref)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return ref, nil
	case err != nil:
		return ref, err
	case s.isForeign(seen):
		ctrl.LoggerFrom(ctx).Info("left the machine alone, because it is somebody else's by now", "systemID", ref.SystemID)
		s.events = append(s.events, outbox.Event{
			Type: corev1.EventTypeWarning, Reason: infrav1.ConflictReason, Action: infrav1.DeletingCondition,
			Note: fmt.Sprintf("machine %s (%s) belongs to somebody else by now, and stays as it is", seen.Hostname, ref.SystemID),
		})
		s.MaasMachine.Annotations[ownership.SystemIDAnnotation], ref.SystemID = ownership.NoSystemID, ""
	case seen.MarkedBy() == s.OwnKey():
		s.RecordOwnership()
		ref = s.engineRef()
	}
	return ref, nil
}

// claimForRemoval claims a machine of another provider whose object we first
// see while it is being deleted. Contradictions in its spec do not matter any
// more: its kind is known all the same.
func (s deletion) claimForRemoval() {
	if s.IsClaimed() {
		return
	}
	_ = s.resolveSpec()
	m := s.MaasMachine
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[ownership.KeyAnnotation], m.Annotations[ownership.KindAnnotation] = string(s.OwnKey()), claim(s).wantedKind()
	m.Annotations[ownership.AdoptionAnnotation], m.Annotations[ownership.SystemIDAnnotation] = ownership.AdoptionPending, ownership.SystemIDOf(m)
}

// deletingReason returns the reason of Deleting while the machine is being
// removed.
func (s deletion) deletingReason(seen observation) (reason, message string) {
	name := fmt.Sprintf("machine %s (%s)", seen.Hostname, seen.SystemID)
	switch phase := seen.Status.Phase(); {
	case seen.SystemID == "":
		return infrav1.ReleasingReason, "MAAS is asked what is left of the machine"
	case s.Kind() == ownership.KindVM && (phase == engine.PhaseReady || phase == engine.PhaseFailed):
		return infrav1.DeletingVMReason, "the VM of " + name + " is being deleted"
	}
	return infrav1.ReleasingReason, "MAAS is asked to release " + name
}

// reportError says why the removal does not continue, and a way out.
func (s deletion) reportError(seen observation, err error) time.Duration {
	p := problem.FromError(err)
	var missing *controller.CredentialsError
	if errors.As(err, &missing) {
		p = p.WithHint(fmt.Sprintf("Until then machine %s cannot be released. If that cannot be repaired, release it in MAAS yourself, and then remove the finalizer %s.",
			s.SystemID(), infrav1.MachineFinalizer))
	}
	reason := infrav1.DeletionBlockedReason
	if p.Transient {
		reason, _ = s.deletingReason(seen)
	}
	s.setTrue(infrav1.DeletingCondition, reason, p.Message)
	return requeue.WithJitter(p.RetryAfter)
}

// ignoreGoneObject is problem.IgnoreGone for an object whose status patch may
// fail in another way, too. It then reads the object. If the object is gone,
// its last events are sent now.
func (r *Reconciler) ignoreGoneObject(ctx context.Context, m *infrav1.MaasMachine, err error) error {
	err = problem.IgnoreGone(err)
	if err == nil || len(m.Finalizers) > 0 {
		return err
	}
	if apierrors.IsNotFound(r.APIReader.Get(ctx, client.ObjectKeyFromObject(m), &infrav1.MaasMachine{})) {
		return nil
	}
	return err
}
