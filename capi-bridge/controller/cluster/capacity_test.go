package cluster_test

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestNoRoomForTheControlPlane: that there is room for something else is no use, and
// it is said for what there is none.
func TestNoRoomForTheControlPlane(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		spec   infrav1.MaasMachineSpec
		says   []string
	}{
		"Metal": {"There are VM hosts.", controllertest.MetalMachineSpec(), []string{"a Ready machine for the control plane", "spec.failureDomains"}},
		"StoragePool": {"No host has this resource pool.", vmSpecWithLXD(infrav1.LXDConfig{Storage: &infrav1.LXDStorageConfig{Size: "40GB", Pool: "nosuch"}}),
			[]string{"40 GB of the storage pool nosuch", "spec.failureDomains"}},
		"Host": {"No host has this name.", vmSpecWithLXD(infrav1.LXDConfig{VMHost: ptr.To("h9")}), []string{"the LXD host h9", "without this host"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := zoneModel()
			model.Machines = nil
			w := newClusterWorld(t, model, withControlPlane("KubeadmControlPlane"), kubeadmControlPlane(), machineTemplate(tc.spec))
			c := w.reconcileUntilSteady()
			for _, words := range tc.says {
				wantCondition(t, c, infrav1.FailureDomainsReadyCondition, conditionFalse, infrav1.NoCapacityReason, words)
			}
			if c.Status.Ready {
				t.Errorf("%s\nmachines can be made", tc.reason)
			}
		})
	}
}

// TestHostsOfMAASAlone: with LXD chosen to make VMs, VM hosts that somebody registered in
// MAAS do not count, and that is said.
func TestHostsOfMAASAlone(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.composer = "lxd"
	w.Sites = w.newSites()
	c := w.reconcileUntilSteady()
	for _, words := range []string{"an LXD host with room", "host1", "--composer=auto"} {
		wantCondition(t, c, infrav1.FailureDomainsReadyCondition, conditionFalse, infrav1.NoCapacityReason, words)
	}
}

// TestZonesOfATemplateThatCannotBe: what is wrong with a template its machines say;
// it keeps no zone away.
func TestZonesOfATemplateThatCannotBe(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, zoneModel(), withControlPlane("KubeadmControlPlane"), kubeadmControlPlane(),
		machineTemplate(vmSpecWithLXD(infrav1.LXDConfig{Storage: &infrav1.LXDStorageConfig{Disks: []infrav1.LXDDisk{{Size: "much"}}}})))
	if c := w.reconcileUntilSteady(); !c.Status.Ready || len(c.Status.FailureDomains) != 3 {
		t.Errorf("not ready: %+v", c.Status)
	}
}
