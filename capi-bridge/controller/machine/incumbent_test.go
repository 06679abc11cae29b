package machine_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// The tests below are named for what the provider that came before does wrong.

// TestBrokenNodeIsNotReleased: a running node that an operator marks as Broken
// was released, and so wiped.
func TestBrokenNodeIsNotReleased(t *testing.T) {
	for name, status := range map[string]string{
		"Broken": "Broken", "RescueMode": "Rescue mode", "Testing": "Testing", "FailedDeployment": "Failed deployment",
		"FailedTesting": "Failed testing", "Deploying": "Deploying",
	} {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("web", controllertest.VMMachineSpec(), nil)
				w.addMachine("db", controllertest.MetalMachineSpec(), nil)
				for _, object := range []string{"web", "db"} {
					id := *w.reconcileUntilReady(object).Spec.SystemID
					w.editMaasMachine(id, sim.MachineEdit{StatusName: &status})
					w.sim.ResetJournal()
					m := w.reconcileUntil(object, infrav1.ReadyCondition, infrav1.MachineStateUndefinedReason)
					w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.MachineStateUndefinedReason, status)
					for range 20 {
						time.Sleep(w.reconcileOnce(object).RequeueAfter)
					}
					w.wantOnlyReads()
					if !ptr.Deref(w.getMachine(object).Status.Initialization.Provisioned, false) {
						t.Error("provisioned turned false again")
					}
					w.editMaasMachine(id, sim.MachineEdit{StatusName: ptr.To("Deployed")})
					w.reconcileUntilReady(object)
				}
			})
		})
	}
}

// wantOnlyReads checks that nothing was asked of MAAS but looks.
func (w *machineWorld) wantOnlyReads() {
	w.t.Helper()
	for _, c := range w.sim.Journal().Calls {
		if !strings.HasPrefix(c.Route, "GET ") {
			w.t.Errorf("MAAS was asked for %s", c.Route)
		}
	}
}

// TestDeleteInEveryState: the deletion of a VM in New, Commissioning, Testing or
// Failed commissioning hung for ever.
func TestDeleteInEveryState(t *testing.T) {
	for name, status := range map[string]string{
		"New": "New", "Commissioning": "Commissioning", "Testing": "Testing", "FailedCommissioning": "Failed commissioning",
		"FailedTesting": "Failed testing", "Ready": "Ready", "Allocated": "Allocated", "Deploying": "Deploying",
		"FailedDeployment": "Failed deployment", "Deployed": "Deployed", "Broken": "Broken",
	} {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("web", controllertest.VMMachineSpec(), nil)
				w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.MachineCommissioningReason)
				id := w.sim.Instances()[0].MachineID
				w.editMaasMachine(id, sim.MachineEdit{StatusName: &status})
				w.removeMachine("web")
				if left := w.sim.Instances(); len(left) != 0 {
					t.Errorf("left in LXD: %v", left)
				}
			})
		})
	}
}

// TestFailedCommissioningMovesOn: a VM that failed commissioning was deployed
// again and again, in vain.
func TestFailedCommissioningMovesOn(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.MachineCommissioningReason)
		first := w.sim.Instances()[0]
		if err := w.sim.FailMachine(first.MachineID, "no disk found"); err != nil {
			t.Fatal(err)
		}
		m := w.reconcileUntilReady("web")
		if *m.Status.LXDHost == first.Host || *m.Spec.SystemID == first.MachineID {
			t.Errorf("it is on %s as %s again", *m.Status.LXDHost, *m.Spec.SystemID)
		}
		if all := w.sim.Instances(); len(all) != 1 {
			t.Errorf("in LXD: %v", all)
		}
	})
}

// TestFailedDeploymentIsTold: the providerID of a machine that failed stayed, and
// the bad machine was tried for ever.
func TestFailedDeploymentIsTold(t *testing.T) {
	for name, spec := range map[string]infrav1.MaasMachineSpec{"VM": controllertest.VMMachineSpec(), "BareMetal": controllertest.MetalMachineSpec()} {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("web", spec, nil)
				m := w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.MachineDeployingReason)
				for m.Annotations["infrastructure.cluster.x-k8s.io/maas-system-id"] == "" || *m.Status.MachineState != "Deploying" {
					time.Sleep(time.Second)
					w.reconcileOnce("web")
					m = w.getMachine("web")
				}
				if err := w.sim.FailMachine(m.Annotations["infrastructure.cluster.x-k8s.io/maas-system-id"], "no kernel"); err != nil {
					t.Fatal(err)
				}
				m = w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.MachineDeployFailedReason)
				w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.MachineDeployFailedReason, "Failed deployment")
				if m.Spec.ProviderID != nil || m.Status.FailureReason != nil || ptr.Deref(m.Status.Initialization.Provisioned, false) {
					t.Errorf("providerID %v, failureReason %v, %+v", m.Spec.ProviderID, m.Status.FailureReason, m.Status.Initialization)
				}
				w.sim.ResetJournal()
				for range 5 {
					time.Sleep(w.reconcileOnce("web").RequeueAfter)
				}
				w.wantOnlyReads()
				w.removeMachine("web")
			})
		})
	}
}

// TestManyAtOnceSpread: eight machines that were made at once all landed on one
// host, with a quarter of the cores that they needed.
func TestManyAtOnceSpread(t *testing.T) {
	model := machineModel()
	for n := range model.Hosts {
		model.Hosts[n].Cores = 8
	}
	runInFleet(t, model, func(t *testing.T, w *machineWorld) {
		names := []string{"w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8"}
		for _, name := range names {
			w.addMachine(name, controllertest.VMMachineSpec(), nil)
		}
		w.reconcileConcurrently(names, infrav1.ReadyReason)
		on := map[string]int{}
		for _, vm := range w.sim.Instances() {
			on[vm.Host] += vm.Cores
		}
		if len(w.sim.Instances()) != 8 || on["host1"] != 8 || on["host2"] != 8 {
			t.Errorf("%d VMs; cores by host: %v", len(w.sim.Instances()), on)
		}
	})
}

// TestCommissioningIsWaitedForByLooking: MAAS was asked to deploy until it no
// longer refused.
func TestCommissioningIsWaitedForByLooking(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		w.reconcileUntilReady("web")
		if deploys := w.sim.Journal().Count("POST machines/{id}/ deploy"); deploys != 1 {
			t.Errorf("MAAS was asked %d times to deploy", deploys)
		}
	})
}
