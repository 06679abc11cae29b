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

// withIncumbentIDs gives a MaasMachine the ids that another provider wrote.
func withIncumbentIDs(id string, ready bool) func(*clusterv1.Machine, *infrav1.MaasMachine) {
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
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				before := w.deployAsIncumbent("metal")
				w.site.AllowTakeOver = !ready // it comes from another management cluster
				w.addMachine("old", controllertest.MetalMachineSpec(), withIncumbentIDs(before.SystemID, ready))
				w.sim.ResetJournal()
				m := w.reconcileUntilReady("old")
				after := w.maasMachine("metal")
				if *m.Spec.ProviderID != "maas:///az1/"+before.SystemID || after.StatusName != "Deployed" || after.Hostname != before.Hostname {
					t.Errorf("providerID %s, MAAS has %+v", *m.Spec.ProviderID, after)
				}
				for _, route := range []string{"POST machines/{id}/ deploy", "POST machines/{id}/ release", "POST machines/ allocate"} {
					if n := w.sim.Journal().Count(route); n > 0 {
						t.Errorf("%d times %s", n, route)
					}
				}
				w.editMaasMachine(before.SystemID, sim.MachineEdit{StatusName: ptr.To("Broken")})
				w.reconcileUntil("old", infrav1.ReadyCondition, infrav1.MachineStateUndefinedReason)
				w.editMaasMachine(before.SystemID, sim.MachineEdit{StatusName: ptr.To("Deployed")})
				w.reconcileUntilReady("old")
				w.removeMachine("old")
				if got := w.maasMachine("metal"); got.StatusName != "Ready" || got.Owner != "" {
					t.Errorf("left as %+v", got)
				}
			})
		})
	}
}

// deployAsIncumbent is a machine of MAAS as another provider deploys it.
func (w *machineWorld) deployAsIncumbent(name string) sim.Machine {
	w.t.Helper()
	w.addMachine("stand-in", controllertest.MetalMachineSpec(), func(_ *clusterv1.Machine, m *infrav1.MaasMachine) { m.Spec.Tags = []string{"nvme"} })
	id := *w.reconcileUntilReady("stand-in").Spec.SystemID
	m := w.getMachine("stand-in")
	m.Finalizers = nil
	if err := w.client.Update(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.Delete(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
	w.editMaasMachine(id, sim.MachineEdit{OwnerData: &map[string]string{}})
	if got := w.maasMachine(name); got.SystemID != id {
		w.t.Fatalf("deployed %s and not %s", id, name)
	}
	return w.maasMachine(name)
}

// TestInheritToDelete: the first that is seen of an object of another provider's
// is its deletion.
func TestInheritToDelete(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		before := w.deployAsIncumbent("metal")
		w.addMachine("old", controllertest.MetalMachineSpec(), withIncumbentIDs(before.SystemID, true))
		w.removeMachine("old")
		if got := w.maasMachine("metal"); got.StatusName != "Ready" || got.Owner != "" {
			t.Errorf("left as %+v", got)
		}
	})
}

// TestInheritWrongSpec: what an older version let pass, and cannot be changed any
// more, neither keeps a machine from being taken over nor from going.
func TestInheritWrongSpec(t *testing.T) {
	wrong := controllertest.MetalMachineSpec()
	wrong.StaticIP = &infrav1.StaticIP{IP: "10.77.0.300", Short: true}
	for name, ready := range map[string]bool{"Ready": true, "StatusLost": false} {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.site.AllowTakeOver = !ready // it comes from another management cluster
				w.addMachine("old", wrong, withIncumbentIDs(w.deployAsIncumbent("metal").SystemID, ready))
				if m := w.reconcileUntilReady("old"); !strings.Contains(w.maasMachine("metal").OwnerData["maaslxd-key"], "/fleet/prod/old") {
					t.Errorf("not taken over: %s", conditionSummary(m))
				}
				w.removeMachine("old")
				if got := w.maasMachine("metal"); got.StatusName != "Ready" {
					t.Errorf("left as %+v", got)
				}
			})
		})
	}
	t.Run("ToDelete", func(t *testing.T) {
		runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
			w.addMachine("old", wrong, withIncumbentIDs(w.deployAsIncumbent("metal").SystemID, true))
			w.removeMachine("old")
			if got := w.maasMachine("metal"); got.StatusName != "Ready" || got.Owner != "" {
				t.Errorf("left as %+v", got)
			}
		})
	})
}

// TestNoStrangerIsTakenOver: who may make objects has no right to a machine by
// naming it. It stays as it is, unless the object says that it is to be had.
func TestNoStrangerIsTakenOver(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		before := w.deployAsIncumbent("metal")
		fresh := func(_ *clusterv1.Machine, m *infrav1.MaasMachine) {
			m.Spec.SystemID, m.Spec.ProviderID = ptr.To(before.SystemID), ptr.To("maas:///az1/"+before.SystemID)
		}
		w.addMachine("new", controllertest.MetalMachineSpec(), fresh)
		m := w.reconcileUntil("new", infrav1.ReadyCondition, infrav1.ConflictReason)
		w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.ConflictReason, before.SystemID, infrav1.TakeOverAnnotation)
		w.removeMachine("new")
		if got := w.maasMachine("metal"); got.StatusName != "Deployed" || got.OwnerData["maaslxd-key"] != before.OwnerData["maaslxd-key"] {
			t.Errorf("a stranger is %+v", got)
		}
		ask := func(c *clusterv1.Machine, m *infrav1.MaasMachine) {
			fresh(c, m)
			m.Annotations = map[string]string{infrav1.TakeOverAnnotation: "true"}
		}
		w.addMachine("greedy", controllertest.MetalMachineSpec(), ask)
		m = w.reconcileUntil("greedy", infrav1.ReadyCondition, infrav1.ConflictReason)
		w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.ConflictReason, "allows no take-over", "allowTakeOver")
		w.removeMachine("greedy")
		if got := w.maasMachine("metal"); got.StatusName != "Deployed" {
			t.Errorf("a stranger is %+v", got)
		}
		w.site.AllowTakeOver = true // the administrator of the identity
		w.addMachine("asked", controllertest.MetalMachineSpec(), ask)
		w.reconcileUntilReady("asked")
		w.removeMachine("asked")
		if got := w.maasMachine("metal"); got.StatusName != "Ready" {
			t.Errorf("left as %+v", got)
		}
	})
}

