package cluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/event"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestMachineMatters: a MaasCluster is woken by what it publishes or shows, and not
// by each look at a worker.
func TestMachineMatters(t *testing.T) {
	t.Parallel()
	deployed := func(m *infrav1.MaasMachine) {
		m.Status.MachineState, m.Status.MachinePowered = ptr.To(infrav1.MachineState("Deployed")), true
	}
	addressed := func(m *infrav1.MaasMachine) {
		m.Status.Addresses = []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalIP, Address: "10.77.0.11"}}
	}
	deployedIs := func(reason string) func(*infrav1.MaasMachine) {
		return func(m *infrav1.MaasMachine) {
			m.Status.Conditions = infrav1.Conditions{{Type: infrav1.MachineDeployedCondition, Status: metav1.ConditionFalse, Reason: reason}}
		}
	}
	lost, off := deployedIs(infrav1.MachineReleasedReason), deployedIs(infrav1.MachinePoweredOffReason)
	cases := map[string]struct {
		reason string
		worker bool
		change func(*infrav1.MaasMachine)
		want   bool
	}{
		"Powered":         {reason: "Nothing depends on the power state of a machine.", change: func(m *infrav1.MaasMachine) { m.Status.MachinePowered = true }},
		"Deployed":        {reason: "A machine of the control plane may now be published.", change: deployed, want: true},
		"DeployedWorker":  {reason: "Workers are not published.", worker: true, change: deployed},
		"Addressed":       {reason: "The addresses of the control plane are published.", change: addressed, want: true},
		"AddressedWorker": {reason: "Workers are not published.", worker: true, change: addressed},
		"Lost":            {reason: "A lost machine leaves the record.", change: lost, want: true},
		"LostWorker":      {reason: "Workers are not published.", worker: true, change: lost},
		"Off":             {reason: "A machine that is off stays published.", change: off},
		"Zone":            {reason: "The zones of machines stay failure domains.", worker: true, change: func(m *infrav1.MaasMachine) { m.Status.FailureDomain = "az2" }, want: true},
		"Deleting":        {reason: "A machine that is deleted leaves the record, or the cluster's deletion waits for it.", worker: true, change: func(m *infrav1.MaasMachine) { m.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, want: true},
		"Host": {reason: "Hosts are counted.", worker: true, want: true, change: func(m *infrav1.MaasMachine) {
			m.Status.Conditions = infrav1.Conditions{{Type: infrav1.LXDReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.LXDReadyReason}}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &infrav1.MaasMachine{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"}}}
			if !tc.worker {
				before.Labels[clusterv1.MachineControlPlaneLabel] = ""
			}
			after := before.DeepCopy()
			tc.change(after)
			if got := machineChangePredicate.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("%s\nit wakes: %v", tc.reason, got)
			}
		})
	}
}

// TestMaasClusterMatters: of a Cluster, what its MaasCluster depends on.
func TestMaasClusterMatters(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*clusterv1.Cluster)
		want   bool
	}{
		"Status":      {func(c *clusterv1.Cluster) { c.Status.ObservedGeneration = 3 }, false},
		"Paused":      {func(c *clusterv1.Cluster) { c.Spec.Paused, c.Generation = ptr.To(true), 2 }, true},
		"Initialised": {func(c *clusterv1.Cluster) { c.Status.Initialization.ControlPlaneInitialized = ptr.To(true) }, true},
	} {
		before := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
		after := before.DeepCopy()
		tc.change(after)
		if got := clusterChangePredicate.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
			t.Errorf("%s wakes: %v", name, got)
		}
	}
}
