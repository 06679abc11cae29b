package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// nameProject writes down in which LXD project the VM is, which the spec may
// leave open, once the machine was Ready: that may take a call for each host,
// which nothing should wait for. It is nobody's trouble while it cannot be told.
func (r *MachineReconciler) nameProject(ctx context.Context, s *machineScope, seen sighting) time.Duration {
	if s.kind() != kindVM || !s.maasMachine.Status.Ready || s.maasMachine.Status.LXDProject != nil {
		return 0
	}
	project, err := s.site.Projects.ProjectOf(ctx, seen.Machine)
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).Info("cannot tell the LXD project", "systemID", seen.SystemID, "error", explain(err).message)
	case project != "":
		s.maasMachine.Status.LXDProject = ptr.To(project)
	}
	return 0
}

// becomeHost takes a Deployed machine that is to be an LXD host one step
// further, and says how far it is. The machine itself is Ready whatever comes of
// it.
func (r *MachineReconciler) becomeHost(ctx context.Context, s *machineScope, seen sighting) time.Duration {
	switch {
	case s.kind() == kindVM:
		return 0
	case s.joins() || s.joining():
		return r.join(ctx, s, seen)
	case s.kind() != kindHost:
		s.noHost()
		return 0
	case seen.Status.Phase() != engine.PhaseDeployed, seen.finished, !seen.ours:
		s.hostState(seen.host, "")
		return 0
	}
	s.deepen(seen)
	d, err := r.driver(ctx, s)
	if err != nil {
		return s.hostFailing(err)
	}
	seen, err = r.step(ctx, s, d)
	switch {
	case err != nil:
		return s.hostFailing(err)
	case seen.done:
		s.hostState(seen.host, "")
		return 0
	}
	s.lacks(infrav1.LXDReadyCondition, infrav1.LXDSetupPendingReason, fmt.Sprintf("%s: %s", seen.reason, seen.message))
	return jittered(seen.after)
}

// deepen fills in what a host takes over from its machine.
func (s *machineScope) deepen(seen sighting) {
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

// hostState says whether VMs can be made on the host, as MAAS's own inventory of
// its LXD has it; more ends the sentence about one on which they can. MAAS may list
// the VM host of a machine that was released, that is switched off or that is
// somebody else's by now: that one counts for nothing.
func (s *machineScope) hostState(h engine.VMHost, more string) {
	switch {
	case !conditions.IsTrue(s.maasMachine, infrav1.MachineDeployedCondition):
		s.lacks(infrav1.LXDReadyCondition, infrav1.LXDFailedReason, conditions.GetMessage(s.maasMachine, infrav1.MachineDeployedCondition))
	case h.Version != "" && h.Cores.Total > 0 && len(h.StoragePools) > 0:
		s.holds(infrav1.LXDReadyCondition, infrav1.LXDReadyReason, fmt.Sprintf("VM host %s, LXD %s%s", h.Name, h.Version, more))
	case h.Name != "":
		s.lacks(infrav1.LXDReadyCondition, infrav1.LXDSetupPendingReason, fmt.Sprintf("MAAS does not know what VM host %s has", h.Name))
	default:
		s.lacks(infrav1.LXDReadyCondition, infrav1.LXDFailedReason, "it is not, or no longer, a VM host of MAAS")
	}
}

func (s *machineScope) hostFailing(err error) time.Duration {
	p := explain(err)
	reason := infrav1.LXDFailedReason
	if p.passing {
		reason = infrav1.LXDSetupPendingReason
	}
	s.lacks(infrav1.LXDReadyCondition, reason, p.message)
	return jittered(p.after)
}

// nameNode sees to the providerID of the machine's Node, until the Machine has
// found it.
func (r *MachineReconciler) nameNode(ctx context.Context, s *machineScope, _ sighting) time.Duration {
	if r.Workloads == nil || s.machine == nil {
		return 0
	}
	kind, id := infrav1.NodeProviderIDSetCondition, *s.maasMachine.Spec.ProviderID
	state, err := r.reconcileNode(ctx, s)
	switch {
	case err != nil:
		s.lacks(kind, infrav1.WorkloadClusterUnreachableReason, lasting(err.Error()))
	case state == nodeUnreachable:
		s.lacks(kind, infrav1.WorkloadClusterUnreachableReason, "the API of the workload cluster cannot be reached yet")
	case state == nodeMissing:
		s.lacks(kind, infrav1.NodeNotFoundReason, "no Node has the machine's name or one of its addresses yet")
	case state == nodeForeign:
		s.lacks(kind, infrav1.NodeProviderIDDiffersReason, "the Node has another providerID than "+id+
			", which cannot be changed: let the kubelet set it to this one, or leave it out, and delete the Machine")
		return jittered(mendAfter)
	default:
		s.holds(kind, infrav1.NodeProviderIDSetReason, "")
		return 0
	}
	return s.whileFresh(kind, r.now(), nodeAfter)
}

// soonFor is how long something is looked for often that others are to do.
const soonFor = 10 * time.Minute

// whileFresh is when to look again for what a condition lacks: soon while that is
// new, and then as seldom as at rest, for it may never come.
func (s *machineScope) whileFresh(kind string, now time.Time, soon time.Duration) time.Duration {
	since := conditions.GetLastTransitionTime(s.maasMachine, kind)
	if since != nil && now.Sub(since.Time) > soonFor {
		return 0
	}
	return together(now, soon)
}
