package machine_test

import (
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/engine"
)

// makeControlPlane makes a machine one of the control plane.
func makeControlPlane(m *clusterv1.Machine, o *infrav1.MaasMachine) {
	labels := map[string]string{clusterv1.ClusterNameLabel: fleetCluster, clusterv1.MachineControlPlaneLabel: ""}
	m.Labels, o.Labels = labels, labels
}

var apiDNSName = engine.DNSName{Label: "prod-api", Domain: "maas"}

// publishAPIRecord writes the record of the API, as it is done for the cluster.
func (w *machineWorld) publishAPIRecord(machines ...string) {
	w.t.Helper()
	var record engine.DNSRecord
	for _, name := range machines {
		record.Addresses = append(record.Addresses, netip.MustParseAddr(w.maasMachine(*w.getMachine(name).Spec.SystemID).IPAddresses[0]))
	}
	if _, err := w.site.DNS.PublishDNS(w.t.Context(), apiDNSName, record); err != nil {
		w.t.Fatal(err)
	}
	w.changeCluster(func(c *infrav1.MaasCluster) {
		conditions.Set(c, metav1.Condition{Type: infrav1.DNSReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.DNSReadyReason})
	})
}

// TestDNSAttached: a machine of the control plane says whether the record of the
// API has its address, and does not go before it is taken out.
func TestDNSAttached(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.changeCluster(func(c *infrav1.MaasCluster) { c.Status.Network.DNSName = apiDNSName.String() })
		w.addMachine("worker", controllertest.VMMachineSpec(), nil)
		if m := w.reconcileUntilReady("worker"); conditions.Has(m, infrav1.DNSAttachedCondition) {
			t.Errorf("of a worker: %s", conditionSummary(m))
		}
		w.addMachine("cp-1", controllertest.VMMachineSpec(), makeControlPlane)
		w.addMachine("cp-2", controllertest.VMMachineSpec(), makeControlPlane)
		for _, name := range []string{"cp-1", "cp-2"} {
			m := w.reconcileUntil(name, infrav1.DNSAttachedCondition, infrav1.DNSAttachPendingReason)
			w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
		}
		w.publishAPIRecord("cp-1", "cp-2")
		for _, name := range []string{"cp-1", "cp-2"} {
			if m := w.reconcileUntil(name, infrav1.DNSAttachedCondition, infrav1.DNSAttachedReason); !m.Status.DNSAttached {
				t.Errorf("status of %s: not attached", name)
			}
		}
		w.markDeleted("cp-1")
		m := w.reconcileUntil("cp-1", infrav1.DeletingCondition, infrav1.DetachingDNSReason)
		w.wantCondition(m, infrav1.DNSAttachedCondition, metav1.ConditionTrue, infrav1.DNSDetachPendingReason)
		if got := w.maasMachine(*m.Spec.SystemID).StatusName; got != "Deployed" {
			t.Errorf("it is %s while the API's name points to it", got)
		}
		w.publishAPIRecord("cp-2")
		w.reconcileUntilGone("cp-1")
		begun := time.Now()
		w.removeMachine("cp-2") // the last one: its address stays, and nobody waits
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("the last machine of the control plane waited for %s", took)
		}
	})
}

// TestNameBelowTheDomain: a name with a dot before the cluster's domain is not
// published for the cluster, and its machines neither wait nor look for it.
func TestNameBelowTheDomain(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.changeCluster(func(c *infrav1.MaasCluster) { c.Status.Network.DNSName = "api.prod.maas" })
		w.addMachine("cp-1", controllertest.VMMachineSpec(), makeControlPlane)
		if m := w.reconcileUntilReady("cp-1"); conditions.Has(m, infrav1.DNSAttachedCondition) || m.Status.DNSAttached {
			t.Errorf("attached %t: %s", m.Status.DNSAttached, conditionSummary(m))
		}
	})
}

// TestEndpointBecomesCustom: of an endpoint that somebody else took over, nothing is
// said any longer, neither by the condition nor by the field.
func TestEndpointBecomesCustom(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.changeCluster(func(c *infrav1.MaasCluster) { c.Status.Network.DNSName = apiDNSName.String() })
		w.addMachine("cp-1", controllertest.VMMachineSpec(), makeControlPlane)
		w.reconcileUntilReady("cp-1")
		w.publishAPIRecord("cp-1")
		w.reconcileUntil("cp-1", infrav1.DNSAttachedCondition, infrav1.DNSAttachedReason)
		w.changeCluster(func(c *infrav1.MaasCluster) {
			c.Annotations = map[string]string{infrav1.CustomEndpointAnnotation: ""}
		})
		w.reconcileOnce("cp-1")
		if m := w.getMachine("cp-1"); conditions.Has(m, infrav1.DNSAttachedCondition) || m.Status.DNSAttached {
			t.Errorf("attached %t: %s", m.Status.DNSAttached, conditionSummary(m))
		}
		w.removeMachine("cp-1")
	})
}

