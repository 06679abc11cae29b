package cluster_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// reachableWorkload is a workload cluster that can be reached.
type reachableWorkload struct{ client.Client }

func (r reachableWorkload) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	return r.Client, nil
}

// TestNothingIsLeftInWorkloadClusters: CAPMaaS copied MAAS's key into each cluster
// whose machines were to become LXD hosts, and labelled the namespaces of all.
func TestNothingIsLeftInWorkloadClusters(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, func(c *clusterv1.Cluster, m *infrav1.MaasCluster) {
		m.Spec.LXDControlPlaneCluster = ptr.To(true)
		c.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	})
	workload := fake.NewClientBuilder().WithScheme(clusterScheme(t)).Build()
	w.Workloads = reachableWorkload{workload}
	w.addMachine("m1", clusterMachine{bareMetal: true, addresses: []string{"10.77.0.11"}})
	wantCondition(t, w.reconcileUntilSteady(), infrav1.APIServerAvailableCondition, conditionTrue, infrav1.APIServerAvailableReason, "")
	for _, list := range []client.ObjectList{&corev1.SecretList{}, &corev1.NamespaceList{}, &corev1.ConfigMapList{}} {
		if err := workload.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if n := meta.LenList(list); n > 0 {
			t.Errorf("%d objects are in the workload cluster: %+v", n, list)
		}
	}
}

// TestReconcilesShareConnections: CAPMaaS left two connections open each time.
func TestReconcilesShareConnections(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}})
	for range 100 {
		w.now = w.now.Add(10 * time.Minute) // nothing that was read serves any more
		if _, err := w.reconcileOnce(); err != nil {
			t.Fatal(err)
		}
	}
	j := w.maas.Journal()
	if j.Connections > 16 {
		t.Errorf("%d connections for %d calls", j.Connections, j.Total())
	}
	if j.Total() < 100 {
		t.Errorf("only %d calls: nothing was looked at", j.Total())
	}
}

// TestNameOfAnIncumbentThatGoes: a cluster of an earlier provider that is being
// deleted when we first see it leaves no record behind.
func TestNameOfAnIncumbentThatGoes(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, func(_ *clusterv1.Cluster, m *infrav1.MaasCluster) {
		m.Finalizers = []string{infrav1.ClusterFinalizer}
		m.Status.Network.DNSName = "c1-abc123.maas"
	})
	publishByOther(t, w, "c1-abc123", "10.77.0.11")
	w.deleteObject(w.findMaasCluster())
	if c := w.reconcileUntilSteady(); c != nil {
		t.Fatalf("it is still there: %+v", c.Status.Conditions)
	}
	if got := w.publishedAddresses("c1-abc123.maas"); got != "none" {
		t.Errorf("the name points to %s", got)
	}
}

// TestMaasClusterWithoutVMHosts: where VM hosts are removed, bare metal is room
// still, and names are published all the same.
func TestMaasClusterWithoutVMHosts(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{
		MAASVersion: sim.VersionGone, Zones: []string{"az1", "az2"},
		Hosts:    []sim.HostModel{{Name: "h1", Cores: 8, MemoryMiB: 16384, Zone: "az1", Unregistered: true}},
		Machines: []sim.MachineModel{{Hostname: "bm2", Zone: "az2"}},
	}, nil)
	w.addMachine("m1", clusterMachine{addresses: []string{"10.77.0.11"}, zone: "az2", bareMetal: true})
	c := w.reconcileUntilSteady()
	if len(c.Status.FailureDomains) != 1 || c.Status.FailureDomains[0].Name != "az2" || !c.Status.Ready {
		t.Errorf("%+v", c.Status)
	}
	if got := w.publishedAddresses(testHost); got != "10.77.0.11" {
		t.Errorf("the name points to %s", got)
	}
}

// TestNoCapacity: without any room nobody is told to make machines.
func TestNoCapacity(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{MAASVersion: sim.VersionGone, Hosts: []sim.HostModel{{Name: "h1", Cores: 8, MemoryMiB: 16384, Unregistered: true}}}, nil)
	c := w.reconcileUntilSteady()
	wantCondition(t, c, infrav1.FailureDomainsReadyCondition, conditionFalse, infrav1.NoCapacityReason, "spec.failureDomains")
	if c.Status.Ready || len(c.Status.FailureDomains) > 0 {
		t.Errorf("%+v", c.Status)
	}
}
