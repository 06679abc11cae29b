package controller

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
	"github.com/maaslxd/maaslxd/engine"
)

// reconcileDelete takes the machine one step back, and lets the object go once
// nothing of it is left. It returns when to come back.
func (r *MachineReconciler) reconcileDelete(ctx context.Context, s *machineScope) time.Duration {
	m := s.maasMachine
	if !controllerutil.ContainsFinalizer(m, infrav1.MachineFinalizer) && !controllerutil.ContainsFinalizer(m, infrav1.HostEvacuationFinalizer) {
		r.wakes.forget(s.key())
		return 0
	}
	seen, err := r.remove(ctx, s)
	if seen.SystemID != "" {
		s.see(seen)
	}
	var waiting *blocked
	var limited limitedError
	switch {
	case errors.As(err, &limited):
		return r.leaveAsItIs(ctx, s, limited)
	case errors.As(err, &waiting) && waiting.passing:
		s.holds(infrav1.DeletingCondition, waiting.reason, waiting.message)
		return jittered(waiting.after)
	case err != nil:
		return s.stuck(seen, err)
	case !seen.done:
		reason, sentence := s.removing(seen)
		if seen.message == seen.StatusMessage && seen.Status.Phase() != engine.PhaseReleasing {
			seen.message = "" // it is about what ends now
		}
		s.holds(infrav1.DeletingCondition, reason, seen.stageMessage(sentence))
		return jittered(seen.after)
	}
	r.letGo(s, seen.leftBehind())
	ctrl.LoggerFrom(ctx).Info("nothing of the machine is left in MAAS", "systemID", systemIDOf(m))
	return 0
}

// letGo takes the finalizers off an object for which nothing is left to do.
func (r *MachineReconciler) letGo(s *machineScope, message string) {
	s.holds(infrav1.DeletingCondition, infrav1.DeletionCompletedReason, message)
	r.wakes.forget(s.key())
	controllerutil.RemoveFinalizer(s.maasMachine, infrav1.MachineFinalizer)
	controllerutil.RemoveFinalizer(s.maasMachine, infrav1.HostEvacuationFinalizer)
}

// leaveAsItIs lets an object go whose machine the identity does not allow: it was never
// taken over.
func (r *MachineReconciler) leaveAsItIs(ctx context.Context, s *machineScope, limited limitedError) time.Duration {
	r.letGo(s, "")
	s.news = append(s.news, news{
		kind: corev1.EventTypeWarning, reason: infrav1.ConflictReason, about: infrav1.DeletingCondition,
		note: limited.message + "; it is left as it is",
	})
	ctrl.LoggerFrom(ctx).Info("the machine was never taken over, and is left as it is", "systemID", systemIDOf(s.maasMachine), "reason", limited.message)
	return 0
}

// leftBehind says what nobody will name any more once the object is gone; empty:
// nothing is left.
func (seen sighting) leftBehind() string {
	if seen.leftover == "" {
		return ""
	}
	return "it is gone from MAAS, but a compose of it was refused or cut off, and " + seen.leftover + ": look there, and delete it if nobody needs it"
}

// untouched tells that the engine was never asked for the machine.
func (s *machineScope) untouched() bool {
	return !s.claimed() && (systemIDOf(s.maasMachine) == "" || s.namesForeignMachine() && !s.wantsTakeOver())
}

// letGoUntouched lets an object go of which nothing is in MAAS. Where it has
// changed since it was read, it is read again.
func (r *MachineReconciler) letGoUntouched(ctx context.Context, s *machineScope) (ctrl.Result, error) {
	r.wakes.forget(s.key())
	changed := s.maasMachine.DeepCopy()
	controllerutil.RemoveFinalizer(changed, infrav1.MachineFinalizer)
	controllerutil.RemoveFinalizer(changed, infrav1.HostEvacuationFinalizer)
	lock := client.MergeFromWithOptions(s.maasMachine, client.MergeFromWithOptimisticLock{})
	err := r.Client.Patch(ctx, changed, lock)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: rereadAfter}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// remove takes one step back.
func (r *MachineReconciler) remove(ctx context.Context, s *machineScope) (sighting, error) {
	if s.maasCluster == nil {
		return sighting{}, &blocked{
			reason:  infrav1.DeletionBlockedReason,
			message: fmt.Sprintf("its Cluster or MaasCluster is gone, which says in which MAAS machine %s is", systemIDOf(s.maasMachine)),
			hint: "Make them again, or see in MAAS that the machine is released, or the VM deleted, and then take the finalizer " +
				infrav1.MachineFinalizer + " off the MaasMachine.",
		}
	}
	if s.ownerUnknown != nil {
		return sighting{}, s.ownerUnknown
	}
	s.claimLate()
	d, err := r.driver(ctx, s)
	if err != nil {
		return sighting{}, err
	}
	if err := s.checkTakeOver(ctx, d); err != nil {
		return sighting{}, err
	}
	if !r.detachDNS(ctx, s) {
		return sighting{}, &blocked{
			reason: infrav1.DetachingDNSReason, passing: true, after: busyAfter,
			message: "its address is being taken out of the DNS record of the cluster's API",
		}
	}
	if d, err = r.disclaim(ctx, s, d); err != nil {
		return sighting{}, err
	}
	if err := r.inheritFirst(ctx, s, d); err != nil {
		return sighting{}, err
	}
	ref, err := r.leavingRef(ctx, s, d)
	if err != nil {
		return sighting{}, err
	}
	stepCtx, returned := r.wakes.step(ctx, s.key())
	defer returned()
	seen, err := d.remove(stepCtx, ref)
	r.wakes.on(stepCtx, s.key(), seen.changed)
	return seen, err
}

