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

// TestClusterLife is the life of clusters on the simulator, or on the MAAS that the
// environment names. It reads nothing but what MAAS, its LXDs and Kubernetes tell.
func TestClusterLife(t *testing.T) {
	l := newLife(t)
	t.Run("VMs", l.vms)
	t.Run("BareMetal", l.bareMetal)
	l.sufficed(t)
	l.secrets.collectOwn(t, l.world)
	l.shown(t)
}

// vms is a cluster of VMs: it grows and shrinks, all of its machines are replaced, a
// dead worker too, and it is deleted.
func (l *life) vms(t *testing.T) {
	c := l.cluster(t, "vms", "lxd")
	c.awaitRunning(2, l.version)
	c.checkNodes(2, l.version)
	c.checkName(1)
	c.scaleWorkers(2)
	c.scale(3)
	c.awaitRunning(5, l.version)
	c.checkNodes(5, l.version)
	c.checkName(3)
	c.scaleWorkers(1)
	c.awaitRunning(4, l.version)
	l.remediate(c, 4)
	c.roll()
	c.awaitRunning(4, l.version)
	c.checkNodes(4, l.version)
	c.checkName(3)
	c.scale(1)
	c.awaitRunning(2, l.version)
	c.checkName(1)
	c.delete()
	l.nothingLeft(t)
}

// bareMetal is a cluster whose workers are the machines that are lent.
func (l *life) bareMetal(t *testing.T) {
	if len(l.lent) < 2 {
		t.Skipf("%d machines are lent, and it takes two: MAASLXD_ACC_MACHINES names them", len(l.lent))
	}
	c := l.cluster(t, "metal", "mixed")
	c.awaitRunning(2, l.version)
	c.checkNodes(2, l.version)
	c.scaleWorkers(2)
	c.awaitRunning(3, l.version)
	c.checkNodes(3, l.version)
	c.scaleWorkers(1)
	c.awaitRunning(2, l.version)
	l.remediate(c, 2)
	c.rollWorkers()
	c.awaitRunning(2, l.version)
	c.checkNodes(2, l.version)
	for _, m := range c.maasMachines(t.Context()) {
		seen := c.machineOf(m)
		if _, isVM := m.Labels[clusterv1.MachineControlPlaneLabel]; !isVM && !l.isLent(seen.SystemID) {
			t.Errorf("%s is machine %s, which was not lent", m.Name, seen.Hostname)
		}
	}
	c.delete()
	l.nothingLeft(t)
}

// cluster makes one with a control plane of one VM, and one worker.
func (l *life) cluster(t *testing.T, name, flavor string) cluster {
	t.Helper()
	name = l.prefix + name
	workerPool := l.hostPool
	if flavor != "lxd" {
		workerPool = l.lentPool
	}
	objects := l.generate(t, name, flavor, 1, 1, map[string]string{
		"MAAS_DNS_DOMAIN": l.domain, "KUBERNETES_VERSION": l.version,
		"CONTROL_PLANE_MACHINE_IMAGE": l.image, "WORKER_MACHINE_IMAGE": l.image,
		"CONTROL_PLANE_MACHINE_MINDISK": diskGB, "WORKER_MACHINE_MINDISK": diskGB,
		"CONTROL_PLANE_MACHINE_RESOURCEPOOL": l.hostPool, "WORKER_MACHINE_RESOURCEPOOL": workerPool,
	})
	for _, o := range objects {
		switch o.GetKind() {
		case "MaasMachineTemplate":
			l.pin(t, o)
		case "KubeadmControlPlane":
			set(t, o, l.version, "spec", "version")
		case "MachineDeployment":
			set(t, o, l.version, "spec", "template", "spec", "version")
		}
	}
	c := l.begin(t, name, objects)
	l.giveNetwork(c)
	return c
}

// diskGB is the size of the disks of VMs: enough for an image and a node of no pods.
const diskGB = "15"

// pin puts the VMs of a template on the VM host that may be used.
func (l *life) pin(t *testing.T, template *unstructured.Unstructured) {
	t.Helper()
	mode, _, _ := unstructured.NestedString(template.Object, "spec", "template", "spec", "provisioningMode")
	if l.vmHost != "" && mode == "lxd" {
		set(t, template, l.vmHost, "spec", "template", "spec", "lxdConfig", "vmHost")
	}
}

