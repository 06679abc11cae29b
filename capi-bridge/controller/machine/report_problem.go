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

// reportProblem reports a problem, and returns when to try again.
func (s reporter) reportProblem(seen observation, err error) time.Duration {
	p := problem.FromError(err)
	if errors.Is(err, engine.ErrForbidden) && s.site != nil { // wait until the key is read again
		p.RetryAfter = min(p.RetryAfter, cmp.Or(s.site.KeyRecheckAfter, requeue.CredentialsAfter))
	}
	if p.Transient && p.Reason == infrav1.MAASUnavailableReason && !s.IsProvisioned() {
		if s.isAlreadyReported(seen) {
			return requeue.WithJitter(p.RetryAfter)
		}
		seen.message = cmp.Or(seen.message, p.Message)
		s.setProgressConditions(seen)
		return requeue.WithJitter(p.RetryAfter)
	}
	switch {
	case s.isUnobserved(seen) && p.Reason == infrav1.MachineNotFoundReason:
		s.setNotFoundConditions(p)
	case s.Kind() == ownership.KindVM:
		s.setVMProblemConditions(seen, p)
	}
	s.setFalse(infrav1.MachineDeployedCondition, s.problemReason(seen, p), p.Message)
	return requeue.WithJitter(p.RetryAfter)
}

// isUnobserved reports whether a known machine was not seen this time. Its
// conditions still stand, unless MAAS said that it is gone.
func (s reporter) isUnobserved(seen observation) bool {
	return seen.SystemID == "" && s.SystemID() != ""
}

// setNotFoundConditions sets all conditions of a machine that MAAS no longer
// has.
func (s reporter) setNotFoundConditions(p problem.Problem) {
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

// isAlreadyReported reports whether MAAS did not get to the machine, and the
// object already says so.
func (s reporter) isAlreadyReported(seen observation) bool {
	return s.isUnobserved(seen) && !s.isConditionMissing(infrav1.MachineDeployedCondition)
}

// problemReason returns the reason of MachineDeployed for a problem.
func (s reporter) problemReason(seen observation, p problem.Problem) string {
	switch {
	case seen.Status == engine.StatusFailedDeployment && seen.SystemID != "":
		return infrav1.MachineDeployFailedReason
	case seen.Status.Phase() == engine.PhaseFailed && s.Kind() != ownership.KindVM:
		return infrav1.MachineStateUndefinedReason
	case p.ErrorType == engine.InsufficientResources && s.Kind() != ownership.KindVM:
		return infrav1.WaitingForMachineReason
	}
	return p.Reason
}

// setVMProblemConditions reports at which stage of a VM's making the problem
// is.
func (s reporter) setVMProblemConditions(seen observation, p problem.Problem) {
	if s.IsProvisioned() {
		s.setFalse(infrav1.LXDVMDeployedCondition, p.Reason, p.Message)
		return
	}
	if s.isUnobserved(seen) {
		return
	}
	blamed := infrav1.LXDHostSelectedCondition
	switch {
	case p.ErrorType == engine.VMDeploymentFailed:
		blamed = infrav1.LXDVMDeployedCondition
	case p.ErrorType == engine.VMCreationFailed:
		blamed = infrav1.LXDVMCreatedCondition
	case p.ErrorType == "" && seen.SystemID != "":
		blamed = infrav1.LXDVMDeployedCondition
		if seen.Status.Phase() == engine.PhaseCommissioning {
			blamed = infrav1.LXDVMCreatedCondition
		}
	}
	reason, message := s.progressReason(seen)
	s.setVMProgressConditions(seen, reason, message)
	s.setFalse(blamed, p.Reason, p.Message)
	if p.ErrorType == engine.InsufficientResources {
		s.setFalse(infrav1.LXDResourcesAllocatedCondition, p.Reason, p.Message)
	}
}

// reportObserveError reports a failed look at the machine. If MAAS does not
// answer, that says nothing about the machine, so the last observation stands.
func (s reporter) reportObserveError(ctx context.Context, err error) time.Duration {
	if errors.Is(err, engine.ErrNotFound) {
		return s.reportProblem(observation{}, s.machineNotFoundError())
	}
	p := problem.FromError(err)
	ctrl.LoggerFrom(ctx).Info("cannot look at the machine", "reason", p.Reason, "error", p.Message)
	if s.isConditionMissing(infrav1.MachineDeployedCondition) {
		return s.reportProblem(observation{}, err)
	}
	return requeue.WithJitter(p.RetryAfter)
}

// machineNotFoundError says that the machine is gone.
func (s *scope) machineNotFoundError() error {
	return &problem.BlockedError{
		Reason:  infrav1.MachineNotFoundReason,
		Message: fmt.Sprintf("MAAS no longer has machine %s", s.SystemID()),
		Hint:    "Delete the Machine to get another one.",
	}
}