// leavingRef is the machine as the engine is to find it for its removal. One that
// somebody else has by now is not ours to touch: then what carries our key is
// looked for, and there may be nothing. MAAS takes the mark of bare metal off with
// its release, so that one goes on with what it began with; the engine itself
// releases no other's.
func (r *MachineReconciler) leavingRef(ctx context.Context, s *machineScope, d driver) (engine.Ref, error) {
	ref := s.ref()
	begun := conditions.GetReason(s.maasMachine, infrav1.DeletingCondition) == infrav1.ReleasingReason
	if ref.SystemID == "" || begun && s.kind() != kindVM {
		return ref, nil
	}
	seen, err := d.observe(ctx, ref)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return ref, nil
	case err != nil:
		return ref, err
	case s.foreign(seen):
		ctrl.LoggerFrom(ctx).Info("the machine is somebody else's by now, and is left alone", "systemID", ref.SystemID)
		s.news = append(s.news, news{
			kind: corev1.EventTypeWarning, reason: infrav1.ConflictReason, about: infrav1.DeletingCondition,
			note: fmt.Sprintf("machine %s (%s) is somebody else's by now, and is left as it is", seen.Hostname, ref.SystemID),
		})
		s.maasMachine.Annotations[SystemIDAnnotation], ref.SystemID = noSystemID, ""
	case seen.MarkedBy() == s.ownKey():
		s.becomeOwner()
		ref = s.ref()
	}
	return ref, nil
}

// claimLate claims a machine of another provider whose object we see for the
// first time while it is being deleted. What its spec contradicts itself in matters
// to nobody any more: what it is made of is known all the same.
func (s *machineScope) claimLate() {
	if s.claimed() {
		return
	}
	_ = s.resolve()
	m := s.maasMachine
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[KeyAnnotation], m.Annotations[KindAnnotation] = string(s.ownKey()), s.wantedKind()
	m.Annotations[InheritedAnnotation], m.Annotations[SystemIDAnnotation] = inheritancePending, systemIDOf(m)
}

// inheritFirst takes a machine over that another provider made and that is to be
// released now: the engine does not release what is not ours.
func (r *MachineReconciler) inheritFirst(ctx context.Context, s *machineScope, d driver) error {
	if !s.adoptionPending() || s.kind() == kindVM {
		return nil
	}
	seen, err := d.observe(ctx, s.ref())
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	switch seen.Status.Phase() {
	case engine.PhaseReady, engine.PhaseCommissioning, engine.PhaseReleasing:
		return nil // it was released
	case engine.PhaseDeployed:
		if pause := r.adopt(ctx, s, seen); s.adoptionPending() {
			return &blocked{reason: infrav1.ReleasingReason, passing: true, after: max(pause, time.Second), message: "it is being taken over from another provider"}
		}
		return nil
	}
	return &blocked{
		reason:  infrav1.DeletionBlockedReason,
		message: fmt.Sprintf("machine %s (%s) is %s, and another provider left it so", seen.Hostname, seen.SystemID, seen.StatusName),
		hint:    "Release it in MAAS; then this goes on.",
		after:   time.Minute,
	}
}

// removing is the reason of Deleting for a machine that is on its way back.
func (s *machineScope) removing(seen sighting) (reason, message string) {
	name := fmt.Sprintf("machine %s (%s)", seen.Hostname, seen.SystemID)
	switch phase := seen.Status.Phase(); {
	case seen.SystemID == "":
		return infrav1.ReleasingReason, "MAAS is asked what is left of it"
	case s.kind() == kindVM && (phase == engine.PhaseReady || phase == engine.PhaseFailed):
		return infrav1.DeletingVMReason, "the VM of " + name + " is being deleted"
	}
	return infrav1.ReleasingReason, "MAAS is to release " + name
}

// stuck says why nothing goes on, and what leads out of it.
func (s *machineScope) stuck(seen sighting, err error) time.Duration {
	p := explain(err)
	var missing *CredentialsError
	if errors.As(err, &missing) {
		p = p.with(fmt.Sprintf("Until then nobody can release machine %s. If it never is, see to it in MAAS yourself, and then take the finalizer %s off.",
			systemIDOf(s.maasMachine), infrav1.MachineFinalizer))
	}
	reason := infrav1.DeletionBlockedReason
	if p.passing {
		reason, _ = s.removing(seen)
	}
	s.holds(infrav1.DeletingCondition, reason, p.message)
	return jittered(p.after)
}
