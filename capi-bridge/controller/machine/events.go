package machine

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/outbox"
)

// eventConditions are the conditions whose changes make an event.
var eventConditions = []string{
	infrav1.MachineDeployedCondition, infrav1.LXDVMCreatedCondition, infrav1.LXDReadyCondition,
	infrav1.NodeProviderIDSetCondition, infrav1.DeletingCondition,
}

// benignReasons are reasons that need no help.
var benignReasons = []string{
	infrav1.WaitingForClusterInfrastructureReason, infrav1.WaitingForBootstrapDataReason, infrav1.WaitingForStaticIPReason,
	infrav1.WaitingForVMReason, infrav1.MachineCommissioningReason, infrav1.MachineDeployingReason, infrav1.LXDVMCreatingReason,
	infrav1.LXDSetupPendingReason, infrav1.NodeNotFoundReason, infrav1.WorkloadClusterUnreachableReason, infrav1.NotDeletingReason,
	infrav1.DetachingDNSReason, infrav1.ReleasingReason, infrav1.DeletingVMReason, infrav1.DeletionCompletedReason,
}

// machineEvents returns an event for each change of a machine's conditions. Two
// conditions with the same message make one event.
func machineEvents(before, after *infrav1.MaasMachine) []outbox.Event {
	var all []outbox.Event
	for _, kind := range eventConditions {
		had, has := conditions.Get(before, kind), conditions.Get(after, kind)
		if has == nil || has.Reason == infrav1.NotDeletingReason ||
			had != nil && conditions.HasSameStateExceptObservedGeneration(had, has) {
			continue
		}
		n := outbox.Event{Type: eventType(has), Reason: has.Reason, Action: kind, Note: outbox.NoteForCondition(has)}
		if !slices.ContainsFunc(all, func(other outbox.Event) bool { return other.Note == n.Note }) {
			all = append(all, n)
		}
	}
	return all
}

func eventType(c *metav1.Condition) string {
	flawed := c.Status == metav1.ConditionTrue && c.Message != "" &&
		(c.Type == infrav1.MachineDeployedCondition || c.Type == infrav1.LXDVMCreatedCondition)
	flawed = flawed || c.Reason == infrav1.DeletionCompletedReason && c.Message != "" // something is left behind
	if flawed || c.Status != metav1.ConditionTrue && !slices.Contains(benignReasons, c.Reason) || c.Reason == infrav1.DeletionBlockedReason {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
