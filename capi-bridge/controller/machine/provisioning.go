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

// provisioning makes a machine as its spec wants it.
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
			Message: "staticIP has no address yet", Hint: "Set spec.staticIP, or wait for the controller that sets it.",
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

// isInfrastructureReady reports whether the machine is, or was, as Cluster API
// waits for it. A machine that becomes an LXD host is ready once it is
// Deployed: its control plane cannot wait for the LXD.
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

// setProviderID writes the id by which the machine is known from now on. It
// never changes an existing one.
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

// checkPrerequisites returns an error for what must exist before anything is
// made.
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
