package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestClusters makes several clusters at once on one MAAS, each with a story of
// its own. At the end MAAS is as before, and no secret was shown.
func TestClusters(t *testing.T) {
	w := newWorld(t)
	before := w.readInventory(t)
	runConcurrently(t, map[string]func(*testing.T){"Mixed": w.testMixedCluster, "BareMetal": w.testBareMetalCluster, "LXDHosts": w.testLXDHosts, "QuickStart": w.testQuickStart, "OneSpare": w.testOneSpare})
	if diff := cmp.Diff(before, w.readInventory(t)); diff != "" {
		t.Errorf("MAAS is not as it was before the clusters (-before +after):\n%s", diff)
	}
	if over := w.maas.Overcommits(); len(over) > 0 {
		t.Errorf("hosts were over-committed: %q", over)
	}
	w.wantNoSecretShown(t)
	w.wantRightsSuffice(t)
}

// runConcurrently runs tests at once even on few processors, because they
// mostly wait. Cluster API's spec does not run where -parallel is set.
func runConcurrently(t *testing.T, tests map[string]func(*testing.T)) {
	t.Helper()
	var running sync.WaitGroup
	for name, test := range tests {
		running.Go(func() { t.Run(name, test) })
	}
	running.Wait()
}

// wantRightsSuffice checks that the shipped rights were enough. No right allows
// an event in a namespace that Cluster API's spec has deleted.
func (w *world) wantRightsSuffice(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(w.readManagerLog(t)) {
		if strings.Contains(line, "because it is being terminated") {
			continue
		}
		if strings.Contains(line, "forbidden") || strings.Contains(line, "panic") {
			t.Errorf("the manager's log: %s", line)
		}
	}
}

// testMixedCluster is a cluster with VMs as its control plane and workers of
// bare metal. It grows, loses a worker, moves to another management cluster,
// and is upgraded there. Its identity moves with it.
func (w *world) testMixedCluster(t *testing.T) {
	c := w.createCluster(t, "mixed", withIdentity(t, w.generateCluster(t, "mixed", "mixed", 1, 2, nil)))
	c.createCompanions()
	c.awaitRunning(3, version)
	c.checkNodes(3, version)
	c.scaleControlPlane(3)
	c.awaitRunning(5, version)
	c.checkNodes(5, version)
	c.checkSpread("az1", "az2", "az3")
	c.checkAPIRecord(3)
	c.testHealthCheck()
	c.secrets.collect(t, c.world, c.name)
	c = c.moveTo(w.newManagementCluster(t), 5, version)
	c.checkNodes(5, version)
	c.checkAPIRecord(3)
	c.upgrade(newerVersion)
	c.awaitRunning(5, newerVersion)
	c.checkNodes(5, newerVersion)
	c.checkSpread("az1", "az2", "az3")
	c.checkAPIRecord(3)
	c.deleteCluster()
	c.wantNoSecretLogged(t)
	c.wantRightsSuffice(t)
}

// testBareMetalCluster is a cluster without VMs, of machines that no other
// cluster takes.
func (w *world) testBareMetalCluster(t *testing.T) {
	c := w.newCluster(t, "metal", "bare-metal", 1, 1, map[string]string{
		"CONTROL_PLANE_MACHINE_RESOURCEPOOL": metalPool, "WORKER_MACHINE_RESOURCEPOOL": metalPool,
	})
	c.awaitRunning(2, version)
	c.checkNodes(2, version)
	c.checkAPIRecord(1)
	for _, m := range c.listMaasMachines(t.Context()) {
		if seen := c.findMachine(m); seen.Pool != metalPool || seen.Host != "" {
			t.Errorf("%s is %s in pool %q on host %q, want bare metal of %q", m.Name, seen.Hostname, seen.Pool, seen.Host, metalPool)
		}
	}
	c.deleteCluster()
}

