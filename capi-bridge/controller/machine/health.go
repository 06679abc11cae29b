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

// setHealthConditions reports the state of a machine that was provisioned once.
// It changes nothing in MAAS: a machine that ran is never released here. A
// MachineHealthCheck can replace it.
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

// healthReason returns the reason of MachineDeployed for a provisioned machine.
func (s reporter) healthReason(seen observation) (reason, message string) {
	name := fmt.Sprintf("machine %s (%s)", seen.Hostname, seen.SystemID)
	deployed := seen.Status.Phase() == engine.PhaseDeployed
	switch {
	case s.isForeign(seen):
		return infrav1.ConflictReason, fmt.Sprintf("%s belongs to somebody else by now, and no longer to this cluster. "+
			"Delete the Machine to get another one", name)
	case !deployed && s.isReleased(seen):
		return infrav1.MachineReleasedReason, fmt.Sprintf("%s is %s: somebody released it, and its system is lost. "+
			"Delete the Machine to get another one", name, seen.StatusName)
	case !deployed:
		return infrav1.MachineStateUndefinedReason, fmt.Sprintf("MAAS shows %s as %q%s. The manager does not change it; repair it in MAAS, or delete the Machine",
			name, seen.StatusName, inParentheses(seen.StatusMessage))
	case seen.PowerState == "off":
		return infrav1.MachinePoweredOffReason, name + " is switched off. Switch it on in MAAS, or delete the Machine"
	}
	return infrav1.MachineDeployedReason, ""
}

// isReleased reports whether somebody released a machine that was Deployed
// once. MAAS may then show it in any state that a new machine has, with the
// addresses of its new user. Bare metal loses its mark with the release. A VM
// keeps it, so a report about it stands until it is Deployed again.
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

// isForeign reports whether a machine belongs to somebody else. That is so in
// three cases. Its mark says so. Or it is Deployed without a mark, which bare
// metal of ours would have. Or it has no mark, and another object has it, or
// only this object's annotations claim it.
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

// driftMessage describes what is odd about a running machine, such as a manual
// change.
func (s reporter) driftMessage(seen observation) string {
	var all []string
	if seen.PowerState == "error" {
		all = append(all, "MAAS does not know whether the machine is switched on: its host may be away")
	}
	if name := s.VMName(); s.Kind() == ownership.KindVM && !s.IsFromOtherProvider() && seen.Hostname != name {
		all = append(all, fmt.Sprintf("the machine is named %s in MAAS but was made as %s, which its Node keeps: rename it back in MAAS", seen.Hostname, name))
	}
	if s.MaasMachine.Annotations[ownership.SwapAnnotation] == ownership.SwapUnchanged {
		all = append(all, "cloud-init cannot run the bootstrap data, so nothing turns swap off: use an image without swap")
	}
	id, err := providerid.Parse(ptr.Deref(s.MaasMachine.Spec.ProviderID, ""))
	if err == nil && id.FailureDomain != "" && id.FailureDomain != seen.Zone {
		all = append(all, fmt.Sprintf("MAAS has the machine in zone %s, but it was made in %s: its providerID keeps the former zone", seen.Zone, id.FailureDomain))
	}
	return strings.Join(all, "; ")
}
