package controller

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// ownedConditions are those that this controller writes. Paused is written by
// Cluster API's own code.
var ownedConditions = []string{
	infrav1.ReadyCondition, infrav1.DeletingCondition, infrav1.MachineDeployedCondition, infrav1.DNSAttachedCondition,
	infrav1.NodeProviderIDSetCondition, infrav1.LXDReadyCondition, infrav1.LXDHostSelectedCondition,
	infrav1.LXDResourcesAllocatedCondition, infrav1.LXDVMCreatedCondition, infrav1.LXDVMDeployedCondition,
}

// condition sets a condition of the machine.
func (s *machineScope) condition(kind string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(s.maasMachine, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: bounded(message)})
}

// maxMessage is the length of a condition's message that the API server takes: one
// that is longer, such as a text of MAAS's which a machine made up, would keep all
// that was seen from being written.
const maxMessage = 32768

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
}

func (s *machineScope) holds(kind, reason, message string) {
	s.condition(kind, metav1.ConditionTrue, reason, message)
}

func (s *machineScope) lacks(kind, reason, message string) {
	s.condition(kind, metav1.ConditionFalse, reason, message)
}

func (s *machineScope) conditionMissing(kind string) bool {
	return !conditions.Has(s.maasMachine, kind)
}

func (s *machineScope) notDeleting() {
	s.lacks(infrav1.DeletingCondition, infrav1.NotDeletingReason, "")
}

// progress says how far a machine is that nothing is wrong with, and that is not
// provisioned yet.
func (s *machineScope) progress(seen sighting) {
	reason, message := s.stage(seen)
	message = seen.stageMessage(message)
	s.lacks(infrav1.MachineDeployedCondition, reason, message)
	if s.kind() == kindVM {
		s.progressVM(seen, reason, message)
	}
}

// stageMessage is the sentence of a stage, and what MAAS does at the moment: its
// words alone would say it of nothing. A sentence of the engine's says more.
func (seen sighting) stageMessage(sentence string) string {
	switch words := seen.StatusMessage; {
	case seen.message != words && seen.message != "":
		return seen.message
	case seen.message == "", !seen.underway(), slices.Contains(stateWords, words):
		return sentence
	default:
		return sentence + ": " + words
	}
}

// stateWords are messages of MAAS's that only name a state, and often the one
// before: its message is that of the last event which the machine had.
var stateWords = []string{
	"New", "Commissioning", "Testing", "Ready", "Allocated", "Deploying", "Deployed", "Releasing", "Released", "Broken",
}

// underway tells that MAAS does something with the machine, so that its message is
// about that.
func (seen sighting) underway() bool {
	switch seen.Status.Phase() {
	case engine.PhaseCommissioning, engine.PhaseDeploying, engine.PhaseReleasing:
		return true
	}
	return false
}

// stage is the reason of MachineDeployed for a machine that nothing is wrong
// with.
func (s *machineScope) stage(seen sighting) (reason, message string) {
	name := fmt.Sprintf("machine %s (%s)", seen.Hostname, seen.SystemID)
	switch seen.Status.Phase() {
	case engine.PhaseDeployed:
		return infrav1.MachineDeployingReason, "MAAS has installed " + name + ", which is about to be finished"
	case engine.PhaseReady, engine.PhaseAllocated, engine.PhaseDeploying:
		return infrav1.MachineDeployingReason, "MAAS installs " + name
	}
	switch {
	case seen.SystemID != "" && s.kind() == kindVM:
		return infrav1.MachineCommissioningReason, "MAAS takes stock of " + name
	case seen.SystemID != "":
		return infrav1.MachineDeployingReason, fmt.Sprintf("%s is %s", name, seen.StatusName)
	case s.kind() == kindVM:
		return infrav1.WaitingForVMReason, "the VM is being made"
	}
	return infrav1.WaitingForMachineReason, "no machine is allocated yet"
}

// progressVM says how far a VM is.
func (s *machineScope) progressVM(seen sighting, reason, message string) {
	if seen.SystemID == "" {
		s.lacks(infrav1.LXDHostSelectedCondition, infrav1.WaitingForLXDHostReason, message)
		s.lacks(infrav1.LXDResourcesAllocatedCondition, infrav1.WaitingForLXDHostReason, message)
		s.lacks(infrav1.LXDVMCreatedCondition, infrav1.LXDVMCreatingReason, message)
		s.lacks(infrav1.LXDVMDeployedCondition, infrav1.WaitingForVMReason, message)
		return
	}
	s.existsVM(seen)
	if reason != infrav1.MachineCommissioningReason {
		s.lacks(infrav1.LXDVMDeployedCondition, reason, message)
		return
	}
	s.lacks(infrav1.LXDVMCreatedCondition, infrav1.LXDVMCreatingReason, message)
	s.lacks(infrav1.LXDVMDeployedCondition, infrav1.WaitingForVMReason, message)
}

// existsVM says that the VM is there, on a host that has room for it.
func (s *machineScope) existsVM(seen sighting) {
	host := ""
	if seen.HostName != "" {
		host = "on VM host " + seen.HostName
	}
	s.holds(infrav1.LXDHostSelectedCondition, infrav1.LXDHostSelectedReason, host)
	s.holds(infrav1.LXDResourcesAllocatedCondition, infrav1.LXDResourcesAllocatedReason, host)
	created := ""
	if seen.leftover != "" {
		created = "it was composed more than once, or copied; now " + seen.leftover + ": look there, and delete it if nobody needs it"
	}
	s.holds(infrav1.LXDVMCreatedCondition, infrav1.LXDVMCreatedReason, created)
}

