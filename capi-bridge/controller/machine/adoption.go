package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/demand"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
)

// adoption takes over machines that already run.
type adoption struct{ *scope }

func (s *scope) adoption() adoption { return adoption{s} }

// adopt marks a running machine as the object's. Another provider, another
// management cluster or a former version made it. After that only we may
// release it.
func (s adoption) adopt(ctx context.Context, seen observation) time.Duration {
	marked, own := seen.MarkedBy(), s.OwnKey()
	if marked == own {
		delete(s.MaasMachine.Annotations, controller.UnprovenAnnotation)
	}
	settled := s.EngineKey() == own && !s.IsAdoptionPending() && (marked == own || s.Kind() != ownership.KindVM)
	if settled || seen.Status.Phase() != engine.PhaseDeployed || s.isForeign(seen) {
		return 0
	}
	if limited := s.deniedError(seen); limited != nil {
		return s.reporter().reportProblem(observation{}, limited)
	}
	if marked == "" && s.Kind() != ownership.KindVM {
		if pause, done := s.adoptUnmarked(ctx, seen); !done {
			return pause
		}
	} else if err := s.site.Marks.ChangeMark(ctx, seen.SystemID, marked, own); err != nil {
		p := problem.FromError(err)
		ctrl.LoggerFrom(ctx).Info("cannot mark the machine as this object's", "systemID", seen.SystemID, "reason", p.Reason, "error", p.Message)
		return requeue.WithJitter(p.RetryAfter)
	}
	s.RecordOwnership()
	ctrl.LoggerFrom(ctx).Info("took over the machine", "systemID", seen.SystemID, "from", string(marked))
	return 0
}

// adoptUnmarked takes over bare metal that another provider deployed. done
// means that it set the conditions itself.
func (s adoption) adoptUnmarked(ctx context.Context, seen observation) (pause time.Duration, done bool) {
	res, err := s.site.Machines.Reconcile(ctx, engine.Ref{Key: s.OwnKey(), SystemID: seen.SystemID}, s.adoptionSpec())
	if err != nil {
		p := problem.FromError(err)
		ctrl.LoggerFrom(ctx).Info("cannot take over the machine", "systemID", seen.SystemID, "reason", p.Reason, "error", p.Message)
		return requeue.WithJitter(p.RetryAfter), false
	}
	return res.After, res.Done
}

// observeForAdoption looks at a machine that another provider made. A machine
// that is not Deployed is continued under the name that the provider gave it.
func (s adoption) observeForAdoption(ctx context.Context, d driver) (observation, error) {
	seen, err := d.observe(ctx, s.engineRef())
	switch {
	case err != nil:
		return observation{}, err
	case s.isForeign(seen):
		return observation{}, &problem.BlockedError{
			Reason:  infrav1.ConflictReason,
			Message: fmt.Sprintf("spec.systemID: machine %s (%s) belongs to somebody else: its mark says that it was made for %s", seen.Hostname, seen.SystemID, seen.MarkedBy()),
			Hint:    "Name a machine that this cluster may use.",
		}
	}
	if limited := s.deniedError(seen); limited != nil {
		return observation{}, limited
	}
	if !s.isAdoptable(seen) {
		s.MaasMachine.Annotations[infrav1.VMNameAnnotation] = seen.Hostname
	}
	return seen, nil
}

// adoptBeforeRelease takes over a machine of another provider that must now be
// released. The engine releases only machines that bear our mark.
func (s adoption) adoptBeforeRelease(ctx context.Context, d driver) error {
	if !s.IsAdoptionPending() || s.Kind() == ownership.KindVM {
		return nil
	}
	seen, err := d.observe(ctx, s.engineRef())
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	switch seen.Status.Phase() {
	case engine.PhaseReady, engine.PhaseCommissioning, engine.PhaseReleasing:
		return nil // the machine was released
	case engine.PhaseDeployed:
		if pause := s.adopt(ctx, seen); s.IsAdoptionPending() {
			return &problem.BlockedError{Reason: infrav1.ReleasingReason, Transient: true, RetryAfter: max(pause, time.Second), Message: "the machine is being taken over from another provider"}
		}
		return nil
	}
	return &problem.BlockedError{
		Reason:     infrav1.DeletionBlockedReason,
		Message:    fmt.Sprintf("another provider left machine %s (%s) in the state %s", seen.Hostname, seen.SystemID, seen.StatusName),
		Hint:       "Release it in MAAS; then the deletion continues.",
		RetryAfter: time.Minute,
	}
}

// checkLimits checks whether the identity allows a running machine.
func (s adoption) checkLimits(seen observation) error {
	limits := s.site.Limits
	if _, err := demand.PickAllowed("the machine's resource pool", seen.Pool, limits.ResourcePools); err != nil {
		return err
	}
	if _, err := demand.PickAllowed("the machine's zone", seen.Zone, limits.Zones); err != nil || s.Kind() != ownership.KindVM {
		return err
	}
	if seen.HostName != "" { // empty: MAAS does not know the host at the moment
		if _, err := demand.PickAllowed("the VM's host", seen.HostName, limits.Hosts); err != nil {
			return err
		}
	}
	_, err := demand.PickAllowed("the VM's domain", seen.Domain, limits.Domains)
	return err
}

// deniedError says why a machine may not be taken over. nil: it may be, or it
// bears the object's mark.
func (s adoption) deniedError(seen observation) *problem.BlockedError {
	key := s.EngineKey()
	_, isMark := ownership.ParseMark(string(key))
	marked := seen.MarkedBy()
	if !s.NeedsTakeOver() || marked == s.OwnKey() || isMark && marked == key && !s.IsAdoptionPending() {
		return nil
	}
	err := s.checkLimits(seen)
	if err == nil {
		return nil
	}
	return &problem.BlockedError{
		Reason:  infrav1.ConflictReason,
		Message: fmt.Sprintf("cannot take over machine %s (%s): %s", seen.Hostname, seen.SystemID, problem.FromError(err).Message),
		Hint:    "Delete this object; the machine stays as it is.",
	}
}

// takeOverDeniedError says why a machine may not be taken over and stays as it
// is.
type takeOverDeniedError struct{ *problem.BlockedError }

// Unwrap lets problem.FromError find the reason.
func (e takeOverDeniedError) Unwrap() error { return e.BlockedError }

// checkTakeOverAllowed looks at a machine that would be taken over. It returns
// a takeOverDeniedError where that is not allowed, and another error where it
// cannot find out.
func (s adoption) checkTakeOverAllowed(ctx context.Context, d driver) error {
	if !s.NeedsTakeOver() {
		return nil
	}
	seen, err := d.observe(ctx, s.engineRef())
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if limited := s.deniedError(seen); limited != nil {
		return takeOverDeniedError{limited}
	}
	return nil
}

// isAdoptable reports whether a machine of another provider exists and is only
// to be taken over.
func (s *scope) isAdoptable(seen observation) bool {
	return s.IsAdoptionPending() && seen.Status.Phase() == engine.PhaseDeployed
}

// adoptionSpec returns the spec of a running machine that is taken over as it
// is.
func (s *scope) adoptionSpec() engine.MachineSpec {
	return engine.MachineSpec{Machine: s.SystemID(), Adopt: true, TakeOwnership: true}
}
