package machine

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/providerid"
)

// provisioning takes a machine towards what is wanted.
type provisioning struct{ *scope }

func (s *scope) provisioning() provisioning { return provisioning{s} }

// advance takes one step towards the machine.
func (s provisioning) advance(ctx context.Context) (observation, error) {
	if err := s.checkPrerequisites(); err != nil {
		return observation{}, err
	}
	wrong := s.resolveSpec()
	if wrong != nil && !s.IsAdoptionPending() {
		return observation{}, wrong
	}
	if wrong == nil && s.want.WaitForStaticIP {
		return observation{}, &problem.BlockedError{
			Reason: infrav1.WaitingForStaticIPReason, Transient: true,
			Message: "staticIP has no address yet", Hint: "Somebody else is to fill it in.",
		}
	}
	d, err := s.findDriver(ctx)
	if err != nil {
		return observation{}, err
	}
	if s.IsAdoptionPending() {
		if seen, err := s.adoption().observeForAdoption(ctx, d); err != nil || s.isAdoptable(seen) {
			return seen, err
		}
	} else if err := s.adoption().checkTakeOverAllowed(ctx, d); err != nil {
		return observation{}, err
	}
	if wrong != nil {
		return observation{}, wrong
	}
	return s.takeEngineStep(ctx, d)
}

// isInfrastructureReady tells that the machine is, or once was, what Cluster API waits for: a
// machine that is to become an LXD host is that once it is Deployed, for the
// control plane that it belongs to could not wait for more.
func (s provisioning) isInfrastructureReady(seen observation) bool {
	deployed := seen.Status.Phase() == engine.PhaseDeployed
	switch {
	case seen.SystemID == "":
		return false
	case s.isAdoptable(seen), seen.finished:
		return true
	case s.Kind() == ownership.KindHost:
		return deployed && seen.ours
	default:
		return deployed && seen.done
	}
}

// setProviderID writes down what a machine is known by from now on. What is set stays
// as it is.
func (s provisioning) setProviderID(seen observation) error {
	m := s.MaasMachine
	if m.Spec.ProviderID == nil {
		id, err := providerid.New(s.want.ProviderIDForm, seen.Zone, seen.SystemID)
		if err != nil {
			return &problem.BlockedError{Reason: infrav1.MachineStateUndefinedReason, Message: err.Error(), RetryAfter: requeue.RetryAfter}
		}
		m.Spec.ProviderID = ptr.To(id.String())
	}
	if m.Spec.SystemID == nil {
		m.Spec.SystemID = ptr.To(seen.SystemID)
	}
	m.Status.Initialization.Provisioned = ptr.To(true)
	return nil
}

// checkPrerequisites says what must come first, before anything is made.
func (s provisioning) checkPrerequisites() error {
	switch {
	case s.IsProvisioned():
		return nil
	case !ptr.Deref(s.cluster.Status.Initialization.InfrastructureProvisioned, false):
		return &problem.BlockedError{
			Reason: infrav1.WaitingForClusterInfrastructureReason, Transient: true,
			Message: fmt.Sprintf("the infrastructure of cluster %s is not provisioned yet", s.cluster.Name),
		}
	case s.machine.Spec.Bootstrap.DataSecretName == nil && s.MaasMachine.Spec.ProviderID == nil:
		return &problem.BlockedError{
			Reason: infrav1.WaitingForBootstrapDataReason, Transient: true,
			Message: fmt.Sprintf("the bootstrap data of Machine %s are not there yet", s.machine.Name),
		}
	}
	return nil
}