// TestInheritVM: a VM of another provider's keeps the name that it has.
func TestInheritVM(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("first", controllertest.VMMachineSpec(), func(m *clusterv1.Machine, o *infrav1.MaasMachine) {
			m.Spec.FailureDomain = "az1"
			o.Annotations = map[string]string{infrav1.VMNameAnnotation: "vm-first-ab12c"}
		})
		id := *w.reconcileUntilReady("first").Spec.SystemID
		if got := w.maasMachine(id).Hostname; got != "vm-first-ab12c" {
			t.Errorf("the annotation %s is not honoured: %s", infrav1.VMNameAnnotation, got)
		}
		w.editMaasMachine(id, sim.MachineEdit{Hostname: ptr.To("vm-first"), Description: ptr.To("")})
		m := w.getMachine("first")
		m.Finalizers = nil
		if err := w.client.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		spec := infrav1.MaasMachineSpec{Image: "ubuntu/noble", MinCPU: ptr.To(2), MinMemoryInMB: ptr.To(4096), LXD: &infrav1.MachineLXDConfig{Enabled: ptr.To(true)}}
		w.addMachine("old", spec, withIncumbentIDs(id, true))
		w.sim.ResetJournal()
		for range 3 {
			time.Sleep(w.reconcileOnce("old").RequeueAfter)
		}
		m = w.getMachine("old")
		w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
		for _, c := range w.sim.Journal().Calls { // it is marked
			if !strings.HasPrefix(c.Route, "GET ") && (c.Route != "PUT machines/{id}/" || len(c.Form["description"]) == 0) {
				t.Errorf("MAAS was asked for %s", c.Route)
			}
		}
		if got := w.maasMachine(id); got.Hostname != "vm-first" || *m.Status.Hostname != "vm-first" {
			t.Errorf("it is called %s", got.Hostname)
		}
		w.removeMachine("old")
		if left := w.sim.Instances(); len(left) != 0 {
			t.Errorf("left in LXD: %v", left)
		}
	})
}

// TestInheritVMInFlight: a VM that another provider has begun is gone on with.
func TestInheritVMInFlight(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("first", controllertest.VMMachineSpec(), nil)
		w.reconcileUntil("first", infrav1.ReadyCondition, infrav1.MachineCommissioningReason)
		id := w.sim.Instances()[0].MachineID
		w.editMaasMachine(id, sim.MachineEdit{Hostname: ptr.To("vm-first"), Description: ptr.To("")})
		m := w.getMachine("first")
		m.Finalizers = nil
		if err := w.client.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := w.client.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		w.addMachine("old", controllertest.VMMachineSpec(), func(c *clusterv1.Machine, m *infrav1.MaasMachine) {
			withIncumbentIDs(id, false)(c, m)
			m.Status.MachineState = ptr.To(infrav1.MachineState("Commissioning"))
		})
		m = w.reconcileUntilReady("old")
		if got := w.maasMachine(id); got.StatusName != "Deployed" || got.Hostname != "vm-first" || len(w.sim.Instances()) != 1 {
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
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		spec := infrav1.MaasMachineSpec{Image: "ubuntu/noble", MinCPU: ptr.To(2), MinMemoryInMB: ptr.To(4096), LXD: &infrav1.MachineLXDConfig{Enabled: ptr.To(true)}}
		w.addMachine("old", spec, func(m *clusterv1.Machine, _ *infrav1.MaasMachine) { m.Spec.FailureDomain = "az1" })
		m := w.reconcileUntilReady("old")
		if got, want := *m.Spec.ProviderID, "maas:///az1/"+*m.Spec.SystemID; got != want {
			t.Errorf("providerID %s, want %s", got, want)
		}
	})
}

// TestMovedCluster: a move to another management cluster keeps neither status nor
// UIDs.
func TestMovedCluster(t *testing.T) {
	for name, spec := range map[string]infrav1.MaasMachineSpec{"VM": controllertest.VMMachineSpec(), "BareMetal": controllertest.MetalMachineSpec()} {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("web", spec, nil)
				before := w.reconcileUntilReady("web")
				m := w.getMachine("web")
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
				w.restartManager()
				w.sim.ResetJournal()
				after := w.reconcileUntilReady("web")
				w.wantOnlyReads()
				if *after.Spec.ProviderID != *before.Spec.ProviderID || !ptr.Deref(after.Status.Initialization.Provisioned, false) || len(after.Status.Addresses) == 0 {
					t.Errorf("after the move: %+v %+v", after.Spec, after.Status)
				}
				w.removeMachine("web")
			})
		})
	}
}
