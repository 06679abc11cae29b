package cluster_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestNoRoomForTheControlPlane: the condition names what is missing for the control plane, also
// if there is room for other machines.
func TestNoRoomForTheControlPlane(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		spec   infrav1.MaasMachineSpec
		says   []string
	}{
		"Metal": {"VM hosts have room, but the control plane needs bare metal.", controllertest.MetalMachineSpec(), []string{"a Ready machine for the control plane", "spec.failureDomains"}},
		"StoragePool": {"No VM host has this storage pool.", vmSpecWithLXD(infrav1.LXDConfig{Storage: &infrav1.LXDStorageConfig{Size: "40GB", Pool: "nosuch"}}),
			[]string{"40 GB of the storage pool nosuch", "spec.failureDomains"}},
		"Host": {"No VM host has this name.", vmSpecWithLXD(infrav1.LXDConfig{VMHost: ptr.To("h9")}), []string{"the LXD host h9", "without this host"}},
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
				t.Errorf("%s\nthe cluster is ready", tc.reason)
			}
		})
	}
}

// TestZonesOfTheImage: a control plane is offered the zones whose VM hosts can run its image. If
// there is none, the condition names the image and its architectures.
func TestZonesOfTheImage(t *testing.T) {
	t.Parallel()
	model := func(architectures ...string) sim.Model {
		m := zoneModel()
		m.Machines = nil
		m.Hosts[0].Architecture = "arm64/generic"
		m.ImageArchitectures = map[string][]string{"ubuntu/noble": architectures}
		return m
	}
	cases := map[string]struct {
		reason string
		has    []string // architectures for which MAAS has ubuntu/noble
		want   infrav1.FailureDomains
	}{
		"AMD64": {"The VM host of az1 cannot run the image.", []string{"amd64"}, infrav1.FailureDomains{{Name: "az1", ControlPlane: ptr.To(false)}, {Name: "az3", ControlPlane: ptr.To(true)}}},
		"ARM64": {"The VM host of az3 cannot run the image.", []string{"arm64"}, infrav1.FailureDomains{{Name: "az1", ControlPlane: ptr.To(true)}, {Name: "az3", ControlPlane: ptr.To(false)}}},
		"Both":  {"Either VM host can run the image.", []string{"amd64", "arm64"}, infrav1.FailureDomains{{Name: "az1", ControlPlane: ptr.To(true)}, {Name: "az3", ControlPlane: ptr.To(true)}}},
		"None":  {"No VM host can run the image.", []string{"s390x"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newClusterWorld(t, model(tc.has...), withControlPlane("KubeadmControlPlane"), kubeadmControlPlane(), machineTemplate(controllertest.VMMachineSpec()))
			c := w.reconcileUntilSteady()
			if diff := cmp.Diff(tc.want, c.Status.FailureDomains); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if tc.want == nil {
				wantCondition(t, c, infrav1.FailureDomainsReadyCondition, conditionFalse, infrav1.NoCapacityReason, "image: ubuntu/noble for s390x")
			}
		})
	}
}

// TestHostsOfMAASAlone: with --composer=lxd, VM hosts that somebody registered in MAAS do not
// count, and the condition says so.
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

// TestZonesOfATemplateThatCannotBe: an invalid template removes no zone from the cluster. The
// conditions of its machines say what is wrong.
func TestZonesOfATemplateThatCannotBe(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, zoneModel(), withControlPlane("KubeadmControlPlane"), kubeadmControlPlane(),
		machineTemplate(vmSpecWithLXD(infrav1.LXDConfig{Storage: &infrav1.LXDStorageConfig{Disks: []infrav1.LXDDisk{{Size: "much"}}}})))
	if c := w.reconcileUntilSteady(); !c.Status.Ready || len(c.Status.FailureDomains) != 3 {
		t.Errorf("not ready: %+v", c.Status)
	}
}
