package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
)

// problem says what is wrong, and returns when to try again.
func (s reporter) problem(seen observation, err error) time.Duration {
	p := problem.Explain(err)
	if errors.Is(err, engine.ErrForbidden) && s.site != nil { // until the key is read again
		p.After = min(p.After, cmp.Or(s.site.Anew, requeue.CredentialsAfter))
	}
	if p.Passing && p.Reason == infrav1.MAASUnavailableReason && !s.IsProvisioned() {
		if s.isAlreadyReported(seen) {
			return requeue.Jittered(p.After)
		}
		seen.message = cmp.Or(seen.message, p.Message)
		s.progress(seen)
		return requeue.Jittered(p.After)
	}
	switch {
	case s.isUnobserved(seen) && p.Reason == infrav1.MachineNotFoundReason:
		s.notFound(p)
	case s.Kind() == ownership.KindVM:
		s.vmProblem(seen, p)
	}
	s.setFalse(infrav1.MachineDeployedCondition, s.deployReason(seen, p), p.Message)
	return requeue.Jittered(p.After)
}

// isUnobserved tells that a machine was seen before, and not this time: its
// conditions still stand, unless MAAS said that it is gone.
func (s reporter) isUnobserved(seen observation) bool {
	return seen.SystemID == "" && s.SystemID() != ""
}

// notFound says that nothing holds any more of what a machine had, which MAAS no
// longer has.
func (s reporter) notFound(p problem.Problem) {
	switch {
	case s.Kind() == ownership.KindVM:
		s.setFalse(infrav1.LXDHostSelectedCondition, infrav1.MachineNotFoundReason, p.Message)
		s.setFalse(infrav1.LXDResourcesAllocatedCondition, infrav1.MachineNotFoundReason, p.Message)
		s.setFalse(infrav1.LXDVMCreatedCondition, infrav1.MachineNotFoundReason, p.Message)
		s.setFalse(infrav1.LXDVMDeployedCondition, infrav1.MachineNotFoundReason, p.Message)
	case s.Kind() == ownership.KindHost, lxdHost(s).wantsRegistration(), s.IsRegistering():
		s.setFalse(infrav1.LXDReadyCondition, infrav1.LXDFailedReason, p.Message)
	}
}

// isAlreadyReported tells that MAAS did not get round to the machine, of which all is
// said already.
func (s reporter) isAlreadyReported(seen observation) bool {
	return s.isUnobserved(seen) && !s.isConditionMissing(infrav1.MachineDeployedCondition)
}

// deployReason is the reason of MachineDeployed for a problem.
func (s reporter) deployReason(seen observation, p problem.Problem) string {
	switch {
	case seen.Status == engine.StatusFailedDeployment && seen.SystemID != "":
		return infrav1.MachineDeployFailedReason
	case seen.Status.Phase() == engine.PhaseFailed && s.Kind() != ownership.KindVM:
		return infrav1.MachineStateUndefinedReason
	case p.Kind == engine.InsufficientResources && s.Kind() != ownership.KindVM:
		return infrav1.WaitingForMachineReason
	}
	return p.Reason
}

// vmProblem says at which stage of a VM's life the problem is.
func (s reporter) vmProblem(seen observation, p problem.Problem) {
	if s.IsProvisioned() {
		s.setFalse(infrav1.LXDVMDeployedCondition, p.Reason, p.Message)
		return
	}
	if s.isUnobserved(seen) {
		return
	}
	blamed := infrav1.LXDHostSelectedCondition
	switch {
	case p.Kind == engine.VMDeploymentFailed:
		blamed = infrav1.LXDVMDeployedCondition
	case p.Kind == engine.VMCreationFailed:
		blamed = infrav1.LXDVMCreatedCondition
	case p.Kind == "" && seen.SystemID != "":
		blamed = infrav1.LXDVMDeployedCondition
		if seen.Status.Phase() == engine.PhaseCommissioning {
			blamed = infrav1.LXDVMCreatedCondition
		}
	}
	reason, message := s.progressReason(seen)
	s.vmProgress(seen, reason, message)
	s.setFalse(blamed, p.Reason, p.Message)
	if p.Kind == engine.InsufficientResources {
		s.setFalse(infrav1.LXDResourcesAllocatedCondition, p.Reason, p.Message)
	}
}

// lookError goes on from a look that failed. That MAAS does not answer says
// nothing of the machine, so what was seen last still stands.
func (s reporter) lookError(ctx context.Context, err error) time.Duration {
	if errors.Is(err, engine.ErrNotFound) {
		return s.problem(observation{}, s.machineNotFoundError())
	}
	p := problem.Explain(err)
	ctrl.LoggerFrom(ctx).Info("cannot look at the machine", "reason", p.Reason, "error", p.Message)
	if s.isConditionMissing(infrav1.MachineDeployedCondition) {
		return s.problem(observation{}, err)
	}
	return requeue.Jittered(p.After)
}

// machineNotFoundError says that the machine is gone.
func (s *scope) machineNotFoundError() error {
	return &problem.Blocked{
		Reason:  infrav1.MachineNotFoundReason,
		Message: fmt.Sprintf("MAAS no longer has machine %s", s.SystemID()),
		Hint:    "Delete the Machine to have another one made.",
	}
}
