package cluster

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// reportHosts reports on how many of the cluster's bare-metal machines VMs can
// be made, where the spec wants that.
func (s *scope) reportHosts() {
	hosts, errs := s.maasCluster.Spec.ResolveHosts(field.NewPath("spec"))
	if len(errs) > 0 {
		s.setCondition(infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.InvalidSpecReason, errs.ToAggregate().Error())
		return
	}
	if hosts == nil {
		conditions.Delete(s.maasCluster, infrav1.LXDReadyCondition)
		return
	}
	ready, all, failed := 0, 0, ""
	for i := range s.machines {
		c := conditions.Get(&s.machines[i], infrav1.LXDReadyCondition)
		if isVM(&s.machines[i]) {
			continue
		}
		all++
		switch {
		case c != nil && c.Status == metav1.ConditionTrue:
			ready++
		case c != nil && c.Reason == infrav1.LXDFailedReason && failed == "":
			failed = fmt.Sprintf("; %s: %s", s.machines[i].Name, c.Message)
		}
	}
	message := fmt.Sprintf("%d of %d machines are LXD hosts%s", ready, all, failed)
	switch {
	case failed != "":
		s.setCondition(infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.LXDFailedReason, message)
	case ready < all || all == 0:
		s.setCondition(infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.LXDSetupPendingReason, message)
	default:
		s.setCondition(infrav1.LXDReadyCondition, metav1.ConditionTrue, infrav1.LXDReadyReason, message)
	}
}

// isVM reports whether a MaasMachine is a VM on an LXD host.
func isVM(m *infrav1.MaasMachine) bool {
	resolved, _ := m.Spec.Resolve(field.NewPath("spec")) // the machine reports contradictions in it
	return resolved.Mode == infrav1.ProvisioningModeLXD
}
