package machine

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/providerid"
)

// setHealthConditions says how a machine is that was provisioned once. Whatever it is, nothing
// is done about it here: what ran is never released, and a MachineHealthCheck
// can have the machine replaced.
func (s reporter) setHealthConditions(seen observation) {
	reason, message := s.healthReason(seen)
	well := reason == infrav1.MachineDeployedReason
	if well {
		s.setTrue(infrav1.MachineDeployedCondition, reason, s.driftMessage(seen))
	} else {
		s.setFalse(infrav1.MachineDeployedCondition, reason, message)
	}
	if s.Kind() != ownership.KindVM {
		return
	}
	if !conditions.IsTrue(s.MaasMachine, infrav1.LXDVMCreatedCondition) {
		s.setVMCreatedConditions(seen)
	}
	if well {
		s.setTrue(infrav1.LXDVMDeployedCondition, infrav1.LXDVMDeployedReason, "")
	} else {
		s.setFalse(infrav1.LXDVMDeployedCondition, reason, message)
	}
}

// healthReason is the reason of MachineDeployed for a machine that was provisioned.
func (s reporter) healthReason(seen observation) (reason, message string) {
	name := fmt.Sprintf("machine %s (%s)", seen.Hostname, seen.SystemID)
	deployed := seen.Status.Phase() == engine.PhaseDeployed
	switch {
	case s.isForeign(seen):
		return infrav1.ConflictReason, fmt.Sprintf("%s is somebody else's by now, and no longer of this cluster. "+
			"Delete the Machine to have another one made", name)
	case !deployed && s.isReleased(seen):
		return infrav1.MachineReleasedReason, fmt.Sprintf("%s is %s: somebody released it, and what it ran is lost. "+
			"Delete the Machine to have another one made", name, seen.StatusName)
	case !deployed:
		return infrav1.MachineStateUndefinedReason, fmt.Sprintf("MAAS shows %s as %q%s. Nothing is done to it; put it right in MAAS, or delete the Machine",
			name, seen.StatusName, inParentheses(seen.StatusMessage))
	case seen.PowerState == "off":
		return infrav1.MachinePoweredOffReason, name + " is switched off. Switch it on in MAAS, or delete the Machine"
	}
	return infrav1.MachineDeployedReason, ""
}

// isReleased tells that somebody released a machine which was Deployed once, and is
// not now: from there MAAS may show it in any state that a machine in the making
// has, with the addresses of whoever has it. Bare metal has lost its mark with the
// release; a VM keeps it, so what was said of it stands until it is Deployed again.
func (s *scope) isReleased(seen observation) bool {
	switch seen.Status.Phase() {
	case engine.PhaseReady, engine.PhaseAllocated, engine.PhaseReleasing:
		return true
	}
	switch conditions.GetReason(s.MaasMachine, infrav1.MachineDeployedCondition) {
	case infrav1.MachineReleasedReason, infrav1.ConflictReason:
		return true
	}
	return s.Kind() != ownership.KindVM && !s.IsAdoptionPending() && seen.MarkedBy() == ""
}

// isForeign tells that a machine is somebody else's: it says so; or it is Deployed
// and says nothing, which bare metal of ours would; or it says nothing, and another
// object has it, or only this object's annotations say that it is its own.
func (s *scope) isForeign(seen observation) bool {
	if owner := seen.MarkedBy(); owner != "" {
		return owner != s.EngineKey() && owner != s.OwnKey()
	}
	if s.rival != nil || ownership.IsUnproven(s.MaasMachine) && !s.site.AllowTakeOver {
		return true
	}
	return s.Kind() != ownership.KindVM && !s.IsAdoptionPending() && seen.Status.Phase() == engine.PhaseDeployed
}

func inParentheses(message string) string {
	if message == "" {
		return ""
	}
	return " (" + strings.TrimRight(message, ".") + ")"
}

// driftMessage says what is odd about a machine that runs all the same, such as what
// somebody changed.
func (s reporter) driftMessage(seen observation) string {
	var all []string
	if seen.PowerState == "error" {
		all = append(all, "MAAS cannot tell whether it is on: what it runs on may be away")
	}
	if name := s.VMName(); s.Kind() == ownership.KindVM && !s.IsFromOtherProvider() && seen.Hostname != name {
		all = append(all, fmt.Sprintf("MAAS calls it %s, and it was made as %s: rename it back, for its Node keeps the former name", seen.Hostname, name))
	}
	if s.MaasMachine.Annotations[ownership.SwapAnnotation] == ownership.SwapUnchanged {
		all = append(all, "its bootstrap data are of no kind that cloud-init runs, so nothing turns swap off: see that the image has none")
	}
	id, err := providerid.Parse(ptr.Deref(s.MaasMachine.Spec.ProviderID, ""))
	if err == nil && id.FailureDomain != "" && id.FailureDomain != seen.Zone {
		all = append(all, fmt.Sprintf("MAAS has it in zone %s, and it was made in %s: its providerID keeps the former one", seen.Zone, id.FailureDomain))
	}
	return strings.Join(all, "; ")
}
