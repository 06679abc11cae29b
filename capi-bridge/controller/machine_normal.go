package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// reconcileNormal takes the machine towards what is wanted, or looks how it is
// once it was there. It returns when to come back.
func (r *MachineReconciler) reconcileNormal(ctx context.Context, s *machineScope) time.Duration {
	s.notDeleting()
	switch {
	case s.ownerUnknown != nil:
		return s.unseen(ctx, s.ownerUnknown)
	case s.refused != nil:
		ctrl.LoggerFrom(ctx).Info("the object has no right to the machine that it names", "systemID", systemIDOf(s.maasMachine), "reason", s.refused.message)
		return s.failing(sighting{}, s.refused)
	}
	if s.provisioned() {
		return r.attend(ctx, s)
	}
	seen, err := r.provision(ctx, s)
	if seen.SystemID != "" {
		s.see(seen)
	}
	if s.reached(seen) {
		err = errors.Join(err, s.provide(seen))
	}
	if err != nil {
		return s.failing(seen, err)
	}
	if s.provisioned() {
		s.judge(seen)
		return r.settle(ctx, s, seen)
	}
	s.progress(seen)
	return jittered(seen.after)
}

// provision takes one step towards the machine.
func (r *MachineReconciler) provision(ctx context.Context, s *machineScope) (sighting, error) {
	if err := s.gates(); err != nil {
		return sighting{}, err
	}
	wrong := s.resolve()
	if wrong != nil && !s.adoptionPending() {
		return sighting{}, wrong
	}
	if wrong == nil && s.want.WaitForStaticIP {
		return sighting{}, &blocked{
			reason: infrav1.WaitingForStaticIPReason, passing: true,
			message: "staticIP has no address yet", hint: "Somebody else is to fill it in.",
		}
	}
	d, err := r.driver(ctx, s)
	if err != nil {
		return sighting{}, err
	}
	if s.adoptionPending() {
		if seen, err := s.meet(ctx, d); err != nil || s.standing(seen) {
			return seen, err
		}
	} else if err := s.checkTakeOver(ctx, d); err != nil {
		return sighting{}, err
	}
	if wrong != nil {
		return sighting{}, wrong
	}
	return r.step(ctx, s, d)
}

// meet looks at a machine that another provider made. One that is not Deployed
// is gone on with by the name that it was given.
func (s *machineScope) meet(ctx context.Context, d driver) (sighting, error) {
	seen, err := d.observe(ctx, s.ref())
	switch {
	case err != nil:
		return sighting{}, err
	case s.foreign(seen):
		return sighting{}, &blocked{
			reason:  infrav1.ConflictReason,
			message: fmt.Sprintf("spec.systemID: machine %s (%s) is somebody else's: it is marked as made for %s", seen.Hostname, seen.SystemID, seen.MarkedBy()),
			hint:    "Name a machine that this cluster may have.",
		}
	}
	if limited := s.takeOverLimited(seen); limited != nil {
		return sighting{}, limited
	}
	if !s.standing(seen) {
		s.maasMachine.Annotations[infrav1.VMNameAnnotation] = seen.Hostname
	}
	return seen, nil
}

// standing tells that a machine which another provider made is there already,
// and only to be taken over.
func (s *machineScope) standing(seen sighting) bool {
	return s.adoptionPending() && seen.Status.Phase() == engine.PhaseDeployed
}

// step takes one step, and sees to it that the machine's next change wakes us.
func (r *MachineReconciler) step(ctx context.Context, s *machineScope, d driver) (sighting, error) {
	stepCtx, returned := r.wakes.step(ctx, s.key())
	defer returned()
	ref := s.ref()
	seen, err := d.step(stepCtx, ref)
	r.wakes.on(stepCtx, s.key(), seen.changed)
	if seen.moved {
		delete(s.maasMachine.Annotations, SystemIDAnnotation)
	}
	if _, misspelled := errors.AsType[*engine.SpecError](err); errors.Is(err, engine.ErrNotFound) && !misspelled && ref.SystemID != "" {
		err = s.lost()
	}
	return seen, err
}

