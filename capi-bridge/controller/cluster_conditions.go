package controller

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

const (
	yes = metav1.ConditionTrue
	no  = metav1.ConditionFalse
)

// clusterConditions are those that this controller writes.
var clusterConditions = []string{
	infrav1.ReadyCondition, infrav1.PausedCondition, infrav1.DeletingCondition,
	infrav1.IdentityReadyCondition, infrav1.FailureDomainsReadyCondition, infrav1.DNSReadyCondition,
	infrav1.APIServerAvailableCondition, infrav1.LXDReadyCondition, infrav1.ControlPlaneSpreadCondition,
}

// set says what is true of the cluster.
func (s *clusterScope) set(condition string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(s.maas, metav1.Condition{Type: condition, Status: status, Reason: reason, Message: bounded(message)})
}

// summarize makes Ready of the other conditions. A cluster whose hosts are not
// all there, or whose API does not answer yet, is as wanted as far as MAAS goes:
// the Machines say the rest.
func (s *clusterScope) summarize() {
	summed := []string{infrav1.IdentityReadyCondition, infrav1.FailureDomainsReadyCondition, infrav1.DNSReadyCondition}
	if !s.maas.DeletionTimestamp.IsZero() {
		s.set(infrav1.ReadyCondition, no, infrav1.DeletingReason, conditions.GetMessage(s.maas, infrav1.DeletingCondition))
		return
	}
	for _, name := range summed {
		c := conditions.Get(s.maas, name)
		switch {
		case c == nil:
			s.set(infrav1.ReadyCondition, metav1.ConditionUnknown, infrav1.ReadyUnknownReason, name+" is not known yet")
			return
		case c.Status != yes && c.Reason != infrav1.WaitingForControlPlaneReason:
			s.set(infrav1.ReadyCondition, no, infrav1.NotReadyReason, name+": "+cmp.Or(c.Message, c.Reason))
			return
		}
	}
	s.set(infrav1.ReadyCondition, yes, infrav1.ReadyReason, "")
}

// changed are the news of conditions that have another status or reason than
// before. Ready is left out, for what it sums up is told already, and so is what
// was as it should be from the start.
func (s *clusterScope) changed(before []metav1.Condition) []news {
	var all []news
	for _, c := range s.maas.Status.Conditions {
		at := slices.IndexFunc(before, func(b metav1.Condition) bool { return b.Type == c.Type })
		same := at >= 0 && before[at].Status == c.Status && before[at].Reason == c.Reason
		dull := at < 0 && (c.Status == yes || slices.Contains(waits, c.Reason))
		if same || dull || slices.Contains(untold, c.Type) {
			continue
		}
		kind := corev1.EventTypeWarning
		if c.Status == yes || slices.Contains(waits, c.Reason) {
			kind = corev1.EventTypeNormal
		}
		all = append(all, news{kind: kind, reason: c.Reason, about: c.Type, note: note(&c)})
	}
	return all
}

// untold are conditions whose changes are no event: one sums up others, and the
// other one is what a person did.
var untold = []string{infrav1.ReadyCondition, infrav1.PausedCondition}

// waits are reasons of conditions that are not True and need nobody.
var waits = []string{
	infrav1.WaitingForControlPlaneReason, infrav1.APIServerNotReadyReason, infrav1.LXDSetupPendingReason,
	infrav1.WaitForDNSNameReason, infrav1.NotDeletingReason, infrav1.ControlPlaneNotFoundReason,
}

func compareNames(a, b client.Object) int { return cmp.Compare(a.GetName(), b.GetName()) }
