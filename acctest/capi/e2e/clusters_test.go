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
// its own. In the end MAAS is as it was, and nothing secret was shown.
func TestClusters(t *testing.T) {
	w := newWorld(t)
	before := w.inventory(t)
	together(t, map[string]func(*testing.T){"Mixed": w.mixed, "BareMetal": w.bareMetal, "LXDHosts": w.lxdHosts, "QuickStart": w.quickStart, "OneSpare": w.oneSpare})
	if diff := cmp.Diff(before, w.inventory(t)); diff != "" {
		t.Errorf("MAAS is not as it was before the clusters (-before +after):\n%s", diff)
	}
	if over := w.maas.Overcommits(); len(over) > 0 {
		t.Errorf("hosts were over-committed: %q", over)
	}
	w.noneShown(t)
	w.sufficed(t)
}

// together runs tests at once, however few processors there are: they mostly
// wait. Cluster API's spec does not run where -parallel is set.
func together(t *testing.T, tests map[string]func(*testing.T)) {
	t.Helper()
	var running sync.WaitGroup
	for name, test := range tests {
		running.Go(func() { t.Run(name, test) })
	}
	running.Wait()
}

// sufficed holds that the shipped rights were enough. No rights let an event be made in
// a namespace that Cluster API's spec has deleted since.
func (w *world) sufficed(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(w.log(t)) {
		if strings.Contains(line, "because it is being terminated") {
			continue
		}
		if strings.Contains(line, "forbidden") || strings.Contains(line, "panic") {
			t.Errorf("the manager's log: %s", line)
		}
	}
}

// mixed is a cluster with VMs as its control plane and workers of bare metal. It
// grows, loses a worker, moves to another management cluster, and is upgraded
// there. Its identity goes along.
func (w *world) mixed(t *testing.T) {
	c := w.begin(t, "mixed", withIdentity(t, w.generate(t, "mixed", "mixed", 1, 2, nil)))
	c.companions()
	c.awaitRunning(3, version)
	c.checkNodes(3, version)
	c.scale(3)
	c.awaitRunning(5, version)
	c.checkNodes(5, version)
	c.checkSpread("az1", "az2", "az3")
	c.checkName(3)
	c.replaceDead()
	c.secrets.collect(t, c.world, c.name)
	c = c.move(w.elsewhere(t), 5, version)
	c.checkNodes(5, version)
	c.checkName(3)
	c.upgrade(newer)
	c.awaitRunning(5, newer)
	c.checkNodes(5, newer)
	c.checkSpread("az1", "az2", "az3")
	c.checkName(3)
	c.delete()
	c.shown(t)
	c.sufficed(t)
}

// bareMetal is a cluster without VMs, of machines that no other one takes.
func (w *world) bareMetal(t *testing.T) {
	c := w.newCluster(t, "metal", "bare-metal", 1, 1, map[string]string{
		"CONTROL_PLANE_MACHINE_RESOURCEPOOL": metalPool, "WORKER_MACHINE_RESOURCEPOOL": metalPool,
	})
	c.awaitRunning(2, version)
	c.checkNodes(2, version)
	c.checkName(1)
	for _, m := range c.maasMachines(t.Context()) {
		if seen := c.machineOf(m); seen.Pool != metalPool || seen.Host != "" {
			t.Errorf("%s is %s in pool %q on host %q, want bare metal of %q", m.Name, seen.Hostname, seen.Pool, seen.Host, metalPool)
		}
	}
	c.delete()
}

// oneSpare upgrades a control plane of bare metal that has a machine in each of three
// zones, and one machine more in one of them: it never stands, and ends in three zones.
func (w *world) oneSpare(t *testing.T) {
	c := w.newCluster(t, "spare", "bare-metal", 3, 0, map[string]string{"CONTROL_PLANE_MACHINE_RESOURCEPOOL": sparePool})
	c.awaitRunning(3, version)
	c.checkZones("az1", "az2", "az3")
	c.upgrade(newer)
	c.awaitRunning(3, newer)
	c.checkNodes(3, newer)
	c.checkZones("az1", "az2", "az3")
	c.checkName(3)
	c.delete()
}

// checkNodes holds that each machine is one node of that version, known by one
// provider id.
func (c cluster) checkNodes(machines int, version string) {
	c.t.Helper()
	nodes := map[string]corev1.Node{}
	for _, n := range c.nodes() {
		nodes[n.Name] = n
		if n.Status.NodeInfo.KubeletVersion != version {
			c.t.Errorf("node %s has version %s, want %s", n.Name, n.Status.NodeInfo.KubeletVersion, version)
		}
	}
	if len(nodes) != machines {
		c.t.Errorf("%d nodes, want %d", len(nodes), machines)
	}
	owners := map[string]clusterv1.Machine{}
	for _, m := range c.machines(c.t.Context()) {
		owners[m.Spec.InfrastructureRef.Name] = m
	}
	for _, m := range c.maasMachines(c.t.Context()) {
		id, owner := ptr.Deref(m.Spec.ProviderID, ""), owners[m.Name]
		if node := nodes[owner.Status.NodeRef.Name]; id == "" || id != owner.Spec.ProviderID || id != node.Spec.ProviderID {
			c.t.Errorf("%s has the provider id %q, its Machine %q and its node %q", m.Name, id, owner.Spec.ProviderID, node.Spec.ProviderID)
		}
		if seen := c.machineOf(m); seen.StatusName != "Deployed" || !strings.HasSuffix(id, "/"+seen.SystemID) {
			c.t.Errorf("%s: %s is %s in MAAS, and the provider id %s", m.Name, seen.SystemID, seen.StatusName, id)
		}
	}
}