// set sets a field of an object.
func set(t *testing.T, o *unstructured.Unstructured, value string, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// scaleWorkers changes the number of workers.
func (c cluster) scaleWorkers(to int32) {
	c.t.Helper()
	workers := &clusterv1.MachineDeployment{}
	c.get(c.t.Context(), c.name+"-workers", workers)
	before := workers.DeepCopy()
	workers.Spec.Replicas = ptr.To(to)
	if err := c.Patch(c.t.Context(), workers, client.MergeFrom(before)); err != nil {
		c.t.Fatal(err)
	}
}

// moreMemory is what machines get more by a rolling update.
const moreMemory = 512

// roll has all machines replaced by ones with more memory.
func (c cluster) roll() {
	c.t.Helper()
	old := c.systemIDs(func(infrav1.MaasMachine) bool { return true })
	c.replaceTemplates("", "larger", func(s *infrav1.MaasMachineSpec) { *s.MinMemoryInMB += moreMemory })
	c.awaitReplaced(old)
}

// rollWorkers has the workers replaced: by others, or by those that are given back.
func (c cluster) rollWorkers() {
	c.t.Helper()
	names := map[string]bool{}
	for _, m := range c.workers() {
		names[m.Name] = true
	}
	c.replaceWorkersTemplate("", "larger", func(s *infrav1.MaasMachineSpec) { *s.MinMemoryInMB += moreMemory })
	await(c.t, c.name+": the workers are others", c.pace, func(ctx context.Context) string {
		for _, m := range c.maasMachines(ctx) {
			if names[m.Name] {
				return m.Name + " is there"
			}
		}
		return ""
	}, c.describe)
}

// workers are the objects of the workers.
func (c cluster) workers() (found []infrav1.MaasMachine) {
	c.t.Helper()
	for _, m := range c.maasMachines(c.t.Context()) {
		if _, is := m.Labels[clusterv1.MachineControlPlaneLabel]; !is {
			found = append(found, m)
		}
	}
	return found
}

// systemIDs are those of some of the machines.
func (c cluster) systemIDs(some func(infrav1.MaasMachine) bool) map[string]bool {
	c.t.Helper()
	ids := map[string]bool{}
	for _, m := range c.maasMachines(c.t.Context()) {
		if some(m) {
			ids[ptr.Deref(m.Spec.SystemID, "")] = true
		}
	}
	return ids
}

// awaitReplaced waits until the cluster has none of the machines.
func (c cluster) awaitReplaced(old map[string]bool) {
	c.t.Helper()
	await(c.t, c.name+": all machines are others", c.pace, func(ctx context.Context) string {
		for _, m := range c.maasMachines(ctx) {
			if old[ptr.Deref(m.Spec.SystemID, "")] {
				return m.Name + " is there"
			}
		}
		return ""
	}, c.describe)
}

// remediate has a health check replace a worker that dies.
func (l *life) remediate(c cluster, machines int) {
	c.t.Helper()
	check := &clusterv1.MachineHealthCheck{}
	example(c.t, "lxd.yaml", "MachineHealthCheck", check)
	check.ObjectMeta = metav1.ObjectMeta{Namespace: c.name, Name: c.name}
	check.Spec.ClusterName = c.name
	check.Spec.Selector.MatchLabels[clusterv1.MachineDeploymentNameLabel] = c.name + "-workers"
	check.Spec.Checks.UnhealthyNodeConditions[0].TimeoutSeconds = ptr.To(l.deadAfterSeconds)
	check.Spec.Checks.NodeStartupTimeoutSeconds = ptr.To(int32(l.pace.patience.Seconds()))
	c.create(c.t, check)
	dead := c.workers()[0]
	mend := l.kill(c.t, c.machineOf(dead))
	await(c.t, fmt.Sprintf("%s: the dead worker %s is gone", c.name, dead.Name), c.pace, func(ctx context.Context) string {
		for _, m := range c.maasMachines(ctx) {
			if m.Name == dead.Name {
				return "it is there"
			}
		}
		return ""
	}, c.describe)
	mend() // the next one may be the same
	c.awaitRunning(machines, l.version)
	if err := c.Delete(c.t.Context(), check); err != nil {
		c.t.Fatal(err)
	}
}
