package machine

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
)

// reconcileNormal takes the machine one step towards its spec. A machine that
// was provisioned once it only observes. It returns when to come back.
func (s *scope) reconcileNormal(ctx context.Context) time.Duration {
	s.setNotDeleting()
	switch {
	case s.ownershipErr != nil:
		return s.reporter().reportObserveError(ctx, s.ownershipErr)
	case s.refusal != nil:
		ctrl.LoggerFrom(ctx).Info("the object has no right to the machine that it names", "systemID", s.SystemID(), "reason", s.refusal.Message)
		return s.reporter().reportProblem(observation{}, s.refusal)
	}
	if s.IsProvisioned() {
		return s.reconcileProvisioned(ctx)
	}
	seen, err := s.provisioning().advance(ctx)
	if seen.SystemID != "" {
		s.reporter().recordObservation(seen)
	}
	if s.provisioning().isInfrastructureReady(seen) {
		err = errors.Join(err, s.provisioning().setProviderID(seen))
	}
	if err != nil {
		return s.reporter().reportProblem(seen, err)
	}
	if s.IsProvisioned() {
		s.reporter().setHealthConditions(seen)
		return s.reconcileSteadyState(ctx, seen)
	}
	s.reporter().setProgressConditions(seen)
	return requeue.WithJitter(seen.requeueAfter)
}

// takeEngineStep takes one step, and makes the machine's next change wake us.
func (s *scope) takeEngineStep(ctx context.Context, d driver) (observation, error) {
	stepCtx, returned := s.wakeups.beginStep(ctx, s.ObjectKey())
	defer returned()
	ref := s.engineRef()
	seen, err := d.step(stepCtx, ref)
	s.wakeups.wakeWhenChanged(stepCtx, s.ObjectKey(), seen.changed)
	if seen.moved {
		delete(s.MaasMachine.Annotations, ownership.SystemIDAnnotation)
	}
	if _, misspelled := errors.AsType[*engine.SpecError](err); errors.Is(err, engine.ErrNotFound) && !misspelled && ref.SystemID != "" {
		err = s.machineNotFoundError()
	}
	return seen, err
}

// reconcileProvisioned observes a machine that was provisioned once. It changes
// nothing, whatever the machine's state. Two exceptions: it takes a machine
// over from another provider, and it registers the machine's LXD.
func (s *scope) reconcileProvisioned(ctx context.Context) time.Duration {
	if !s.IsAdoptionPending() { // before the adoption the identity may still refuse the machine
		s.MaasMachine.Status.Initialization.Provisioned = ptr.To(true)
	}
	if err := s.resolveSpec(); err != nil && s.Kind() == "" {
		return s.reporter().reportProblem(observation{}, err)
	}
	d, err := s.findDriver(ctx)
	if err != nil {
		return s.reporter().reportObserveError(ctx, err)
	}
	seen, err := d.observe(ctx, s.engineRef())
	if err != nil {
		pause := s.reporter().reportObserveError(ctx, err)
		if errors.Is(err, engine.ErrNotFound) {
			dnsAttachment{s}.reconcile(ctx, seen) // takes the machine's addresses out of the record
		}
		return pause
	}
	if limited := s.adoption().deniedError(seen); limited != nil {
		return s.reporter().reportProblem(observation{}, limited)
	}
	s.reporter().recordObservation(seen)
	if err := s.provisioning().setProviderID(seen); err != nil {
		return s.reporter().reportProblem(seen, err)
	}
	s.reporter().setHealthConditions(seen)
	return s.reconcileSteadyState(ctx, seen)
}

// reconcileSteadyState does the remaining work for a provisioned machine.
func (s *scope) reconcileSteadyState(ctx context.Context, seen observation) time.Duration {
	pause := requeue.UntilSteadyInterval(s.currentTime())
	for _, sooner := range []time.Duration{
		s.adoption().adopt(ctx, seen),
		lxdHost{s}.reconcile(ctx, seen),
		s.reconcileLXDProject(ctx, seen),
		dnsAttachment{s}.reconcile(ctx, seen),
		nodeLink{s}.reconcile(ctx, seen),
	} {
		if sooner > 0 {
			pause = min(pause, sooner)
		}
	}
	return pause
}

// reconcileLXDProject writes the VM's LXD project into the status once the
// machine was Ready: the spec may leave it open. The search may take a call for
// each host, so nothing waits for it. A failure is only logged.
func (s *scope) reconcileLXDProject(ctx context.Context, seen observation) time.Duration {
	if s.Kind() != ownership.KindVM || !s.MaasMachine.Status.Ready || s.MaasMachine.Status.LXDProject != nil {
		return 0
	}
	project, err := s.site.Projects.ProjectOf(ctx, seen.Machine)
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).Info("cannot find out the LXD project", "systemID", seen.SystemID, "error", problem.FromError(err).Message)
	case project != "":
		s.MaasMachine.Status.LXDProject = ptr.To(project)
	}
	return 0
}
