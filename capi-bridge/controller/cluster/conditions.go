package cluster

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/condition"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/outbox"
)

// ownedConditions are the conditions that this controller writes.
var ownedConditions = []string{
	infrav1.ReadyCondition, infrav1.PausedCondition, infrav1.DeletingCondition,
	infrav1.IdentityReadyCondition, infrav1.FailureDomainsReadyCondition, infrav1.DNSReadyCondition,
	infrav1.APIServerAvailableCondition, infrav1.LXDReadyCondition, infrav1.ControlPlaneSpreadCondition,
}

// setCondition sets a condition of the cluster.
func (s *scope) setCondition(kind string, status metav1.ConditionStatus, reason, message string) {
	condition.SetTruncated(s.maasCluster, kind, status, reason, message)
}

// summarizedConditions are the conditions that Ready sums up. Missing hosts, or
// an API that does not answer yet, do not count: for MAAS such a cluster is as
// wanted, and the Machines show the rest.
var summarizedConditions = conditions.ForConditionTypes{infrav1.IdentityReadyCondition, infrav1.FailureDomainsReadyCondition, infrav1.DNSReadyCondition}

// readyMergeStrategy sums up as Cluster API does. A name that waits for its
// control plane is no issue.
func readyMergeStrategy() conditions.CustomMergeStrategy {
	return conditions.CustomMergeStrategy{MergeStrategy: conditions.DefaultMergeStrategy(
		conditions.GetPriorityFunc(func(c metav1.Condition) conditions.MergePriority {
			if c.Reason == infrav1.WaitingForControlPlaneReason {
				return conditions.InfoMergePriority
			}
			return conditions.GetDefaultMergePriorityFunc()(c)
		}),
		conditions.ComputeReasonFunc(conditions.GetDefaultComputeMergeReasonFunc(infrav1.NotReadyReason, infrav1.ReadyUnknownReason, infrav1.ReadyReason)),
	)}
}

// setReady computes Ready from the other conditions.
func (s *scope) setReady() error {
	if !s.maasCluster.DeletionTimestamp.IsZero() {
		s.setCondition(infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.DeletingReason, conditions.GetMessage(s.maasCluster, infrav1.DeletingCondition))
		return nil
	}
	ready, err := conditions.NewSummaryCondition(s.maasCluster, infrav1.ReadyCondition, summarizedConditions, readyMergeStrategy())
	if err != nil {
		return fmt.Errorf("cannot sum up the conditions: %w", err)
	}
	if ready.Status == metav1.ConditionTrue {
		// The Cluster repeats the message in Available. Cluster API wants no
		// message there while all is well.
		ready.Message = ""
	}
	s.setCondition(ready.Type, ready.Status, ready.Reason, ready.Message)
	return nil
}

// conditionEvents returns an event for each condition with a new status or
// reason. It leaves out Ready, whose parts have their own events. It also
// leaves out conditions that were fine from the start.
func (s *scope) conditionEvents(before []metav1.Condition) []outbox.Event {
	var all []outbox.Event
	for _, c := range s.maasCluster.Status.Conditions {
		at := slices.IndexFunc(before, func(b metav1.Condition) bool { return b.Type == c.Type })
		same := at >= 0 && before[at].Status == c.Status && before[at].Reason == c.Reason
		dull := at < 0 && (c.Status == metav1.ConditionTrue || slices.Contains(waitingReasons, c.Reason))
		if same || dull || slices.Contains(silentConditions, c.Type) {
			continue
		}
		kind := corev1.EventTypeWarning
		if c.Status == metav1.ConditionTrue || slices.Contains(waitingReasons, c.Reason) {
			kind = corev1.EventTypeNormal
		}
		all = append(all, outbox.Event{Type: kind, Reason: c.Reason, Action: c.Type, Note: outbox.NoteForCondition(&c)})
	}
	return all
}

// silentConditions are conditions whose changes make no event: Ready sums up
// others, and a person set Paused.
var silentConditions = []string{infrav1.ReadyCondition, infrav1.PausedCondition}

// waitingReasons are reasons of conditions that are not True and need no help.
var waitingReasons = []string{
	infrav1.WaitingForControlPlaneReason, infrav1.APIServerNotReadyReason, infrav1.LXDSetupPendingReason,
	infrav1.WaitForDNSNameReason, infrav1.NotDeletingReason, infrav1.ControlPlaneNotFoundReason,
}

func compareNames(a, b client.Object) int { return cmp.Compare(a.GetName(), b.GetName()) }
