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
	switch seen.Status.Phase() {
	case engine.PhaseDeployed:
	case engine.PhaseReady, engine.PhaseAllocated, engine.PhaseReleasing:
		return infrav1.MachineReleasedReason, fmt.Sprintf("%s is %s: somebody released it, and what it ran is lost. "+
			"Delete the Machine to have another one made", name, seen.StatusName)
	default:
		return infrav1.MachineStateUndefinedReason, fmt.Sprintf("MAAS shows %s as %q%s. Nothing is done to it; put it right in MAAS, or delete the Machine",
			name, seen.StatusName, said(seen.StatusMessage))
	}
	switch {
	case s.foreign(seen):
		return infrav1.ConflictReason, fmt.Sprintf("%s is somebody else's by now, and no longer of this cluster. "+
			"Delete the Machine to have another one made", name)
	case seen.PowerState == "off":
		return infrav1.MachinePoweredOffReason, name + " is switched off. Switch it on in MAAS, or delete the Machine"
	}
	return infrav1.MachineDeployedReason, ""
}

// foreign tells that a machine is somebody else's: it says so, or it is Deployed
// and says nothing, which bare metal of ours would.
func (s *machineScope) foreign(seen sighting) bool {
	if owner := seen.MarkedBy(); owner != "" {
		return owner != s.ref().Key
	}
	return s.kind() != kindVM && !s.heir() && seen.Status.Phase() == engine.PhaseDeployed
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
	id, err := infrav1.ParseProviderID(ptr.Deref(s.maasMachine.Spec.ProviderID, ""))
	if err == nil && id.FailureDomain != "" && id.FailureDomain != seen.Zone {
		all = append(all, fmt.Sprintf("MAAS has it in zone %s, and it was made in %s: its providerID keeps the former one", seen.Zone, id.FailureDomain))
	}
	return strings.Join(all, "; ")
}
