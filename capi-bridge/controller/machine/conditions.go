package machine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/condition"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
)

// ownedConditions are the conditions that this controller writes. Cluster API's
// own code writes Paused.
var ownedConditions = []string{
	infrav1.ReadyCondition, infrav1.DeletingCondition, infrav1.MachineDeployedCondition, infrav1.DNSAttachedCondition,
	infrav1.NodeProviderIDSetCondition, infrav1.LXDReadyCondition, infrav1.LXDHostSelectedCondition,
	infrav1.LXDResourcesAllocatedCondition, infrav1.LXDVMCreatedCondition, infrav1.LXDVMDeployedCondition,
}

// setCondition sets a condition of the machine.
func (s *scope) setCondition(kind string, status metav1.ConditionStatus, reason, message string) {
	condition.SetTruncated(s.MaasMachine, kind, status, reason, message)
}

func (s *scope) setTrue(kind, reason, message string) {
	s.setCondition(kind, metav1.ConditionTrue, reason, message)
}

func (s *scope) setFalse(kind, reason, message string) {
	s.setCondition(kind, metav1.ConditionFalse, reason, message)
}

func (s *scope) isConditionMissing(kind string) bool {
	return !conditions.Has(s.MaasMachine, kind)
}

func (s *scope) setNotDeleting() {
	s.setFalse(infrav1.DeletingCondition, infrav1.NotDeletingReason, "")
}

// setReady sets Ready: the machine is as wanted.
func (s *scope) setReady() {
	ready := metav1.Condition{Type: infrav1.ReadyCondition, Status: metav1.ConditionUnknown, Reason: infrav1.ReadyUnknownReason}
	deployed := conditions.Get(s.MaasMachine, infrav1.MachineDeployedCondition)
	switch {
	case s.IsDeleting():
		ready.Status, ready.Reason = metav1.ConditionFalse, infrav1.DeletingReason
		ready.Message = conditions.GetMessage(s.MaasMachine, infrav1.DeletingCondition)
	case deployed == nil:
	case deployed.Status == metav1.ConditionTrue:
		ready.Status, ready.Reason = metav1.ConditionTrue, infrav1.ReadyReason
	default:
		ready.Status, ready.Reason, ready.Message = deployed.Status, deployed.Reason, deployed.Message
	}
	conditions.Set(s.MaasMachine, ready)
	s.MaasMachine.Status.Ready = ready.Status == metav1.ConditionTrue
}

// requeueWhileNew returns when to look again for something that a condition
// lacks. It is soon while the condition is new. Later it is the steady
// interval, because the thing may never come.
func (s *scope) requeueWhileNew(kind string, now time.Time, soon time.Duration) time.Duration {
	since := conditions.GetLastTransitionTime(s.MaasMachine, kind)
	if since != nil && now.Sub(since.Time) > frequentRetryWindow {
		return 0
	}
	return requeue.UntilAligned(now, soon)
}