// failing says what is wrong, and returns when to try again.
func (s *machineScope) failing(seen sighting, err error) time.Duration {
	p := explain(err)
	if errors.Is(err, engine.ErrForbidden) && s.site != nil { // until the key is read again
		p.after = min(p.after, cmp.Or(s.site.Anew, anewAfter))
	}
	if p.passing && p.reason == infrav1.MAASUnavailableReason && !s.provisioned() {
		if s.standsStill(seen) {
			return jittered(p.after)
		}
		seen.message = cmp.Or(seen.message, p.message)
		s.progress(seen)
		return jittered(p.after)
	}
	switch {
	case s.outOfSight(seen) && p.reason == infrav1.MachineNotFoundReason:
		s.gone(p)
	case s.kind() == kindVM:
		s.blameVM(seen, p)
	}
	s.lacks(infrav1.MachineDeployedCondition, s.deployReason(seen, p), p.message)
	return jittered(p.after)
}

// outOfSight tells that a machine was seen before, and not this time: its
// conditions still stand, unless MAAS said that it is gone.
func (s *machineScope) outOfSight(seen sighting) bool {
	return seen.SystemID == "" && systemIDOf(s.maasMachine) != ""
}

// gone says that nothing holds any more of what a machine had, which MAAS no
// longer has.
func (s *machineScope) gone(p problem) {
	switch {
	case s.kind() == kindVM:
		s.lacks(infrav1.LXDHostSelectedCondition, infrav1.MachineNotFoundReason, p.message)
		s.lacks(infrav1.LXDResourcesAllocatedCondition, infrav1.MachineNotFoundReason, p.message)
		s.lacks(infrav1.LXDVMCreatedCondition, infrav1.MachineNotFoundReason, p.message)
		s.lacks(infrav1.LXDVMDeployedCondition, infrav1.MachineNotFoundReason, p.message)
	case s.kind() == kindHost, s.joins(), s.joining():
		s.lacks(infrav1.LXDReadyCondition, infrav1.LXDFailedReason, p.message)
	}
}

// standsStill tells that MAAS did not get round to the machine, of which all is
// said already.
func (s *machineScope) standsStill(seen sighting) bool {
	return s.outOfSight(seen) && !s.conditionMissing(infrav1.MachineDeployedCondition)
}

// deployReason is the reason of MachineDeployed for a problem.
func (s *machineScope) deployReason(seen sighting, p problem) string {
	switch {
	case seen.Status == engine.StatusFailedDeployment && seen.SystemID != "":
		return infrav1.MachineDeployFailedReason
	case seen.Status.Phase() == engine.PhaseFailed && s.kind() != kindVM:
		return infrav1.MachineStateUndefinedReason
	case p.kind == engine.InsufficientResources && s.kind() != kindVM:
		return infrav1.WaitingForMachineReason
	}
	return p.reason
}

// blameVM says at which stage of a VM's life the problem is.
func (s *machineScope) blameVM(seen sighting, p problem) {
	if s.provisioned() {
		s.lacks(infrav1.LXDVMDeployedCondition, p.reason, p.message)
		return
	}
	if s.outOfSight(seen) {
		return
	}
	blamed := infrav1.LXDHostSelectedCondition
	switch {
	case p.kind == engine.VMDeploymentFailed:
		blamed = infrav1.LXDVMDeployedCondition
	case p.kind == engine.VMCreationFailed:
		blamed = infrav1.LXDVMCreatedCondition
	case p.kind == "" && seen.SystemID != "":
		blamed = infrav1.LXDVMDeployedCondition
		if seen.Status.Phase() == engine.PhaseCommissioning {
			blamed = infrav1.LXDVMCreatedCondition
		}
	}
	reason, message := s.stage(seen)
	s.progressVM(seen, reason, message)
	s.lacks(blamed, p.reason, p.message)
	if p.kind == engine.InsufficientResources {
		s.lacks(infrav1.LXDResourcesAllocatedCondition, p.reason, p.message)
	}
}

// sumUp sets Ready: the machine is as wanted, and stays.
func (s *machineScope) sumUp() {
	ready := metav1.Condition{Type: infrav1.ReadyCondition, Status: metav1.ConditionUnknown, Reason: infrav1.ReadyUnknownReason}
	deployed := conditions.Get(s.maasMachine, infrav1.MachineDeployedCondition)
	switch {
	case s.deleting():
		ready.Status, ready.Reason = metav1.ConditionFalse, infrav1.DeletingReason
		ready.Message = conditions.GetMessage(s.maasMachine, infrav1.DeletingCondition)
	case deployed == nil:
	case deployed.Status == metav1.ConditionTrue:
		ready.Status, ready.Reason = metav1.ConditionTrue, infrav1.ReadyReason
	default:
		ready.Status, ready.Reason, ready.Message = deployed.Status, deployed.Reason, deployed.Message
	}
	conditions.Set(s.maasMachine, ready)
	s.maasMachine.Status.Ready = ready.Status == metav1.ConditionTrue
}
