package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/kubetest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// templateVariables are the variables without a default, of all flavors.
func templateVariables() map[string]string {
	return map[string]string{"MAAS_DNS_DOMAIN": domain, "CONTROL_PLANE_MACHINE_IMAGE": imageName(version), "WORKER_MACHINE_IMAGE": imageName(version)}
}

// cluster is a cluster from a template, alone in a namespace of its name.
type cluster struct {
	*world
	t    *testing.T
	name string
}

// newCluster makes a cluster from the output of "clusterctl generate cluster".
func (w *world) newCluster(t *testing.T, name, flavor string, controlPlanes, workers int, more map[string]string) cluster {
	t.Helper()
	return w.createCluster(t, name, w.generateCluster(t, name, flavor, controlPlanes, workers, more))
}

// generateCluster returns the objects that "clusterctl generate cluster"
// prints.
func (w *world) generateCluster(t *testing.T, name, flavor string, controlPlanes, workers int, more map[string]string) []*unstructured.Unstructured {
	t.Helper()
	k := *w.clusterctl
	k.Variables = templateVariables()
	maps.Copy(k.Variables, more)
	text, err := k.Run(t.Context(), "generate", "cluster", name, "--infrastructure", "maas:"+providerVersion, "--flavor", flavor,
		"--target-namespace", name, "--kubernetes-version", version,
		"--control-plane-machine-count", strconv.Itoa(controlPlanes), "--worker-machine-count", strconv.Itoa(workers))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := kubetest.ReadManifests(text)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// createCluster makes the objects of a cluster, and their namespace.
func (w *world) createCluster(t *testing.T, name string, objects []*unstructured.Unstructured) cluster {
	t.Helper()
	w.createObjects(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err := w.plane.Apply(t.Context(), objects...); err != nil {
		t.Fatal(err)
	}
	return cluster{w, t, name}
}

// listObjects lists the objects of a kind in the cluster's namespace.
func (c cluster) listObjects(ctx context.Context, into client.ObjectList) {
	c.t.Helper()
	if err := c.List(ctx, into, client.InNamespace(c.name)); err != nil {
		c.t.Fatal(err)
	}
}

func (c cluster) listMachines(ctx context.Context) []clusterv1.Machine {
	c.t.Helper()
	all := &clusterv1.MachineList{}
	c.listObjects(ctx, all)
	return all.Items
}

func (c cluster) listMaasMachines(ctx context.Context) []infrav1.MaasMachine {
	c.t.Helper()
	all := &infrav1.MaasMachineList{}
	c.listObjects(ctx, all)
	return all.Items
}

func (c cluster) getObject(ctx context.Context, name string, into client.Object) {
	c.t.Helper()
	if err := c.Get(ctx, client.ObjectKey{Namespace: c.name, Name: name}, into); err != nil {
		c.t.Fatal(err)
	}
}

// awaitRunning waits until the cluster has that many machines of that version,
// each with its node, and all conditions are good.
func (c cluster) awaitRunning(machines int, version string) {
	c.t.Helper()
	waitFor(c.t, fmt.Sprintf("%s: %d machines of %s", c.name, machines, version), c.polling, func(ctx context.Context) string {
		return strings.Join(slices.Concat(c.missingMachines(ctx, machines, version), c.missingConditions(ctx)), "; ")
	}, c.describe)
}

// missingMachines says what the Machines still lack.
func (c cluster) missingMachines(ctx context.Context, wanted int, version string) (missing []string) {
	all := c.listMachines(ctx)
	if len(all) != wanted {
		missing = append(missing, fmt.Sprintf("%d machines", len(all)))
	}
	for i := range all {
		m := &all[i]
		switch {
		case m.Status.Phase != string(clusterv1.MachinePhaseRunning):
			missing = append(missing, m.Name+" is "+m.Status.Phase)
		case m.Spec.Version != version:
			missing = append(missing, m.Name+" has "+m.Spec.Version)
		case !m.Status.NodeRef.IsDefined():
			missing = append(missing, m.Name+" has no node")
		case !conditions.IsTrue(m, clusterv1.MachineReadyCondition):
			missing = append(missing, m.Name+" is not Ready")
		}
	}
	return missing
}

// missingConditions names the conditions that are not true, of the cluster and
// of its objects for MAAS.
func (c cluster) missingConditions(ctx context.Context) (missing []string) {
	whole, maas := &clusterv1.Cluster{}, &infrav1.MaasCluster{}
	c.getObject(ctx, c.name, whole)
	c.getObject(ctx, c.name, maas)
	if !conditions.IsTrue(whole, clusterv1.ClusterAvailableCondition) {
		missing = append(missing, "the cluster is not Available")
	}
	if !conditions.IsTrue(maas, infrav1.ReadyCondition) {
		missing = append(missing, "the MaasCluster is not Ready")
	}
	for _, m := range c.listMaasMachines(ctx) {
		if !conditions.IsTrue(&m, infrav1.ReadyCondition) {
			missing = append(missing, m.Name+" is not Ready in MAAS")
		}
	}
	return missing
}

// describe prints what may explain why the cluster is not as wanted.
func (c cluster) describe() string {
	var b strings.Builder
	ctx := c.t.Context()
	whole, maas := &clusterv1.Cluster{}, &infrav1.MaasCluster{}
	if c.Get(ctx, client.ObjectKey{Namespace: c.name, Name: c.name}, whole) == nil {
		fmt.Fprintf(&b, "Cluster: %+v\n", whole.Status.Conditions)
	}
	if c.Get(ctx, client.ObjectKey{Namespace: c.name, Name: c.name}, maas) == nil {
		fmt.Fprintf(&b, "MaasCluster: %+v\n", maas.Status)
	}
	for _, m := range c.listMachines(ctx) {
		fmt.Fprintf(&b, "Machine %s: %+v\n", m.Name, m.Status.Conditions)
	}
	for _, m := range c.listMaasMachines(ctx) {
		fmt.Fprintf(&b, "MaasMachine %s: %+v %+v\n", m.Name, m.Spec, m.Status)
	}
	machines, err := c.site.Machines(ctx)
	for _, m := range machines {
		fmt.Fprintf(&b, "MAAS: %+v\n", m)
	}
	if c.workloads != nil {
		fmt.Fprintf(&b, "nodes to be: %q\n", c.workloads.Problems())
	}
	fmt.Fprintf(&b, "MAAS can be asked: %v\nmanager: %s\n", err == nil, c.manager.Tail())
	for _, manager := range c.capiManagers {
		fmt.Fprintf(&b, "%s: %s\n", manager.Name, lastErrors(manager.Log))
	}
	return b.String()
}

// lastErrors are the last errors in the log of a Cluster API manager.
func lastErrors(log string) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	var errs []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "E") {
			errs = append(errs, line)
		}
	}
	return strings.Join(errs[max(0, len(errs)-5):], "")
}

