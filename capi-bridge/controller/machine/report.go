package machine

import (
	"fmt"
	"slices"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/engine"
)

// reporter writes the observed machine and its problems into the object.
type reporter struct{ *scope }

func (s *scope) reporter() reporter { return reporter{s} }

// setProgressConditions reports the progress of a machine without problems that
// is not provisioned yet.
func (s reporter) setProgressConditions(seen observation) {
	reason, message := s.progressReason(seen)
	message = seen.stageMessage(message)
	s.setFalse(infrav1.MachineDeployedCondition, reason, message)
	if s.Kind() == ownership.KindVM {
		s.setVMProgressConditions(seen, reason, message)
	}
}

// stageMessage returns the sentence of a stage, and MAAS's message behind it:
// alone, that would lack its subject. A sentence of the engine replaces both.
func (seen observation) stageMessage(sentence string) string {
	switch words := seen.StatusMessage; {
	case seen.message != words && seen.message != "":
		return seen.message
	case seen.message == "", !seen.isUnderway(), slices.Contains(stateWords, words):
		return sentence
	default:
		return sentence + ": " + words
	}
}

// stateWords are messages of MAAS that only name a state, often the previous
// one. MAAS's message is that of the machine's last event.
var stateWords = []string{
	"New", "Commissioning", "Testing", "Ready", "Allocated", "Deploying", "Deployed", "Releasing", "Released", "Broken",
}

// isUnderway reports whether MAAS works on the machine, so that its message is
// about that work.
func (seen observation) isUnderway() bool {
	switch seen.Status.Phase() {
	case engine.PhaseCommissioning, engine.PhaseDeploying, engine.PhaseReleasing:
		return true
	}
	return false
}

// progressReason returns the reason of MachineDeployed for a machine without
// problems.
func (s reporter) progressReason(seen observation) (reason, message string) {
	name := fmt.Sprintf("machine %s (%s)", seen.Hostname, seen.SystemID)
	switch seen.Status.Phase() {
	case engine.PhaseDeployed:
		return infrav1.MachineDeployingReason, "MAAS has deployed " + name + ", and the last step is due"
	case engine.PhaseReady, engine.PhaseAllocated, engine.PhaseDeploying:
		return infrav1.MachineDeployingReason, "MAAS installs " + name
	}
	switch {
	case seen.SystemID != "" && s.Kind() == ownership.KindVM:
		return infrav1.MachineCommissioningReason, "MAAS commissions " + name
	case seen.SystemID != "":
		return infrav1.MachineDeployingReason, fmt.Sprintf("%s is %s", name, seen.StatusName)
	case s.Kind() == ownership.KindVM:
		return infrav1.WaitingForVMReason, "the VM is being made"
	}
	return infrav1.WaitingForMachineReason, "no machine is allocated yet"
}

// setVMProgressConditions reports the progress of a VM.
func (s reporter) setVMProgressConditions(seen observation, reason, message string) {
	if seen.SystemID == "" {
		s.setFalse(infrav1.LXDHostSelectedCondition, infrav1.WaitingForLXDHostReason, message)
		s.setFalse(infrav1.LXDResourcesAllocatedCondition, infrav1.WaitingForLXDHostReason, message)
		s.setFalse(infrav1.LXDVMCreatedCondition, infrav1.LXDVMCreatingReason, message)
		s.setFalse(infrav1.LXDVMDeployedCondition, infrav1.WaitingForVMReason, message)
		return
	}
	s.setVMCreatedConditions(seen)
	if reason != infrav1.MachineCommissioningReason {
		s.setFalse(infrav1.LXDVMDeployedCondition, reason, message)
		return
	}
	s.setFalse(infrav1.LXDVMCreatedCondition, infrav1.LXDVMCreatingReason, message)
	s.setFalse(infrav1.LXDVMDeployedCondition, infrav1.WaitingForVMReason, message)
}

// setVMCreatedConditions reports that the VM exists, on a host with room for
// it.
func (s reporter) setVMCreatedConditions(seen observation) {
	host := ""
	if seen.HostName != "" {
		host = "on VM host " + seen.HostName
	}
	s.setTrue(infrav1.LXDHostSelectedCondition, infrav1.LXDHostSelectedReason, host)
	s.setTrue(infrav1.LXDResourcesAllocatedCondition, infrav1.LXDResourcesAllocatedReason, host)
	created := ""
	if seen.leftover != "" {
		created = "the VM was composed more than once, or copied, and now " + seen.leftover + "; look there, and delete it if nobody needs it"
	}
	s.setTrue(infrav1.LXDVMCreatedCondition, infrav1.LXDVMCreatedReason, created)
}