// nodes are those of the cluster itself.
func (c cluster) nodes() []corev1.Node {
	c.t.Helper()
	if c.workloads == nil {
		return c.realNodes()
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

// realNodes are those that a real API server lists.
func (c cluster) realNodes() []corev1.Node {
	c.t.Helper()
	inside, err := c.inside(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	all := &corev1.NodeList{}
	if err := inside.List(c.t.Context(), all); err != nil {
		c.t.Fatal(err)
	}
	return all.Items
}

// endpoint is the published one, host:port.
func (c cluster) endpoint() string {
	c.t.Helper()
	maas := &infrav1.MaasCluster{}
	c.get(c.t.Context(), c.name, maas)
	return fmt.Sprintf("%s:%d", maas.Spec.ControlPlaneEndpoint.Host, maas.Spec.ControlPlaneEndpoint.Port)
}

// controlPlane are the machines of the control plane, as MAAS has them.
func (c cluster) controlPlane() (seen []sim.Machine) {
	c.t.Helper()
	for _, m := range c.maasMachines(c.t.Context()) {
		if _, is := m.Labels[clusterv1.MachineControlPlaneLabel]; is {
			seen = append(seen, c.machineOf(m))
		}
	}
	return seen
}

// checkSpread holds that the control plane's VMs are on hosts in all of the
// zones, and that Kubernetes says the same.
func (c cluster) checkSpread(zones ...string) {
	c.t.Helper()
	var hosts, want []string
	for _, m := range c.controlPlane() {
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

// checkZones holds that the control plane has a machine in each zone, by the words of
// Kubernetes.
func (c cluster) checkZones(zones ...string) {
	c.t.Helper()
	var said []string
	for _, m := range c.maasMachines(c.t.Context()) {
		if _, is := m.Labels[clusterv1.MachineControlPlaneLabel]; is {
			said = append(said, m.Status.FailureDomain)
		}
	}
	slices.Sort(said)
	if !slices.Equal(said, zones) {
		c.t.Errorf("the control plane is in failure domains %q, want %q", said, zones)
	}
}

// checkName holds that the endpoint's name comes to lead to all machines of the
// control plane and to nothing else: nodes do not wait for it.
func (c cluster) checkName(controlPlanes int) {
	c.t.Helper()
	var want []string
	for _, m := range c.controlPlane() {
		want = append(want, m.IPAddresses...)
	}
	slices.Sort(want)
	host, _, _ := strings.Cut(c.endpoint(), ":")
	await(c.t, fmt.Sprintf("%s leads to %q", host, want), c.pace, func(ctx context.Context) string {
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

// replaceDead has the health check of an example replace a worker that loses its
// power. But it is less patient.
func (c cluster) replaceDead() {
	c.t.Helper()
	check := &clusterv1.MachineHealthCheck{}
	example(c.t, "lxd.yaml", "MachineHealthCheck", check)
	check.ObjectMeta = metav1.ObjectMeta{Namespace: c.name, Name: c.name}
	check.Spec.ClusterName = c.name
	check.Spec.Selector.MatchLabels[clusterv1.MachineDeploymentNameLabel] = c.name + "-workers"
	check.Spec.Checks.UnhealthyNodeConditions[0].TimeoutSeconds = ptr.To[int32](2)
	c.create(c.t, check)
	dead := c.worker()
	c.power(dead, "off")
	await(c.t, "the dead worker "+dead.Name+" is gone", c.pace, func(ctx context.Context) string {
		for _, m := range c.maasMachines(ctx) {
			if m.Name == dead.Name {
				return "it is there"
			}
		}
		return ""
	}, c.describe)
	c.power(dead, "unknown") // somebody mends it: the next one may be the same
	c.awaitRunning(5, version)
}

// worker is one of the workers.
func (c cluster) worker() infrav1.MaasMachine {
	c.t.Helper()
	for _, m := range c.maasMachines(c.t.Context()) {
		if _, is := m.Labels[clusterv1.MachineControlPlaneLabel]; !is {
			return m
		}
	}
	c.t.Fatal("there is no worker")
	return infrav1.MaasMachine{}
}

// power turns the machine of an object off, or to what MAAS cannot see.
func (c cluster) power(m infrav1.MaasMachine, state string) {
	c.t.Helper()
	if err := c.maas.EditMachine(c.machineOf(m).SystemID, sim.MachineEdit{PowerState: &state}); err != nil {
		c.t.Fatal(err)
	}
}