// scaleControlPlane changes the number of control-plane machines.
func (c cluster) scaleControlPlane(controlPlanes int32) {
	c.t.Helper()
	kcp := &controlplanev1.KubeadmControlPlane{}
	c.getObject(c.t.Context(), c.name+"-control-plane", kcp)
	before := kcp.DeepCopy()
	kcp.Spec.Replicas = ptr.To(controlPlanes)
	if err := c.Patch(c.t.Context(), kcp, client.MergeFrom(before)); err != nil {
		c.t.Fatal(err)
	}
}

// findMachine finds MAAS's machine for an object.
func (c cluster) findMachine(m infrav1.MaasMachine) sim.Machine {
	c.t.Helper()
	all, err := c.site.Machines(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	at := slices.IndexFunc(all, func(each sim.Machine) bool { return each.SystemID == ptr.Deref(m.Spec.SystemID, "") })
	if at < 0 {
		c.t.Fatalf("%s: MAAS has no machine %q", m.Name, ptr.Deref(m.Spec.SystemID, ""))
	}
	return all[at]
}

// deleteCluster deletes the cluster, and waits until it is gone.
func (c cluster) deleteCluster() {
	c.t.Helper()
	c.secrets.collect(c.t, c.world, c.name)
	c.wantNoSecretIn(c.t, &infrav1.MaasMachineList{})
	c.wantNoSecretIn(c.t, &infrav1.MaasClusterList{})
	if err := c.Delete(c.t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.name, Name: c.name}}); err != nil {
		c.t.Fatal(err)
	}
	waitFor(c.t, c.name+": deleted", c.polling, func(ctx context.Context) string { return strings.Join(c.leftObjects(ctx), ", ") }, c.describe)
}