// testOneSpare upgrades a control plane of bare metal with one machine in each
// of three zones. One zone has one more machine. The upgrade never stops, and
// ends with a machine in each zone.
func (w *world) testOneSpare(t *testing.T) {
	c := w.newCluster(t, "spare", "bare-metal", 3, 0, map[string]string{"CONTROL_PLANE_MACHINE_RESOURCEPOOL": sparePool})
	c.awaitRunning(3, version)
	c.checkZones("az1", "az2", "az3")
	c.upgrade(newerVersion)
	c.awaitRunning(3, newerVersion)
	c.checkNodes(3, newerVersion)
	c.checkZones("az1", "az2", "az3")
	c.checkAPIRecord(3)
	c.deleteCluster()
}

// checkNodes checks that each machine is one node of that version, known by one
// provider id.
func (c cluster) checkNodes(machines int, version string) {
	c.t.Helper()
	nodes := map[string]corev1.Node{}
	for _, n := range c.listNodes() {
		nodes[n.Name] = n
		if n.Status.NodeInfo.KubeletVersion != version {
			c.t.Errorf("node %s has version %s, want %s", n.Name, n.Status.NodeInfo.KubeletVersion, version)
		}
	}
	if len(nodes) != machines {
		c.t.Errorf("%d nodes, want %d", len(nodes), machines)
	}
	owners := map[string]clusterv1.Machine{}
	for _, m := range c.listMachines(c.t.Context()) {
		owners[m.Spec.InfrastructureRef.Name] = m
	}
	for _, m := range c.listMaasMachines(c.t.Context()) {
		id, owner := ptr.Deref(m.Spec.ProviderID, ""), owners[m.Name]
		if node := nodes[owner.Status.NodeRef.Name]; id == "" || id != owner.Spec.ProviderID || id != node.Spec.ProviderID {
			c.t.Errorf("%s has the provider id %q, its Machine %q and its node %q", m.Name, id, owner.Spec.ProviderID, node.Spec.ProviderID)
		}
		if seen := c.findMachine(m); seen.StatusName != "Deployed" || !strings.HasSuffix(id, "/"+seen.SystemID) {
			c.t.Errorf("%s: %s is %s in MAAS, and the provider id %s", m.Name, seen.SystemID, seen.StatusName, id)
		}
	}
}

// listNodes are the nodes in the cluster's own API server.
func (c cluster) listNodes() []corev1.Node {
	c.t.Helper()
	if c.workloads == nil {
		return c.listRealNodes()
	}
	for _, each := range c.workloads.Clusters() {
		if each.Endpoint == c.endpoint() {
			nodes, err := each.Nodes(c.t.Context())
			if err != nil {
				c.t.Fatal(err)
			}
			return nodes
		}
	}
	c.t.Fatalf("no machine has made a cluster at %s", c.endpoint())
	return nil
}

