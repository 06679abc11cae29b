package cluster_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestManyZones: of more zones with room than an object can list, those stay that
// have machines of the cluster, then those for its control plane; and it is said.
func TestManyZones(t *testing.T) {
	t.Parallel()
	var model sim.Model
	for i := range 106 {
		zone := fmt.Sprintf("z%03d", i)
		model.Zones = append(model.Zones, zone)
		if i < 104 {
			model.Machines = append(model.Machines, sim.MachineModel{Hostname: "metal-" + zone, Zone: zone})
		} else {
			model.Hosts = append(model.Hosts, sim.HostModel{Name: "host-" + zone, Cores: 8, MemoryMiB: 16384, Zone: zone})
		}
	}
	w := newClusterWorld(t, model, withControlPlane("KubeadmControlPlane"), kubeadmControlPlane(),
		machineTemplate(infrav1.MaasMachineSpec{Image: "ubuntu/noble", ProvisioningMode: ptr.To(infrav1.ProvisioningModeLXD)}))
	w.addMachine("w1", clusterMachine{worker: true, zone: "z103"})
	c := w.reconcileUntilSteady()
	if n := len(c.Status.FailureDomains); n != 100 {
		t.Errorf("%d zones are listed, of which an object can have 100", n)
	}
	for _, zone := range []string{"z000", "z103", "z104", "z105"} {
		if !slices.ContainsFunc(c.Status.FailureDomains, func(d clusterv1.FailureDomain) bool { return d.Name == zone }) {
			t.Errorf("%s is not listed", zone)
		}
	}
	if !slices.IsSortedFunc(c.Status.FailureDomains, func(a, b clusterv1.FailureDomain) int { return cmp.Compare(a.Name, b.Name) }) {
		t.Error("they are not in order")
	}
	wantCondition(t, c, infrav1.FailureDomainsReadyCondition, conditionTrue, infrav1.FailureDomainsReadyReason, "100 of 106 zones")
}
