package e2e

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestClusterLife is the life of clusters on the simulator, or on the MAAS that
// the environment names. It reads only what MAAS, its LXDs and Kubernetes show.
func TestClusterLife(t *testing.T) {
	l := newLifeWorld(t)
	t.Run("VMs", l.testVMCluster)
	t.Run("BareMetal", l.testLentMachines)
	l.wantRightsSuffice(t)
	l.secrets.collectOwn(t, l.world)
	l.wantNoSecretLogged(t)
}

// testVMCluster is a cluster of VMs. It grows and shrinks, and all of its
// machines are replaced. A dead worker is replaced, too, and the cluster is
// deleted.
func (l *lifeWorld) testVMCluster(t *testing.T) {
	c := l.newLifeCluster(t, "vms", "lxd")
	c.awaitRunning(2, l.version)
	c.checkNodes(2, l.version)
	c.checkAPIRecord(1)
	c.scaleWorkers(2)
	c.scaleControlPlane(3)
	c.awaitRunning(5, l.version)
	c.checkNodes(5, l.version)
	c.checkAPIRecord(3)
	c.scaleWorkers(1)
	c.awaitRunning(4, l.version)
	l.testRemediation(c, 4)
	c.rollMachines()
	c.awaitRunning(4, l.version)
	c.checkNodes(4, l.version)
	c.checkAPIRecord(3)
	c.scaleControlPlane(1)
	c.awaitRunning(2, l.version)
	c.checkAPIRecord(1)
	c.deleteCluster()
	l.wantNothingLeft(t)
}

// testLentMachines is a cluster whose workers are the lent machines.
func (l *lifeWorld) testLentMachines(t *testing.T) {
	if len(l.lent) < 2 {
		t.Skipf("%d machines are lent, but this needs two: name them in MAASLXD_ACC_MACHINES", len(l.lent))
	}
	c := l.newLifeCluster(t, "metal", "mixed")
	c.awaitRunning(2, l.version)
	c.checkNodes(2, l.version)
	c.scaleWorkers(2)
	c.awaitRunning(3, l.version)
	c.checkNodes(3, l.version)
	c.scaleWorkers(1)
	c.awaitRunning(2, l.version)
	l.testRemediation(c, 2)
	c.rollWorkers()
	c.awaitRunning(2, l.version)
	c.checkNodes(2, l.version)
	for _, m := range c.listMaasMachines(t.Context()) {
		seen := c.findMachine(m)
		if _, isVM := m.Labels[clusterv1.MachineControlPlaneLabel]; !isVM && !l.isLent(seen.SystemID) {
			t.Errorf("%s is machine %s, which was not lent", m.Name, seen.Hostname)
		}
	}
	c.deleteCluster()
	l.wantNothingLeft(t)
}

// newLifeCluster makes a cluster with one VM as its control plane, and one
// worker.
func (l *lifeWorld) newLifeCluster(t *testing.T, name, flavor string) cluster {
	t.Helper()
	name = l.prefix + name
	workerPool := l.hostPool
	if flavor != "lxd" {
		workerPool = l.lentPool
	}
	objects := l.generateCluster(t, name, flavor, 1, 1, map[string]string{
		"MAAS_DNS_DOMAIN": l.domain, "KUBERNETES_VERSION": l.version,
		"CONTROL_PLANE_MACHINE_IMAGE": l.image, "WORKER_MACHINE_IMAGE": l.image,
		"CONTROL_PLANE_MACHINE_MINDISK": diskGB, "WORKER_MACHINE_MINDISK": diskGB,
		"CONTROL_PLANE_MACHINE_RESOURCEPOOL": l.hostPool, "WORKER_MACHINE_RESOURCEPOOL": workerPool,
	})
	for _, o := range objects {
		switch o.GetKind() {
		case "MaasMachineTemplate":
			l.pinToVMHost(t, o)
		case "KubeadmControlPlane":
			setField(t, o, l.version, "spec", "version")
		case "MachineDeployment":
			setField(t, o, l.version, "spec", "template", "spec", "version")
		}
	}
	c := l.createCluster(t, name, objects)
	l.applyCNI(c)
	return c
}

// diskGB is the size of the disks of VMs. It is enough for an image and a node
// without pods.
const diskGB = "15"

// pinToVMHost puts the VMs of a template on the VM host that the run may use.
func (l *lifeWorld) pinToVMHost(t *testing.T, template *unstructured.Unstructured) {
	t.Helper()
	mode, _, _ := unstructured.NestedString(template.Object, "spec", "template", "spec", "provisioningMode")
	if l.vmHost != "" && mode == "lxd" {
		setField(t, template, l.vmHost, "spec", "template", "spec", "lxdConfig", "vmHost")
	}
}

