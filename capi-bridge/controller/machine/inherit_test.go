package machine_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// older gives a MaasMachine the ids that another provider wrote.
func older(id string, ready bool) func(*clusterv1.Machine, *infrav1.MaasMachine) {
	return func(_ *clusterv1.Machine, m *infrav1.MaasMachine) {
		m.Spec.SystemID, m.Spec.ProviderID = ptr.To(id), ptr.To("maas:///az1/"+id)
		m.Finalizers = []string{infrav1.MachineFinalizer}
		m.Status.Ready = ready
	}
}

// TestInheritMetal: a machine that another provider deployed stays as it is, is
// known as it was, and is released when its object goes.
func TestInheritMetal(t *testing.T) {
	for name, ready := range map[string]bool{"Ready": true, "StatusLost": false} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				before := w.deployed("metal")
				w.site.AllowTakeOver = !ready // it comes from another management cluster
				w.add("old", controllertest.MetalMachine(), older(before.SystemID, ready))
				w.sim.ResetJournal()
				m := w.ready("old")
				after := w.known("metal")
				if *m.Spec.ProviderID != "maas:///az1/"+before.SystemID || after.StatusName != "Deployed" || after.Hostname != before.Hostname {
					t.Errorf("providerID %s, MAAS has %+v", *m.Spec.ProviderID, after)
				}
				for _, route := range []string{"POST machines/{id}/ deploy", "POST machines/{id}/ release", "POST machines/ allocate"} {
					if n := w.sim.Journal().Count(route); n > 0 {
						t.Errorf("%d times %s", n, route)
					}
				}
				w.edit(before.SystemID, sim.MachineEdit{StatusName: ptr.To("Broken")})
				w.until("old", infrav1.ReadyCondition, infrav1.MachineStateUndefinedReason)
				w.edit(before.SystemID, sim.MachineEdit{StatusName: ptr.To("Deployed")})
				w.ready("old")
				w.remove("old")
				if got := w.known("metal"); got.StatusName != "Ready" || got.Owner != "" {
					t.Errorf("left as %+v", got)
				}
			})
		})
	}
}

// deployed is a machine of MAAS as another provider deploys it.
func (w *machineWorld) deployed(name string) sim.Machine {
	w.t.Helper()
	w.add("stand-in", controllertest.MetalMachine(), func(_ *clusterv1.Machine, m *infrav1.MaasMachine) { m.Spec.Tags = []string{"nvme"} })
	id := *w.ready("stand-in").Spec.SystemID
	m := w.get("stand-in")
	m.Finalizers = nil
	if err := w.client.Update(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.Delete(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
	w.edit(id, sim.MachineEdit{OwnerData: &map[string]string{}})
	if got := w.known(name); got.SystemID != id {
		w.t.Fatalf("deployed %s and not %s", id, name)
	}
	return w.known(name)
}

// TestInheritToDelete: the first that is seen of an object of another provider's
// is its deletion.
func TestInheritToDelete(t *testing.T) {
	inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		before := w.deployed("metal")
		w.add("old", controllertest.MetalMachine(), older(before.SystemID, true))
		w.remove("old")
		if got := w.known("metal"); got.StatusName != "Ready" || got.Owner != "" {
			t.Errorf("left as %+v", got)
		}
	})
}

// TestInheritWrongSpec: what an older version let pass, and cannot be changed any
// more, neither keeps a machine from being taken over nor from going.
func TestInheritWrongSpec(t *testing.T) {
	wrong := controllertest.MetalMachine()
	wrong.StaticIP = &infrav1.StaticIP{IP: "10.77.0.300", Short: true}
	for name, ready := range map[string]bool{"Ready": true, "StatusLost": false} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.site.AllowTakeOver = !ready // it comes from another management cluster
				w.add("old", wrong, older(w.deployed("metal").SystemID, ready))
				if m := w.ready("old"); !strings.Contains(w.known("metal").OwnerData["maaslxd-key"], "/fleet/prod/old") {
					t.Errorf("not taken over: %s", summaryOf(m))
				}
				w.remove("old")
				if got := w.known("metal"); got.StatusName != "Ready" {
					t.Errorf("left as %+v", got)
				}
			})
		})
	}
	t.Run("ToDelete", func(t *testing.T) {
		inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
			w.add("old", wrong, older(w.deployed("metal").SystemID, true))
			w.remove("old")
			if got := w.known("metal"); got.StatusName != "Ready" || got.Owner != "" {
				t.Errorf("left as %+v", got)
			}
		})
	})
}

// TestNoStrangerIsTakenOver: who may make objects has no right to a machine by
// naming it. It stays as it is, unless the object says that it is to be had.
func TestNoStrangerIsTakenOver(t *testing.T) {
	inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		before := w.deployed("metal")
		fresh := func(_ *clusterv1.Machine, m *infrav1.MaasMachine) {
			m.Spec.SystemID, m.Spec.ProviderID = ptr.To(before.SystemID), ptr.To("maas:///az1/"+before.SystemID)
		}
		w.add("new", controllertest.MetalMachine(), fresh)
		m := w.until("new", infrav1.ReadyCondition, infrav1.ConflictReason)
		w.want(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.ConflictReason, before.SystemID, infrav1.TakeOverAnnotation)
		w.remove("new")
		if got := w.known("metal"); got.StatusName != "Deployed" || got.OwnerData["maaslxd-key"] != before.OwnerData["maaslxd-key"] {
			t.Errorf("a stranger is %+v", got)
		}
		ask := func(c *clusterv1.Machine, m *infrav1.MaasMachine) {
			fresh(c, m)
			m.Annotations = map[string]string{infrav1.TakeOverAnnotation: "true"}
		}
		w.add("greedy", controllertest.MetalMachine(), ask)
		m = w.until("greedy", infrav1.ReadyCondition, infrav1.ConflictReason)
		w.want(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.ConflictReason, "allows no take-over", "allowTakeOver")
		w.remove("greedy")
		if got := w.known("metal"); got.StatusName != "Deployed" {
			t.Errorf("a stranger is %+v", got)
		}
		w.site.AllowTakeOver = true // the administrator of the identity
		w.add("asked", controllertest.MetalMachine(), ask)
		w.ready("asked")
		w.remove("asked")
		if got := w.known("metal"); got.StatusName != "Ready" {
			t.Errorf("left as %+v", got)
		}
	})
}