// listRealNodes are the nodes in a real API server.
func (c cluster) listRealNodes() []corev1.Node {
	c.t.Helper()
	inside, err := c.workloadClient(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	all := &corev1.NodeList{}
	if err := inside.List(c.t.Context(), all); err != nil {
		c.t.Fatal(err)
	}
	return all.Items
}

// endpoint is the published endpoint, host:port.
func (c cluster) endpoint() string {
	c.t.Helper()
	maas := &infrav1.MaasCluster{}
	c.getObject(c.t.Context(), c.name, maas)
	return fmt.Sprintf("%s:%d", maas.Spec.ControlPlaneEndpoint.Host, maas.Spec.ControlPlaneEndpoint.Port)
}

// controlPlaneMachines are the machines of the control plane, as MAAS has them.
func (c cluster) controlPlaneMachines() (seen []sim.Machine) {
	c.t.Helper()
	for _, m := range c.listMaasMachines(c.t.Context()) {
		if _, is := m.Labels[clusterv1.MachineControlPlaneLabel]; is {
			seen = append(seen, c.findMachine(m))
		}
	}
	return seen
}

// checkSpread checks that the control plane's VMs are on hosts in all the
// zones, and that Kubernetes says the same.
func (c cluster) checkSpread(zones ...string) {
	c.t.Helper()
	var hosts, want []string
	for _, m := range c.controlPlaneMachines() {
		hosts = append(hosts, m.Host)
	}
	for _, zone := range zones {
		want = append(want, "lxd-"+zone)
	}
	slices.Sort(hosts)
	if !slices.Equal(hosts, want) {
		c.t.Errorf("the control plane is on hosts %q, want %q", hosts, want)
	}
	c.checkZones(zones...)
}

// checkZones checks that Kubernetes shows a control-plane machine in each zone.
func (c cluster) checkZones(zones ...string) {
	c.t.Helper()
	var said []string
	for _, m := range c.listMaasMachines(c.t.Context()) {
		if _, is := m.Labels[clusterv1.MachineControlPlaneLabel]; is {
			said = append(said, m.Status.FailureDomain)
		}
	}
	slices.Sort(said)
	if !slices.Equal(said, zones) {
		c.t.Errorf("the control plane is in failure domains %q, want %q", said, zones)
	}
}

// checkAPIRecord waits until the endpoint's name leads to all machines of the
// control plane and to nothing else. Nodes do not wait for that.
func (c cluster) checkAPIRecord(controlPlanes int) {
	c.t.Helper()
	var want []string
	for _, m := range c.controlPlaneMachines() {
		want = append(want, m.IPAddresses...)
	}
	slices.Sort(want)
	host, _, _ := strings.Cut(c.endpoint(), ":")
	waitFor(c.t, fmt.Sprintf("%s leads to %q", host, want), c.polling, func(ctx context.Context) string {
		have, err := c.site.Resolve(ctx, host)
		if err != nil {
			return err.Error()
		}
		slices.Sort(have)
		if len(have) != controlPlanes || !slices.Equal(have, want) {
			return fmt.Sprintf("it leads to %q", have)
		}
		return ""
	}, c.describe)
}

// testHealthCheck uses the health check of an example, with shorter timeouts.
// It replaces a worker that loses its power.
func (c cluster) testHealthCheck() {
	c.t.Helper()
	check := &clusterv1.MachineHealthCheck{}
	readExample(c.t, "lxd.yaml", "MachineHealthCheck", check)
	check.ObjectMeta = metav1.ObjectMeta{Namespace: c.name, Name: c.name}
	check.Spec.ClusterName = c.name
	check.Spec.Selector.MatchLabels[clusterv1.MachineDeploymentNameLabel] = c.name + "-workers"
	check.Spec.Checks.UnhealthyNodeConditions[0].TimeoutSeconds = ptr.To[int32](2)
	c.createObjects(c.t, check)
	dead := c.anyWorker()
	c.setPower(dead, "off")
	waitFor(c.t, "the dead worker "+dead.Name+" is gone", c.polling, func(ctx context.Context) string {
		for _, m := range c.listMaasMachines(ctx) {
			if m.Name == dead.Name {
				return "it is there"
			}
		}
		return ""
	}, c.describe)
	c.setPower(dead, "unknown") // somebody repairs it: the next worker may be the same machine
	c.awaitRunning(5, version)
}

// anyWorker is one of the workers.
func (c cluster) anyWorker() infrav1.MaasMachine {
	c.t.Helper()
	for _, m := range c.listMaasMachines(c.t.Context()) {
		if _, is := m.Labels[clusterv1.MachineControlPlaneLabel]; !is {
			return m
		}
	}
	c.t.Fatal("there is no worker")
	return infrav1.MaasMachine{}
}

// setPower turns the machine of an object off, or to a state that MAAS cannot
// see.
func (c cluster) setPower(m infrav1.MaasMachine, state string) {
	c.t.Helper()
	if err := c.maas.EditMachine(c.findMachine(m).SystemID, sim.MachineEdit{PowerState: &state}); err != nil {
		c.t.Fatal(err)
	}
}
