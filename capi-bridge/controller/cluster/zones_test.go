package cluster_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// zoneModel is a MAAS with VM hosts in az1, Ready machines in az2, both in az3,
// and nothing in the zone empty. The machines and hosts of az3 are in the pool
// "big", and bigger.
func zoneModel() sim.Model {
	return sim.Model{
		Zones: []string{"az1", "az2", "az3", "empty"}, Pools: []string{"big"},
		Hosts: []sim.HostModel{{Name: "h1", Cores: 8, MemoryMiB: 16384, Zone: "az1"}, {Name: "h3", Cores: 16, MemoryMiB: 65536, Zone: "az3", Pool: "big",
			StoragePools: []sim.StoragePoolModel{{Name: "default", SizeGB: 900, Default: true}, {Name: "fast", SizeGB: 500}}}},
		Machines: []sim.MachineModel{{Hostname: "bm2", Zone: "az2"}, {Hostname: "bm3", Zone: "az3", Pool: "big", Cores: 16, MemoryMiB: 65536, DiskGB: 900}},
	}
}

// kubeadmControlPlane is the control plane of kubeadm.
func kubeadmControlPlane() *unstructured.Unstructured {
	return controllertest.NewControlPlane("KubeadmControlPlane", "spec", "machineTemplate", "spec", "infrastructureRef")
}

// machineTemplate is what the machines of the control plane are made from.
func machineTemplate(spec infrav1.MaasMachineSpec) *infrav1.MaasMachineTemplate {
	return &infrav1.MaasMachineTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "cp"},
		Spec:       infrav1.MaasMachineTemplateSpec{Template: infrav1.MaasMachineTemplateResource{Spec: spec}},
	}
}

// vmSpecWithLXD is a template's VM of which more is said.
func vmSpecWithLXD(config infrav1.LXDConfig) infrav1.MaasMachineSpec {
	return controllertest.WithChange(controllertest.VMMachineSpec(), func(m *infrav1.MaasMachineSpec) { m.LXDConfig = &config })
}

// withControlPlane names the control plane in the Cluster.
func withControlPlane(kind string) func(*clusterv1.Cluster, *infrav1.MaasCluster) {
	return func(c *clusterv1.Cluster, _ *infrav1.MaasCluster) {
		c.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: kind, Name: "cp"}
	}
}