// setField sets a field of an object.
func setField(t *testing.T, o *unstructured.Unstructured, value string, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// scaleWorkers changes the number of workers.
func (c cluster) scaleWorkers(to int32) {
	c.t.Helper()
	workers := &clusterv1.MachineDeployment{}
	c.getObject(c.t.Context(), c.name+"-workers", workers)
	before := workers.DeepCopy()
	workers.Spec.Replicas = ptr.To(to)
	if err := c.Patch(c.t.Context(), workers, client.MergeFrom(before)); err != nil {
		c.t.Fatal(err)
	}
}

// moreMemory is the memory in MiB that a rolling update adds to machines.
const moreMemory = 512

// rollMachines makes Cluster API replace all machines with ones that have more
// memory.
func (c cluster) rollMachines() {
	c.t.Helper()
	old := c.systemIDs(func(infrav1.MaasMachine) bool { return true })
	c.replaceTemplates("", "larger", func(s *infrav1.MaasMachineSpec) { *s.MinMemoryInMB += moreMemory })
	c.awaitReplaced(old)
}

// rollWorkers makes Cluster API replace the workers: with others, or with those
// that are released.
func (c cluster) rollWorkers() {
	c.t.Helper()
	names := map[string]bool{}
	for _, m := range c.listWorkers() {
		names[m.Name] = true
	}
	c.replaceWorkersTemplate("", "larger", func(s *infrav1.MaasMachineSpec) { *s.MinMemoryInMB += moreMemory })
	waitFor(c.t, c.name+": the workers are others", c.polling, func(ctx context.Context) string {
		for _, m := range c.listMaasMachines(ctx) {
			if names[m.Name] {
				return m.Name + " is there"
			}
		}
		return ""
	}, c.describe)
}

// listWorkers are the objects of the workers.
func (c cluster) listWorkers() (found []infrav1.MaasMachine) {
	c.t.Helper()
	for _, m := range c.listMaasMachines(c.t.Context()) {
		if _, is := m.Labels[clusterv1.MachineControlPlaneLabel]; !is {
			found = append(found, m)
		}
	}
	return found
}

// systemIDs are the ids of those machines that the predicate chooses.
func (c cluster) systemIDs(some func(infrav1.MaasMachine) bool) map[string]bool {
	c.t.Helper()
	ids := map[string]bool{}
	for _, m := range c.listMaasMachines(c.t.Context()) {
		if some(m) {
			ids[ptr.Deref(m.Spec.SystemID, "")] = true
		}
	}
	return ids
}

// awaitReplaced waits until none of the machines is in the cluster.
func (c cluster) awaitReplaced(old map[string]bool) {
	c.t.Helper()
	waitFor(c.t, c.name+": all machines are others", c.polling, func(ctx context.Context) string {
		for _, m := range c.listMaasMachines(ctx) {
			if old[ptr.Deref(m.Spec.SystemID, "")] {
				return m.Name + " is there"
			}
		}
		return ""
	}, c.describe)
}

// testRemediation lets a health check replace a worker that dies.
func (l *lifeWorld) testRemediation(c cluster, machines int) {
	c.t.Helper()
	check := &clusterv1.MachineHealthCheck{}
	readExample(c.t, "lxd.yaml", "MachineHealthCheck", check)
	check.ObjectMeta = metav1.ObjectMeta{Namespace: c.name, Name: c.name}
	check.Spec.ClusterName = c.name
	check.Spec.Selector.MatchLabels[clusterv1.MachineDeploymentNameLabel] = c.name + "-workers"
	check.Spec.Checks.UnhealthyNodeConditions[0].TimeoutSeconds = ptr.To(l.deadAfterSeconds)
	check.Spec.Checks.NodeStartupTimeoutSeconds = ptr.To(int32(l.polling.timeout.Seconds()))
	c.createObjects(c.t, check)
	dead := c.listWorkers()[0]
	mend := l.stopMachine(c.t, c.findMachine(dead))
	waitFor(c.t, fmt.Sprintf("%s: the dead worker %s is gone", c.name, dead.Name), c.polling, func(ctx context.Context) string {
		for _, m := range c.listMaasMachines(ctx) {
			if m.Name == dead.Name {
				return "it is there"
			}
		}
		return ""
	}, c.describe)
	mend() // the next worker may be the same machine
	c.awaitRunning(machines, l.version)
	if err := c.Delete(c.t.Context(), check); err != nil {
		c.t.Fatal(err)
	}
}
