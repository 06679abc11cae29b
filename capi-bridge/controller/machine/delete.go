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

// deletion takes a machine back, and lets its object go.
type deletion struct{ *scope }

// reconcile takes the machine one step back, and lets the object go once
// nothing of it is left. It returns when to come back.
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
			seen.message = "" // it is about what ends now
		}
		s.setTrue(infrav1.DeletingCondition, reason, seen.stageMessage(sentence))
		return requeue.WithJitter(seen.requeueAfter)
	}
	s.removeFinalizers(seen.leftoverMessage())
	ctrl.LoggerFrom(ctx).Info("nothing of the machine is left in MAAS", "systemID", ownership.SystemIDOf(m))
	return 0
}

// removeFinalizers takes the finalizers off an object for which nothing is left to do.
func (s deletion) removeFinalizers(message string) {
	s.setTrue(infrav1.DeletingCondition, infrav1.DeletionCompletedReason, message)
	s.wakeups.forget(s.ObjectKey())
	controllerutil.RemoveFinalizer(s.MaasMachine, infrav1.MachineFinalizer)
	controllerutil.RemoveFinalizer(s.MaasMachine, infrav1.HostEvacuationFinalizer)
}

// leaveMachineAlone lets an object go whose machine the identity does not allow: it was never
// taken over.
func (s deletion) leaveMachineAlone(ctx context.Context, limited takeOverDeniedError) time.Duration {
	s.removeFinalizers("")
	s.events = append(s.events, outbox.Event{
		Type: corev1.EventTypeWarning, Reason: infrav1.ConflictReason, Action: infrav1.DeletingCondition,
		Note: limited.Message + "; it is left as it is",
	})
	ctrl.LoggerFrom(ctx).Info("the machine was never taken over, and is left as it is", "systemID", s.SystemID(), "reason", limited.Message)
	return 0
}

// leftoverMessage says what nobody will name any more once the object is gone; empty:
// nothing is left.
func (seen observation) leftoverMessage() string {
	if seen.leftover == "" {
		return ""
	}
	return "it is gone from MAAS, but a compose of it was refused or cut off, and " + seen.leftover + ": look there, and delete it if nobody needs it"
}

// releaseUntouchedObject lets an object go of which nothing is in MAAS. Where it has
// changed since it was read, it is read again.
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

// removeMachine takes the machine one step back.
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

// prepareRemoval sees to all that comes before the machine is touched, and says how the engine
// is to find it.
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
			Message: "its address is being taken out of the DNS record of the cluster's API",
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

// maasClusterGoneError is why a machine cannot be given back.
func (s deletion) maasClusterGoneError() error {
	return &problem.BlockedError{
		Reason:  infrav1.DeletionBlockedReason,
		Message: fmt.Sprintf("its Cluster or MaasCluster is gone, which says in which MAAS machine %s is", s.SystemID()),
		Hint: "Make them again, or see in MAAS that the machine is released, or the VM deleted, and then take the finalizer " +
			infrav1.MachineFinalizer + " off the MaasMachine.",
	}
}

// resolveRemovalRef is the machine as the engine is to find it for its removal. One that
// somebody else has by now is not ours to touch: then what carries our key is
// looked for, and there may be nothing. MAAS takes the mark of bare metal off with
// its release, so that one goes on with what it began with; the engine itself
// releases no other's.
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
		ctrl.LoggerFrom(ctx).Info("the machine is somebody else's by now, and is left alone", "systemID", ref.SystemID)
		s.events = append(s.events, outbox.Event{
			Type: corev1.EventTypeWarning, Reason: infrav1.ConflictReason, Action: infrav1.DeletingCondition,
			Note: fmt.Sprintf("machine %s (%s) is somebody else's by now, and is left as it is", seen.Hostname, ref.SystemID),
		})
		s.MaasMachine.Annotations[ownership.SystemIDAnnotation], ref.SystemID = ownership.NoSystemID, ""
	case seen.MarkedBy() == s.OwnKey():
		s.RecordOwnership()
		ref = s.engineRef()
	}
	return ref, nil
}

// claimForRemoval claims a machine of another provider whose object we see for the
// first time while it is being deleted. What its spec contradicts itself in matters
// to nobody any more: what it is made of is known all the same.
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

// deletingReason is the reason of Deleting for a machine that is on its way back.
func (s deletion) deletingReason(seen observation) (reason, message string) {
	name := fmt.Sprintf("machine %s (%s)", seen.Hostname, seen.SystemID)
	switch phase := seen.Status.Phase(); {
	case seen.SystemID == "":
		return infrav1.ReleasingReason, "MAAS is asked what is left of it"
	case s.Kind() == ownership.KindVM && (phase == engine.PhaseReady || phase == engine.PhaseFailed):
		return infrav1.DeletingVMReason, "the VM of " + name + " is being deleted"
	}
	return infrav1.ReleasingReason, "MAAS is to release " + name
}

// reportError says why nothing goes on, and what leads out of it.
func (s deletion) reportError(seen observation, err error) time.Duration {
	p := problem.FromError(err)
	var missing *controller.CredentialsError
	if errors.As(err, &missing) {
		p = p.WithHint(fmt.Sprintf("Until then nobody can release machine %s. If it never is, see to it in MAAS yourself, and then take the finalizer %s off.",
			s.SystemID(), infrav1.MachineFinalizer))
	}
	reason := infrav1.DeletionBlockedReason
	if p.Transient {
		reason, _ = s.deletingReason(seen)
	}
	s.setTrue(infrav1.DeletingCondition, reason, p.Message)
	return requeue.WithJitter(p.RetryAfter)
}

// ignoreGoneObject is ignoreGone for an object whose status may fail to be written in another
// way, too: then the object is looked for. What is to be told of it is told now or never.
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