// TestZonesOfTheControlPlane: a control plane is offered zones that have room for
// what its machines are to be. Workers may be elsewhere, too.
func TestZonesOfTheControlPlane(t *testing.T) {
	t.Parallel()
	const kcp = "KubeadmControlPlane"
	zones := func(az1, az2, az3 bool) infrav1.FailureDomains {
		return infrav1.FailureDomains{
			{Name: "az1", ControlPlane: ptr.To(az1)}, {Name: "az2", ControlPlane: ptr.To(az2)}, {Name: "az3", ControlPlane: ptr.To(az3)},
		}
	}
	cases := map[string]struct {
		reason  string
		kind    string
		objects []client.Object
		members map[string]clusterMachine
		want    infrav1.FailureDomains
	}{
		"VMs":   {"VMs need a VM host.", kcp, []client.Object{kubeadmControlPlane(), machineTemplate(controllertest.VMMachineSpec())}, nil, zones(true, false, true)},
		"Metal": {"Bare metal needs a Ready machine, wherever the workers' VMs may be.", kcp, []client.Object{kubeadmControlPlane(), machineTemplate(controllertest.MetalMachineSpec())}, nil, zones(false, true, true)},
		"PoolOfVMs": {
			"VMs of a resource pool need a VM host of it.", kcp,
			[]client.Object{kubeadmControlPlane(), machineTemplate(controllertest.WithChange(controllertest.VMMachineSpec(), func(m *infrav1.MaasMachineSpec) { m.ResourcePool = ptr.To("big") }))}, nil, zones(false, false, true),
		},
		"BigVMs": {
			"A VM host with room for a small VM is no use to a big one.", kcp,
			[]client.Object{kubeadmControlPlane(), machineTemplate(controllertest.WithChange(controllertest.VMMachineSpec(), func(m *infrav1.MaasMachineSpec) { m.MinMemoryInMB = ptr.To(32768) }))}, nil, zones(false, false, true),
		},
		"PoolOfMetal": {
			"Machines of another resource pool are none to choose from.", kcp,
			[]client.Object{kubeadmControlPlane(), machineTemplate(controllertest.WithChange(controllertest.MetalMachineSpec(), func(m *infrav1.MaasMachineSpec) { m.ResourcePool = ptr.To("big") }))}, nil, zones(false, false, true),
		},
		"BigDisk": {
			"Machines that are too small are none, either.", kcp,
			[]client.Object{kubeadmControlPlane(), machineTemplate(controllertest.WithChange(controllertest.MetalMachineSpec(), func(m *infrav1.MaasMachineSpec) { m.MinDiskSizeInGB = ptr.To(800) }))}, nil, zones(false, false, true),
		},
		"OlderContract": {
			"The template stood elsewhere in v1beta1.", "OldControlPlane",
			[]client.Object{controllertest.NewControlPlane("OldControlPlane", "spec", "machineTemplate", "infrastructureRef"), machineTemplate(controllertest.VMMachineSpec())}, nil, zones(true, false, true),
		},
		"SmallStoragePool": {
			"The root disk must find room.", kcp,
			[]client.Object{kubeadmControlPlane(), machineTemplate(controllertest.WithChange(controllertest.VMMachineSpec(), func(m *infrav1.MaasMachineSpec) { m.MinDiskSizeInGB = ptr.To(600) }))}, nil, zones(false, false, true),
		},
		"StoragePool": {
			"It must find it in the storage pool that is named.", kcp,
			[]client.Object{kubeadmControlPlane(), machineTemplate(vmSpecWithLXD(infrav1.LXDConfig{Storage: &infrav1.LXDStorageConfig{Pool: "fast"}}))}, nil, zones(false, false, true),
		},
		"DataDisk": {
			"So must other disks.", kcp,
			[]client.Object{kubeadmControlPlane(), machineTemplate(vmSpecWithLXD(infrav1.LXDConfig{Storage: &infrav1.LXDStorageConfig{Disks: []infrav1.LXDDisk{{Size: "600GB"}}}}))}, nil,
			zones(false, false, true),
		},
		"NamedHost": {
			"A host that is named is in one zone.", kcp,
			[]client.Object{kubeadmControlPlane(), machineTemplate(vmSpecWithLXD(infrav1.LXDConfig{VMHost: ptr.To("h1")}))}, nil, zones(true, false, false),
		},
		"InUse": {
			"A full zone is listed as long as machines are in it, and offered to no more of them while others have room.", kcp,
			[]client.Object{kubeadmControlPlane(), machineTemplate(controllertest.VMMachineSpec())},
			map[string]clusterMachine{"cp-1": {zone: "empty"}, "md-1": {zone: "az2", worker: true}},
			append(zones(true, false, true), clusterv1.FailureDomain{Name: "empty", ControlPlane: ptr.To(false)}),
		},
		"AllFull": {
			"Where none has room, that of the control plane is where room comes back; where only workers are, it need not be.", kcp,
			[]client.Object{kubeadmControlPlane(), machineTemplate(controllertest.WithChange(controllertest.VMMachineSpec(), func(m *infrav1.MaasMachineSpec) { m.MinMemoryInMB = ptr.To(1 << 20) }))},
			map[string]clusterMachine{"cp-1": {zone: "az1"}, "cp-2": {zone: "empty"}, "md-1": {zone: "az2", worker: true}},
			append(zones(true, false, false), clusterv1.FailureDomain{Name: "empty", ControlPlane: ptr.To(true)}),
		},
		"Hosted": {"A control plane without machines needs none.", "HostedControlPlane", []client.Object{controllertest.NewControlPlane("HostedControlPlane")}, nil, zones(true, true, true)},
		"Secret": {"A control plane that the manager may not read is no reason to wait.", controllertest.ForbiddenControlPlaneKind, nil, nil, zones(true, true, true)},
		"None":   {"A user who makes machines by hand names the zones.", "", nil, nil, zones(true, true, true)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := withControlPlane(tc.kind)
			if tc.kind == "" {
				change = nil
			}
			w := newClusterWorld(t, zoneModel(), change, tc.objects...)
			for member, m := range tc.members {
				w.addMachine(member, m)
			}
			c := w.reconcileUntilSteady()
			if diff := cmp.Diff(tc.want, c.Status.FailureDomains); diff != "" || !c.Status.Ready {
				t.Errorf("%s\nready: %v, -want +got:\n%s", tc.reason, c.Status.Ready, diff)
			}
		})
	}
}

