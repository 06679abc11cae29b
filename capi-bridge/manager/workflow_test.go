package manager_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// newNeighbour is another tenant's namespace, with a cluster on the same MAAS.
func (w *world) newNeighbour() *world {
	w.t.Helper()
	n := *w
	n.namespace = w.namespace + "-b"
	n.createObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.namespace}})
	n.createIdentity(n.namespace, w.maas.URL, w.maas.APIKey(), n.namespace)
	n.createReadyCluster("c", nil)
	return &n
}

// wantOwnsNothing wants an object to say that its machine is another's, and to go without
// touching it.
func (w *world) wantOwnsNothing(name string, original *world) {
	w.t.Helper()
	w.wantCondition(w.awaitReason(name, infrav1.MachineDeployedCondition, infrav1.ConflictReason), infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.ConflictReason)
	w.deleteObject(w.machineObject(name))
	w.awaitGone(w.machineObject(name))
	for _, m := range []string{"vm-0", "metal-0"} {
		if got := original.mustFindMachine(*original.getMachine(m).Spec.SystemID); got.StatusName != "Deployed" {
			w.t.Errorf("the deletion of %s left %s of %s as %+v", name, m, original.namespace, got)
		}
		original.touchUntilReason(m, infrav1.ReadyCondition, infrav1.ReadyReason, "")
	}
}

// TestKubeWorkflowOthersMachines: a tenant copies the objects of another one, with all
// that the manager noted in them, or names its machines. It gets none of them, and
// destroys none.
func TestKubeWorkflowOthersMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "owners", fastModel())
	w.createReadyCluster("c", nil)
	for name, spec := range map[string]infrav1.MaasMachineSpec{"vm-0": newVMSpec(), "metal-0": newMetalSpec()} {
		w.createMachine("c", name, spec, nil)
	}
	n := w.newNeighbour()
	for _, name := range []string{"vm-0", "metal-0"} {
		m := w.awaitReady(name)
		n.createMachine("c", "copy-of-"+name, m.Spec, func(c *infrav1.MaasMachine) { c.Annotations, c.Finalizers = m.Annotations, m.Finalizers })
		n.wantOwnsNothing("copy-of-"+name, w)
		id := *m.Spec.SystemID
		for how, change := range map[string]func(*infrav1.MaasMachine){
			"held": func(c *infrav1.MaasMachine) { c.Finalizers = []string{infrav1.MachineFinalizer} },
			"ask":  func(c *infrav1.MaasMachine) { c.Annotations = map[string]string{infrav1.TakeOverAnnotation: "true"} },
			"new":  func(*infrav1.MaasMachine) {},
		} {
			spec := m.Spec
			spec.SystemID, spec.ProviderID = ptr.To(id), m.Spec.ProviderID
			n.createMachine("c", how+"-"+name, spec, change)
			n.wantOwnsNothing(how+"-"+name, w)
		}
	}
	w.deleteMachines("vm-0", "metal-0")
}

// TestKubeWorkflowFailedMetal: a MachineHealthCheck deletes a Machine whose deployment
// failed; the next one gets another machine of MAAS.
func TestKubeWorkflowFailedMetal(t *testing.T) {
	t.Parallel()
	model := fastModel()
	model.Latency.Deploy = time.Hour // until it fails, or is ended
	w := newWorld(t, "failing", model)
	w.createReadyCluster("c", nil)
	w.createMachine("c", "metal-0", newMetalSpec(), nil)
	bad := w.mustFindMachine("small") // the smallest that fits
	w.awaitDeploying("small")
	if err := w.maas.FailMachine(bad.SystemID, "disk is broken"); err != nil {
		t.Fatal(err)
	}
	w.awaitReason("metal-0", infrav1.MachineDeployedCondition, infrav1.MachineDeployFailedReason)
	w.deleteMachines("metal-0")
	w.createMachine("c", "metal-1", newMetalSpec(), nil)
	w.awaitDeploying("metal")
	w.maas.Settle()
	if m := w.awaitReady("metal-1"); *m.Spec.SystemID == bad.SystemID {
		t.Error("it is made of the machine again that could not be installed")
	}
	w.deleteMachines("metal-1")
}

// awaitDeploying waits until MAAS installs a machine.
func (w *world) awaitDeploying(hostname string) {
	w.t.Helper()
	w.waitFor(hostname+" is being deployed", func() string {
		if got := w.mustFindMachine(hostname); got.StatusName != "Deploying" {
			return got.StatusName
		}
		return ""
	})
}

// TestKubeWorkflowIncumbentDefaults: what CAPMaaS's CRD stored in each MaasCluster means
// what it meant there: the machines of the cluster become LXD hosts.
func TestKubeWorkflowIncumbentDefaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "defaults", fastModel())
	w.createReadyCluster("c", func(c *infrav1.MaasCluster) {
		c.Spec.LXDConfig = &infrav1.LXDHostConfig{
			Enabled: ptr.To(true), StorageBackend: "zfs", StorageSize: "50", NICType: "bridge", NICParent: "br0", SkipNetworkUpdate: ptr.To(true),
		}
	})
	w.createMachine("c", "host-0", newMetalSpec(), makeControlPlane)
	w.awaitReason("host-0", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
	if n := w.maas.Journal().Count("POST nodes/{id}/interfaces/ create_bridge"); n != 1 {
		t.Errorf("the bridge is made %d times", n)
	}
	w.deleteMachines("host-0")
}

// TestKubeWorkflowOthersNames: a tenant's cluster gives the name of another tenant's
// cluster, or of a machine, as its endpoint. It publishes nothing by it, says why, and
// takes nothing along as it goes.
func TestKubeWorkflowOthersNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "names", fastModel())
	given := w.createReadyCluster("given", func(c *infrav1.MaasCluster) { c.Spec.ControlPlaneEndpoint.Host = "api.maas" })
	made := w.createReadyCluster("made", nil)
	w.createMachine("given", "cp-0", newVMSpec(), makeControlPlane)
	w.createMachine("made", "cp-1", newVMSpec(), makeControlPlane)
	first, second := w.awaitReady("cp-0"), w.awaitReady("cp-1")
	n := w.newNeighbour()
	for name, host := range map[string]string{
		"given": given.Spec.ControlPlaneEndpoint.Host, "made": made.Spec.ControlPlaneEndpoint.Host,
		"metal": "metal.maas", "vm": w.mustFindMachine(*first.Spec.SystemID).Hostname + ".maas",
	} {
		c := n.createCluster("of-"+name, func(c *infrav1.MaasCluster) { c.Spec.ControlPlaneEndpoint.Host = host })
		n.awaitObject(c, "says whose the name is", func() string {
			if conditions.GetReason(c, infrav1.DNSReadyCondition) != infrav1.ConflictReason {
				return describeConditions(c)
			}
			return ""
		})
		if c.Status.Ready {
			t.Errorf("%s is provisioned, by the name %s", c.Name, host)
		}
		n.deleteObject(c)
		n.awaitGone(c)
	}
	w.awaitRecord(given, first)
	w.awaitRecord(made, second)
	for _, host := range []string{"metal.maas", w.mustFindMachine(*first.Spec.SystemID).Hostname + ".maas"} {
		if got := w.maas.Resolve(host); len(got) > 1 {
			t.Errorf("%s points to %v", host, got)
		}
	}
	w.deleteMachines("cp-0", "cp-1")
}
