package controller

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// judge says how a machine is that was provisioned once. Whatever it is, nothing
// is done about it here: what ran is never released, and a MachineHealthCheck
// can have the machine replaced.
func (s *machineScope) judge(seen sighting) {
	reason, message := s.health(seen)
	well := reason == infrav1.MachineDeployedReason
	if well {
		s.holds(infrav1.MachineDeployedCondition, reason, s.drift(seen))
	} else {
		s.lacks(infrav1.MachineDeployedCondition, reason, message)
	}
	if s.kind() != kindVM {
		return
	}
	if !conditions.IsTrue(s.maasMachine, infrav1.LXDVMCreatedCondition) {
		s.existsVM(seen)
	}
	if well {
		s.holds(infrav1.LXDVMDeployedCondition, infrav1.LXDVMDeployedReason, "")
	} else {
		s.lacks(infrav1.LXDVMDeployedCondition, reason, message)
	}
}

// health is the reason of MachineDeployed for a machine that was provisioned.
func (s *machineScope) health(seen sighting) (reason, message string) {
	name := fmt.Sprintf("machine %s (%s)", seen.Hostname, seen.SystemID)
	deployed := seen.Status.Phase() == engine.PhaseDeployed
	switch {
	case s.foreign(seen):
		return infrav1.ConflictReason, fmt.Sprintf("%s is somebody else's by now, and no longer of this cluster. "+
			"Delete the Machine to have another one made", name)
	case !deployed && s.released(seen):
		return infrav1.MachineReleasedReason, fmt.Sprintf("%s is %s: somebody released it, and what it ran is lost. "+
			"Delete the Machine to have another one made", name, seen.StatusName)
	case !deployed:
		return infrav1.MachineStateUndefinedReason, fmt.Sprintf("MAAS shows %s as %q%s. Nothing is done to it; put it right in MAAS, or delete the Machine",
			name, seen.StatusName, said(seen.StatusMessage))
	case seen.PowerState == "off":
		return infrav1.MachinePoweredOffReason, name + " is switched off. Switch it on in MAAS, or delete the Machine"
	}
	return infrav1.MachineDeployedReason, ""
}

// released tells that somebody released a machine which was Deployed once, and is
// not now: from there MAAS may show it in any state that a machine in the making
// has, with the addresses of whoever has it. Bare metal has lost its mark with the
// release; a VM keeps it, so what was said of it stands until it is Deployed again.
func (s *machineScope) released(seen sighting) bool {
	switch seen.Status.Phase() {
	case engine.PhaseReady, engine.PhaseAllocated, engine.PhaseReleasing:
		return true
	}
	switch conditions.GetReason(s.maasMachine, infrav1.MachineDeployedCondition) {
	case infrav1.MachineReleasedReason, infrav1.ConflictReason:
		return true
	}
	return s.kind() != kindVM && !s.adoptionPending() && seen.MarkedBy() == ""
}

// isLost tells that a machine is no longer the cluster's, as far as was seen last:
// it is somebody else's, was released, or is gone, and its addresses may be
// anybody's.
func isLost(m *infrav1.MaasMachine) bool {
	switch conditions.GetReason(m, infrav1.MachineDeployedCondition) {
	case infrav1.ConflictReason, infrav1.MachineReleasedReason, infrav1.MachineNotFoundReason:
		return true
	}
	return false
}

// foreign tells that a machine is somebody else's: it says so; or it is Deployed
// and says nothing, which bare metal of ours would; or it says nothing, and another
// object has it, or only this object's annotations say that it is its own.
func (s *machineScope) foreign(seen sighting) bool {
	if owner := seen.MarkedBy(); owner != "" {
		return owner != s.engineKey() && owner != s.ownKey()
	}
	if s.rival != nil || isUnproven(s.maasMachine) && !s.site.AllowTakeOver {
		return true
	}
	return s.kind() != kindVM && !s.adoptionPending() && seen.Status.Phase() == engine.PhaseDeployed
}

func said(message string) string {
	if message == "" {
		return ""
	}
	return " (" + strings.TrimRight(message, ".") + ")"
}

// drift says what is odd about a machine that runs all the same, such as what
// somebody changed.
func (s *machineScope) drift(seen sighting) string {
	var all []string
	if seen.PowerState == "error" {
		all = append(all, "MAAS cannot tell whether it is on: what it runs on may be away")
	}
	if name := s.vmName(); s.kind() == kindVM && !s.inherited() && seen.Hostname != name {
		all = append(all, fmt.Sprintf("MAAS calls it %s, and it was made as %s: rename it back, for its Node keeps the former name", seen.Hostname, name))
	}
	if s.maasMachine.Annotations[SwapAnnotation] == swapUnchanged {
		all = append(all, "its bootstrap data are of no kind that cloud-init runs, so nothing turns swap off: see that the image has none")
	}
	id, err := infrav1.ParseProviderID(ptr.Deref(s.maasMachine.Spec.ProviderID, ""))
	if err == nil && id.FailureDomain != "" && id.FailureDomain != seen.Zone {
		all = append(all, fmt.Sprintf("MAAS has it in zone %s, and it was made in %s: its providerID keeps the former one", seen.Zone, id.FailureDomain))
	}
	return strings.Join(all, "; ")
}