// TestControlPlaneThatIsMadeLater: machines are not asked for before it is known
// what they are to be: the control plane chooses a zone at once.
func TestControlPlaneThatIsMadeLater(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, zoneModel(), withControlPlane("KubeadmControlPlane"))
	for _, missing := range []struct {
		says string
		make client.Object
	}{{"no KubeadmControlPlane cp", kubeadmControlPlane()}, {"no MaasMachineTemplate cp", machineTemplate(controllertest.VMMachineSpec())}} {
		result, err := w.reconcileOnce()
		if result.RequeueAfter == 0 { // it was the turn of the finalizer
			result, err = w.reconcileOnce()
		}
		if err != nil || result.RequeueAfter > 10*time.Second {
			t.Errorf("again after %v, %v", result.RequeueAfter, err)
		}
		c := w.findMaasCluster()
		wantCondition(t, c, infrav1.FailureDomainsReadyCondition, conditionFalse, infrav1.ControlPlaneNotFoundReason, missing.says)
		if c.Status.Ready || len(c.Status.FailureDomains) > 0 {
			t.Errorf("zones are offered already: %+v", c.Status)
		}
		if err := w.client.Create(t.Context(), missing.make); err != nil {
			t.Fatal(err)
		}
	}
	if c := w.reconcileUntilSteady(); !c.Status.Ready || len(c.Status.FailureDomains) != 3 {
		t.Errorf("not ready: %+v", c.Status)
	}
	if n := len(w.recorder.Events); n != 1 { // that the zones are known
		t.Errorf("%d events", n)
	}
}

// TestZonesOfAClusterThatGoes: its control plane goes first, and nothing is said
// of that.
func TestZonesOfAClusterThatGoes(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, zoneModel(), func(c *clusterv1.Cluster, m *infrav1.MaasCluster) {
		withControlPlane("KubeadmControlPlane")(c, m)
		c.Finalizers = []string{clusterv1.ClusterFinalizer}
	}, kubeadmControlPlane(), machineTemplate(controllertest.VMMachineSpec()))
	before := w.reconcileUntilSteady().Status.FailureDomains
	w.deleteObject(newCluster())
	w.deleteObject(kubeadmControlPlane())
	c := w.reconcileUntilSteady()
	if diff := cmp.Diff(before, c.Status.FailureDomains); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	wantCondition(t, c, infrav1.FailureDomainsReadyCondition, conditionTrue, infrav1.FailureDomainsReadyReason, "")
}

// TestControlPlaneThatCannotBeRead: whoever converts it may be away while it is
// upgraded, and a template may be deleted. A cluster that runs keeps its zones, and
// its name follows its machines.
func TestControlPlaneThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, zoneModel(), withControlPlane("KubeadmControlPlane"), kubeadmControlPlane(), machineTemplate(controllertest.VMMachineSpec()))
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	before := w.reconcileUntilSteady().Status.FailureDomains
	w.Client = interceptor.NewClient(w.client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if o.GetObjectKind().GroupVersionKind().Kind == "KubeadmControlPlane" {
				return apierrors.NewInternalError(errors.New("conversion webhook failed"))
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	w.setMachineStatus("m1", clusterMachine{addresses: []string{"10.77.0.12"}})
	if _, err := w.reconcileOnce(); !apierrors.IsInternalError(err) {
		t.Errorf("got %v", err)
	}
	if got := w.publishedAddresses(testHost); got != "10.77.0.12" {
		t.Errorf("the name points to %s", got)
	}
	w.Client = w.client
	w.deleteObject(kubeadmControlPlane())
	w.setMachineStatus("m1", clusterMachine{addresses: []string{"10.77.0.13"}})
	c := w.reconcileUntilSteady()
	if diff := cmp.Diff(before, c.Status.FailureDomains); diff != "" {
		t.Errorf("-before +after:\n%s", diff)
	}
	wantCondition(t, c, infrav1.FailureDomainsReadyCondition, conditionTrue, infrav1.FailureDomainsReadyReason, "")
	if got := w.publishedAddresses(testHost); got != "10.77.0.13" {
		t.Errorf("the name points to %s", got)
	}
}