// reached tells that the machine is, or once was, what Cluster API waits for: a
// machine that is to become an LXD host is that once it is Deployed, for the
// control plane that it belongs to could not wait for more.
func (s *machineScope) reached(seen sighting) bool {
	deployed := seen.Status.Phase() == engine.PhaseDeployed
	switch {
	case seen.SystemID == "":
		return false
	case s.standing(seen), seen.finished:
		return true
	case s.kind() == kindHost:
		return deployed && seen.ours
	default:
		return deployed && seen.done
	}
}

// provide writes down what a machine is known by from now on. What is set stays
// as it is.
func (s *machineScope) provide(seen sighting) error {
	m := s.maasMachine
	if m.Spec.ProviderID == nil {
		id, err := infrav1.NewProviderID(s.want.ProviderIDForm, seen.Zone, seen.SystemID)
		if err != nil {
			return &blocked{reason: infrav1.MachineStateUndefinedReason, message: err.Error(), after: retryAfter}
		}
		m.Spec.ProviderID = ptr.To(id.String())
	}
	if m.Spec.SystemID == nil {
		m.Spec.SystemID = ptr.To(seen.SystemID)
	}
	m.Status.Initialization.Provisioned = ptr.To(true)
	return nil
}

// attend looks at a machine that was provisioned once. Nothing is done to it,
// whatever state it is in, but to take it over from another provider, or to make
// its LXD known.
func (r *MachineReconciler) attend(ctx context.Context, s *machineScope) time.Duration {
	if !s.adoptionPending() { // else the identity may not allow it
		s.maasMachine.Status.Initialization.Provisioned = ptr.To(true)
	}
	if err := s.resolve(); err != nil && s.kind() == "" {
		return s.failing(sighting{}, err)
	}
	d, err := r.driver(ctx, s)
	if err != nil {
		return s.unseen(ctx, err)
	}
	seen, err := d.observe(ctx, s.ref())
	if err != nil {
		pause := s.unseen(ctx, err)
		if errors.Is(err, engine.ErrNotFound) {
			r.attachDNS(ctx, s, seen) // what it had is taken out of the record
		}
		return pause
	}
	if limited := s.takeOverLimited(seen); limited != nil {
		return s.failing(sighting{}, limited)
	}
	s.see(seen)
	if err := s.provide(seen); err != nil {
		return s.failing(seen, err)
	}
	s.judge(seen)
	return r.settle(ctx, s, seen)
}

// unseen goes on from a look that failed. That MAAS does not answer says
// nothing of the machine, so what was seen last still stands.
func (s *machineScope) unseen(ctx context.Context, err error) time.Duration {
	if errors.Is(err, engine.ErrNotFound) {
		return s.failing(sighting{}, s.lost())
	}
	p := explain(err)
	ctrl.LoggerFrom(ctx).Info("cannot look at the machine", "reason", p.reason, "error", p.message)
	if s.conditionMissing(infrav1.MachineDeployedCondition) {
		return s.failing(sighting{}, err)
	}
	return jittered(p.after)
}

// lost says that the machine is gone.
func (s *machineScope) lost() error {
	return &blocked{
		reason:  infrav1.MachineNotFoundReason,
		message: fmt.Sprintf("MAAS no longer has machine %s", systemIDOf(s.maasMachine)),
		hint:    "Delete the Machine to have another one made.",
	}
}

// settle does what is left to do for a machine that is provisioned.
func (r *MachineReconciler) settle(ctx context.Context, s *machineScope, seen sighting) time.Duration {
	pause := untilRest(r.now())
	for _, more := range []func(context.Context, *machineScope, sighting) time.Duration{
		r.adopt, r.becomeHost, r.nameProject, r.attachDNS, r.nameNode,
	} {
		if sooner := more(ctx, s, seen); sooner > 0 {
			pause = min(pause, sooner)
		}
	}
	return pause
}
