package machine

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/problem"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/engine"
)

// lxdHost makes an LXD host of a machine.
type lxdHost struct{ *scope }

// reconcile takes one step to make an LXD host of a Deployed machine, and
// reports the progress. The machine itself is Ready, whatever the result.
func (s lxdHost) reconcile(ctx context.Context, seen observation) time.Duration {
	switch {
	case s.Kind() == ownership.KindVM:
		return 0
	case s.wantsRegistration() || s.IsRegistering():
		return s.reconcileRegistration(ctx, seen)
	case s.Kind() != ownership.KindHost:
		s.clearRegistration()
		return 0
	case seen.Status.Phase() != engine.PhaseDeployed, seen.finished, !seen.ours:
		s.setLXDReadyCondition(seen.host, "")
		return 0
	}
	s.fillDefaults(seen)
	d, err := s.findDriver(ctx)
	if err != nil {
		return s.reportError(err)
	}
	seen, err = s.takeEngineStep(ctx, d)
	switch {
	case err != nil:
		return s.reportError(err)
	case seen.done:
		s.setLXDReadyCondition(seen.host, "")
		return 0
	}
	s.setFalse(infrav1.LXDReadyCondition, infrav1.LXDSetupPendingReason, fmt.Sprintf("%s: %s", seen.reason, seen.message))
	return requeue.WithJitter(seen.requeueAfter)
}

// wantsRegistration reports whether the machine must become an LXD host but was
// not begun as one. The cluster asked for hosts later, or another provider made
// the machine.
func (s lxdHost) wantsRegistration() bool { return s.hosts != nil && s.Kind() == ownership.KindMachine }

// clearRegistration drops the plan to register the machine's LXD, before
// anything was done.
func (s lxdHost) clearRegistration() {
	delete(s.MaasMachine.Annotations, ownership.HostAnnotation)
	conditions.Delete(s.MaasMachine, infrav1.LXDReadyCondition)
}

// fillDefaults fills in the host's fields that come from its machine.
func (s lxdHost) fillDefaults(seen observation) {
	if s.hosts == nil {
		return
	}
	hosts := *s.hosts
	if hosts.Zone == "" {
		hosts.Zone = seen.Zone
	}
	if hosts.ResourcePool == "" {
		hosts.ResourcePool = seen.Pool
	}
	s.hosts = &hosts
}

// setLXDReadyCondition reports whether VMs can be made on the host, by MAAS's
// own inventory of its LXD. more ends the sentence about a ready host. MAAS may
// still list the VM host of a machine that was released, is switched off or
// belongs to somebody else. Such a VM host does not count.
func (s lxdHost) setLXDReadyCondition(h engine.VMHost, more string) {
	switch {
	case !conditions.IsTrue(s.MaasMachine, infrav1.MachineDeployedCondition):
		s.setFalse(infrav1.LXDReadyCondition, infrav1.LXDFailedReason, conditions.GetMessage(s.MaasMachine, infrav1.MachineDeployedCondition))
	case h.Version != "" && h.Cores.Total > 0 && len(h.StoragePools) > 0:
		s.setTrue(infrav1.LXDReadyCondition, infrav1.LXDReadyReason, fmt.Sprintf("VM host %s, LXD %s%s", h.Name, h.Version, more))
	case h.Name != "":
		s.setFalse(infrav1.LXDReadyCondition, infrav1.LXDSetupPendingReason, fmt.Sprintf("MAAS does not know the resources of VM host %s yet", h.Name))
	default:
		s.setFalse(infrav1.LXDReadyCondition, infrav1.LXDFailedReason, "the machine is not, or no longer, a VM host of MAAS")
	}
}

func (s lxdHost) reportError(err error) time.Duration {
	p := problem.FromError(err)
	reason := infrav1.LXDFailedReason
	if p.Transient {
		reason = infrav1.LXDSetupPendingReason
	}
	s.setFalse(infrav1.LXDReadyCondition, reason, p.Message)
	return requeue.WithJitter(p.RetryAfter)
}