// TestDetachingNeverDeadlocks: who is being deleted does not wait for ever for a
// record that nobody writes.
func TestDetachingNeverDeadlocks(t *testing.T) {
	cases := map[string]struct {
		why    string
		within time.Duration
		change func(w *machineWorld)
	}{
		"NobodyWrites": {"The controller of clusters is away.", 5 * time.Minute, func(*machineWorld) {}},
		"ClusterGoesToo": {"The record goes with the cluster.", time.Minute, func(w *machineWorld) {
			c := &infrav1.MaasCluster{}
			if err := w.client.Get(w.t.Context(), fleetKeyOf(fleetCluster), c); err != nil {
				w.t.Fatal(err)
			}
			c.Finalizers = []string{infrav1.ClusterFinalizer}
			if err := w.client.Update(w.t.Context(), c); err != nil {
				w.t.Fatal(err)
			}
			if err := w.client.Delete(w.t.Context(), c); err != nil {
				w.t.Fatal(err)
			}
		}},
		"CustomEndpoint": {"Somebody else publishes the name.", time.Minute, func(w *machineWorld) {
			w.changeCluster(func(c *infrav1.MaasCluster) {
				c.Annotations = map[string]string{infrav1.CustomEndpointAnnotation: "true"}
			})
		}},
		"ForeignName": {"The name is in no domain of MAAS.", time.Minute, func(w *machineWorld) {
			w.changeCluster(func(c *infrav1.MaasCluster) { c.Status.Network.DNSName = "api.example.com" })
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.changeCluster(func(c *infrav1.MaasCluster) { c.Status.Network.DNSName = apiDNSName.String() })
				w.addMachine("cp-1", controllertest.VMMachineSpec(), makeControlPlane)
				w.addMachine("cp-2", controllertest.VMMachineSpec(), makeControlPlane)
				w.reconcileUntilReady("cp-1")
				w.reconcileUntilReady("cp-2")
				w.publishAPIRecord("cp-1", "cp-2")
				w.reconcileUntil("cp-1", infrav1.DNSAttachedCondition, infrav1.DNSAttachedReason)
				tc.change(w)
				begun := time.Now()
				w.removeMachine("cp-1")
				if took := time.Since(begun); took > tc.within {
					t.Errorf("%s It took %s", tc.why, took)
				}
			})
		})
	}
}

// TestMaasClusterGone: without the MaasCluster nobody knows which MAAS the machine is
// in, and the condition says what leads out of it.
func TestMaasClusterGone(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		w.reconcileUntilReady("web")
		c := &infrav1.MaasCluster{}
		if err := w.client.Get(t.Context(), fleetKeyOf(fleetCluster), c); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Delete(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		w.markDeleted("web")
		m := w.reconcileUntil("web", infrav1.DeletingCondition, infrav1.DeletionBlockedReason)
		w.wantCondition(m, infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, *m.Spec.SystemID, infrav1.MachineFinalizer)
		c.ResourceVersion = ""
		if err := w.client.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		w.reconcileUntilGone("web")
	})
}

// TestDNSDetachedWhileDown: a machine of the control plane that is switched off says so
// when the record of the API no longer has its address, and when it has it again.
func TestDNSDetachedWhileDown(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.changeCluster(func(c *infrav1.MaasCluster) { c.Status.Network.DNSName = apiDNSName.String() })
		for _, name := range []string{"cp-1", "cp-2"} {
			w.addMachine(name, controllertest.VMMachineSpec(), makeControlPlane)
			w.reconcileUntilReady(name)
		}
		w.publishAPIRecord("cp-1", "cp-2")
		m := w.reconcileUntil("cp-1", infrav1.DNSAttachedCondition, infrav1.DNSAttachedReason)
		w.editMaasMachine(*m.Spec.SystemID, sim.MachineEdit{PowerState: ptr.To("off")})
		w.reconcileUntil("cp-1", infrav1.ReadyCondition, infrav1.MachinePoweredOffReason)
		w.publishAPIRecord("cp-2")
		begun := time.Now()
		if m := w.reconcileUntil("cp-1", infrav1.DNSAttachedCondition, infrav1.DNSDetachedReason); m.Status.DNSAttached || time.Since(begun) > time.Minute {
			t.Errorf("after %s: attached %t", time.Since(begun), m.Status.DNSAttached)
		}
		w.editMaasMachine(*m.Spec.SystemID, sim.MachineEdit{PowerState: ptr.To("on")})
		w.publishAPIRecord("cp-1", "cp-2")
		w.reconcileUntil("cp-1", infrav1.DNSAttachedCondition, infrav1.DNSAttachedReason)
	})
}
