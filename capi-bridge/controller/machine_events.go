package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// told are the conditions whose changes are worth an event.
var told = []string{
	infrav1.MachineDeployedCondition, infrav1.LXDVMCreatedCondition, infrav1.LXDReadyCondition,
	infrav1.NodeProviderIDSetCondition, infrav1.DeletingCondition,
}

// underway are reasons of what goes on as it should.
var underway = []string{
	infrav1.WaitingForClusterInfrastructureReason, infrav1.WaitingForBootstrapDataReason, infrav1.WaitingForStaticIPReason,
	infrav1.WaitingForVMReason, infrav1.MachineCommissioningReason, infrav1.MachineDeployingReason, infrav1.LXDVMCreatingReason,
	infrav1.LXDSetupPendingReason, infrav1.NodeNotFoundReason, infrav1.WorkloadClusterUnreachableReason, infrav1.NotDeletingReason,
	infrav1.DetachingDNSReason, infrav1.ReleasingReason, infrav1.DeletingVMReason, infrav1.DeletionCompletedReason,
}

// changed are the news of a machine's conditions. What two of them say in the same
// words is told once.
func changed(before, after *infrav1.MaasMachine) []news {
	var all []news
	for _, kind := range told {
		had, has := conditions.Get(before, kind), conditions.Get(after, kind)
		if has == nil || has.Reason == infrav1.NotDeletingReason ||
			had != nil && had.Status == has.Status && had.Reason == has.Reason && had.Message == has.Message {
			continue
		}
		n := news{kind: eventType(has), reason: has.Reason, about: kind, note: note(has)}
		if !slices.ContainsFunc(all, func(other news) bool { return other.note == n.note }) {
			all = append(all, n)
		}
	}
	return all
}

func eventType(c *metav1.Condition) string {
	flawed := c.Status == metav1.ConditionTrue && c.Message != "" &&
		(c.Type == infrav1.MachineDeployedCondition || c.Type == infrav1.LXDVMCreatedCondition)
	flawed = flawed || c.Reason == infrav1.DeletionCompletedReason && c.Message != "" // something is left
	if flawed || c.Status != metav1.ConditionTrue && !slices.Contains(underway, c.Reason) || c.Reason == infrav1.DeletionBlockedReason {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
