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

// neighbour is another tenant's namespace, with a cluster on the same MAAS.
func (w *world) neighbour() *world {
	w.t.Helper()
	n := *w
	n.space = w.space + "-b"
	n.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.space}})
	n.identity(n.space, w.maas.URL, w.maas.APIKey(), n.space)
	n.readyCluster("c", nil)
	return &n
}

// ownsNothing wants an object to say that its machine is another's, and to go without
// touching it.
func (w *world) ownsNothing(name string, original *world) {
	w.t.Helper()
	w.want(w.until(name, infrav1.MachineDeployedCondition, infrav1.ConflictReason), infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.ConflictReason)
	w.remove(w.object(name))
	w.awaitGone(w.object(name))
	for _, m := range []string{"vm-0", "metal-0"} {
		if got := original.known(*original.get(m).Spec.SystemID); got.StatusName != "Deployed" {
			w.t.Errorf("the deletion of %s left %s of %s as %+v", name, m, original.space, got)
		}
		original.nudged(m, infrav1.ReadyCondition, infrav1.ReadyReason, "")
	}
}

// TestKubeWorkflowOthersMachines: a tenant copies the objects of another one, with all
// that the manager noted in them, or names its machines. It gets none of them, and
// destroys none.
func TestKubeWorkflowOthersMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "owners", fastModel())
	w.readyCluster("c", nil)
	for name, spec := range map[string]infrav1.MaasMachineSpec{"vm-0": vm(), "metal-0": metal()} {
		w.machine("c", name, spec, nil)
	}
	n := w.neighbour()
	for _, name := range []string{"vm-0", "metal-0"} {
		m := w.isReady(name)
		n.machine("c", "copy-of-"+name, m.Spec, func(c *infrav1.MaasMachine) { c.Annotations, c.Finalizers = m.Annotations, m.Finalizers })
		n.ownsNothing("copy-of-"+name, w)
		id := *m.Spec.SystemID
		for how, change := range map[string]func(*infrav1.MaasMachine){
			"held": func(c *infrav1.MaasMachine) { c.Finalizers = []string{infrav1.MachineFinalizer} },
			"ask":  func(c *infrav1.MaasMachine) { c.Annotations = map[string]string{infrav1.TakeOverAnnotation: "true"} },
			"new":  func(*infrav1.MaasMachine) {},
		} {
			spec := m.Spec
			spec.SystemID, spec.ProviderID = ptr.To(id), m.Spec.ProviderID
			n.machine("c", how+"-"+name, spec, change)
			n.ownsNothing(how+"-"+name, w)
		}
	}
	w.removeAll("vm-0", "metal-0")
}

// TestKubeWorkflowFailedMetal: a MachineHealthCheck deletes a Machine whose deployment
// failed; the next one gets another machine of MAAS.
func TestKubeWorkflowFailedMetal(t *testing.T) {
	t.Parallel()
	model := fastModel()
	model.Latency.Deploy = time.Hour // until it fails, or is ended
	w := newWorld(t, "failing", model)
	w.readyCluster("c", nil)
	w.machine("c", "metal-0", metal(), nil)
	bad := w.known("small") // the smallest that fits
	w.isDeploying("small")
	if err := w.maas.Fail(bad.SystemID, "disk is broken"); err != nil {
		t.Fatal(err)
	}
	w.until("metal-0", infrav1.MachineDeployedCondition, infrav1.MachineDeployFailedReason)
	w.removeAll("metal-0")
	w.machine("c", "metal-1", metal(), nil)
	w.isDeploying("metal")
	w.maas.Settle()
	if m := w.isReady("metal-1"); *m.Spec.SystemID == bad.SystemID {
		t.Error("it is made of the machine again that could not be installed")
	}
	w.removeAll("metal-1")
}

// isDeploying waits until MAAS installs a machine.
func (w *world) isDeploying(hostname string) {
	w.t.Helper()
	w.eventually(hostname+" is being deployed", func() string {
		if got := w.known(hostname); got.StatusName != "Deploying" {
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
	w.readyCluster("c", func(c *infrav1.MaasCluster) {
		c.Spec.LXDConfig = &infrav1.LXDHostConfig{
			Enabled: ptr.To(true), StorageBackend: "zfs", StorageSize: "50", NICType: "bridge", NICParent: "br0", SkipNetworkUpdate: ptr.To(true),
		}
	})
	w.machine("c", "host-0", metal(), controlPlane)
	w.until("host-0", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
	if n := w.maas.Journal().Count("POST nodes/{id}/interfaces/ create_bridge"); n != 1 {
		t.Errorf("the bridge is made %d times", n)
	}
	w.removeAll("host-0")
}

// TestKubeWorkflowOthersNames: a tenant's cluster gives the name of another tenant's
// cluster, or of a machine, as its endpoint. It publishes nothing by it, says why, and
// takes nothing along as it goes.
func TestKubeWorkflowOthersNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "names", fastModel())
	given := w.readyCluster("given", func(c *infrav1.MaasCluster) { c.Spec.ControlPlaneEndpoint.Host = "api.maas" })
	made := w.readyCluster("made", nil)
	w.machine("given", "cp-0", vm(), controlPlane)
	w.machine("made", "cp-1", vm(), controlPlane)
	first, second := w.isReady("cp-0"), w.isReady("cp-1")
	n := w.neighbour()
	for name, host := range map[string]string{
		"given": given.Spec.ControlPlaneEndpoint.Host, "made": made.Spec.ControlPlaneEndpoint.Host,
		"metal": "metal.maas", "vm": w.known(*first.Spec.SystemID).Hostname + ".maas",
	} {
		c := n.cluster("of-"+name, func(c *infrav1.MaasCluster) { c.Spec.ControlPlaneEndpoint.Host = host })
		n.await(c, "says whose the name is", func() string {
			if conditions.GetReason(c, infrav1.DNSReadyCondition) != infrav1.ConflictReason {
				return said(c)
			}
			return ""
		})
		if c.Status.Ready {
			t.Errorf("%s is provisioned, by the name %s", c.Name, host)
		}
		n.remove(c)
		n.awaitGone(c)
	}
	w.pointsTo(given, first)
	w.pointsTo(made, second)
	for _, host := range []string{"metal.maas", w.known(*first.Spec.SystemID).Hostname + ".maas"} {
		if got := w.maas.Resolve(host); len(got) > 1 {
			t.Errorf("%s points to %v", host, got)
		}
	}
	w.removeAll("cp-0", "cp-1")
}