// TestInheritVM: a VM of another provider's keeps the name that it has.
func TestInheritVM(t *testing.T) {
	inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.add("first", controllertest.VMMachine(), func(m *clusterv1.Machine, o *infrav1.MaasMachine) {
			m.Spec.FailureDomain = "az1"
			o.Annotations = map[string]string{infrav1.VMNameAnnotation: "vm-first-ab12c"}
		})
		id := *w.ready("first").Spec.SystemID
		if got := w.known(id).Hostname; got != "vm-first-ab12c" {
			t.Errorf("the annotation %s is not honoured: %s", infrav1.VMNameAnnotation, got)
		}
		w.edit(id, sim.MachineEdit{Hostname: ptr.To("vm-first"), Description: ptr.To("")})
		m := w.get("first")
		m.Finalizers = nil
		if err := w.client.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		spec := infrav1.MaasMachineSpec{Image: "ubuntu/noble", MinCPU: ptr.To(2), MinMemoryInMB: ptr.To(4096), LXD: &infrav1.MachineLXDConfig{Enabled: ptr.To(true)}}
		w.add("old", spec, older(id, true))
		w.sim.ResetJournal()
		for range 3 {
			time.Sleep(w.once("old").RequeueAfter)
		}
		m = w.get("old")
		w.want(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
		for _, c := range w.sim.Journal().Calls { // it is marked
			if !strings.HasPrefix(c.Route, "GET ") && (c.Route != "PUT machines/{id}/" || len(c.Form["description"]) == 0) {
				t.Errorf("MAAS was asked for %s", c.Route)
			}
		}
		if got := w.known(id); got.Hostname != "vm-first" || *m.Status.Hostname != "vm-first" {
			t.Errorf("it is called %s", got.Hostname)
		}
		w.remove("old")
		if left := w.sim.Instances(); len(left) != 0 {
			t.Errorf("left in LXD: %v", left)
		}
	})
}

// TestInheritVMInFlight: a VM that another provider has begun is gone on with.
func TestInheritVMInFlight(t *testing.T) {
	inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.add("first", controllertest.VMMachine(), nil)
		w.until("first", infrav1.ReadyCondition, infrav1.MachineCommissioningReason)
		id := w.sim.Instances()[0].MachineID
		w.edit(id, sim.MachineEdit{Hostname: ptr.To("vm-first"), Description: ptr.To("")})
		m := w.get("first")
		m.Finalizers = nil
		if err := w.client.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		w.add("old", controllertest.VMMachine(), func(c *clusterv1.Machine, m *infrav1.MaasMachine) {
			older(id, false)(c, m)
			m.Status.MachineState = ptr.To(infrav1.MachineState("Commissioning"))
		})
		m = w.ready("old")
		if got := w.known(id); got.StatusName != "Deployed" || got.Hostname != "vm-first" || len(w.sim.Instances()) != 1 {
			t.Errorf("MAAS has %+v, LXD %v", got, w.sim.Instances())
		}
		if *m.Spec.ProviderID != "maas:///az1/"+id {
			t.Errorf("providerID %s", *m.Spec.ProviderID)
		}
	})
}

// TestOlderFormOfProviderID: who asks for a VM in the older way gets a providerID
// of the older form.
func TestOlderFormOfProviderID(t *testing.T) {
	inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		spec := infrav1.MaasMachineSpec{Image: "ubuntu/noble", MinCPU: ptr.To(2), MinMemoryInMB: ptr.To(4096), LXD: &infrav1.MachineLXDConfig{Enabled: ptr.To(true)}}
		w.add("old", spec, func(m *clusterv1.Machine, _ *infrav1.MaasMachine) { m.Spec.FailureDomain = "az1" })
		m := w.ready("old")
		if got, want := *m.Spec.ProviderID, "maas:///az1/"+*m.Spec.SystemID; got != want {
			t.Errorf("providerID %s, want %s", got, want)
		}
	})
}

// TestMovedCluster: a move to another management cluster keeps neither status nor
// UIDs.
func TestMovedCluster(t *testing.T) {
	for name, spec := range map[string]infrav1.MaasMachineSpec{"VM": controllertest.VMMachine(), "BareMetal": controllertest.MetalMachine()} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.add("web", spec, nil)
				before := w.ready("web")
				m := w.get("web")
				m.Status = infrav1.MaasMachineStatus{}
				if err := w.client.Status().Update(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				machine := &clusterv1.Machine{}
				if err := w.client.Get(t.Context(), fleetKeyOf("web"), machine); err != nil {
					t.Fatal(err)
				}
				machine.UID = "another-uid"
				if err := w.client.Update(t.Context(), machine); err != nil {
					t.Fatal(err)
				}
				w.restart()
				w.sim.ResetJournal()
				after := w.ready("web")
				w.onlyLooked()
				if *after.Spec.ProviderID != *before.Spec.ProviderID || !ptr.Deref(after.Status.Initialization.Provisioned, false) || len(after.Status.Addresses) == 0 {
					t.Errorf("after the move: %+v %+v", after.Spec, after.Status)
				}
				w.remove("web")
			})
		})
	}
}
