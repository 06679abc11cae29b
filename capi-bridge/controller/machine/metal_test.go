package machine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/engine"
)

// TestBareMetalLifecycle takes a machine that MAAS has, by all that is asked of it, and gives
// it back.
func TestBareMetalLifecycle(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		spec := controllertest.MetalMachineSpec()
		spec.Tags, spec.DeployInMemory = []string{"gpu", "nvme"}, true
		w.addMachine("db-1", spec, nil)
		m := w.reconcileUntilReady("db-1")
		got := w.maasMachine("metal")
		if *m.Spec.SystemID != got.SystemID || *m.Spec.ProviderID != "maas://az1/"+got.SystemID {
			t.Errorf("system id %s, providerID %s; MAAS has %s", *m.Spec.SystemID, *m.Spec.ProviderID, got.SystemID)
		}
		if got.StatusName != "Deployed" || got.Owner != "admin" {
			t.Errorf("MAAS has %+v", got)
		}
		if m.Status.LXDHost != nil || m.Status.VMResourceUsage != nil || !conditions.Has(m, infrav1.ReadyCondition) || conditions.Has(m, infrav1.LXDVMCreatedCondition) {
			t.Errorf("bare metal says of a VM: %+v", m.Status)
		}
		w.removeMachine("db-1")
		if got := w.maasMachine("metal"); got.StatusName != "Ready" || got.Owner != "" || len(got.OwnerData) != 0 {
			t.Errorf("given back as %+v", got)
		}
	})
}

// TestEveryTagCounts: the incumbent asked MAAS for the last tag only.
func TestEveryTagCounts(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		spec := controllertest.MetalMachineSpec()
		spec.Tags = []string{"nvme", "gpu"}
		w.addMachine("db-1", spec, nil)
		if m := w.reconcileUntilReady("db-1"); *m.Status.Hostname != "metal" {
			t.Errorf("took %s, which lacks a tag", *m.Status.Hostname)
		}
		w.addMachine("db-2", spec, nil)
		m := w.reconcileUntil("db-2", infrav1.ReadyCondition, infrav1.WaitingForMachineReason)
		w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.WaitingForMachineReason, "fits", "gpu")
	})
}

// TestHostOfCluster makes an LXD host of a cluster's machine. The machine is
// Ready once it is Deployed, because its control plane waits for that. LXDReady
// is true once MAAS knows the LXD.
func TestHostOfCluster(t *testing.T) {
	model := machineModel()
	model.Latency.FirstBoot, model.Latency.Inventory = 5*time.Minute, 10*time.Second
	runInFleet(t, model, func(t *testing.T, w *machineWorld) {
		w.changeCluster(func(c *infrav1.MaasCluster) {
			c.Spec.LXDControlPlaneCluster = ptr.To(true)
			c.Spec.LXDConfig = &infrav1.LXDHostConfig{StorageBackend: "dir", ResourcePool: "vms"}
		})
		w.addMachine("cp-1", controllertest.MetalMachineSpec(), func(m *clusterv1.Machine, _ *infrav1.MaasMachine) { m.Spec.FailureDomain = "az1" })
		m := w.reconcileUntilReady("cp-1")
		w.wantCondition(m, infrav1.LXDReadyCondition, metav1.ConditionFalse, infrav1.LXDSetupPendingReason)
		data, err := w.sim.UserData(*m.Spec.SystemID)
		if err != nil || !strings.Contains(string(data), "kubeadm join") || !strings.Contains(string(data), "lxd:") {
			t.Errorf("the first boot has not both, the bootstrap data and LXD (%v):\n%s", err, data)
		}
		m = w.reconcileUntil("cp-1", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
		w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
		hosts, err := w.site.Inventory.Hosts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, h := range hosts {
			if h.MachineID == *m.Spec.SystemID {
				found = h.Zone == "az1" && h.Pool == "vms" && h.Cores.Total > 0
			}
		}
		if !found {
			t.Errorf("no VM host of it in az1 and vms: %+v", hosts)
		}
		guest := controllertest.VMMachineSpec()
		guest.LXDConfig = &infrav1.LXDConfig{VMHost: m.Spec.SystemID}
		w.addMachine("guest", guest, nil)
		w.reconcileUntilReady("guest")
		w.markDeleted("cp-1")
		blocked := w.reconcileUntil("cp-1", infrav1.DeletingCondition, infrav1.DeletionBlockedReason)
		w.wantCondition(blocked, infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, "guest")
		for range 10 { // it stays blocked, and says so once
			time.Sleep(w.reconcileOnce("cp-1").RequeueAfter)
			w.wantCondition(w.getMachine("cp-1"), infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, "guest")
		}
		w.removeMachine("guest")
		w.reconcileUntilGone("cp-1")
		if got := w.maasMachine(*m.Spec.SystemID); got.StatusName != "Ready" || got.HostedHosts != "" {
			t.Errorf("given back as %+v", got)
		}
	})
}

// TestHostWithoutLXDIsNotReady: the incumbent said LXDReady of nodes on which no
// LXD was set up.
func TestHostWithoutLXDIsNotReady(t *testing.T) {
	model := machineModel()
	for n := range model.Machines {
		model.Machines[n].FirstBoot = "fails"
	}
	runInFleet(t, model, func(t *testing.T, w *machineWorld) {
		w.changeCluster(func(c *infrav1.MaasCluster) { c.Spec.LXDConfig = &infrav1.LXDHostConfig{Enabled: ptr.To(true)} })
		w.addMachine("cp-1", controllertest.MetalMachineSpec(), nil)
		w.reconcileUntilReady("cp-1")
		for range 60 {
			time.Sleep(max(w.reconcileOnce("cp-1").RequeueAfter, time.Second))
			m := w.getMachine("cp-1")
			w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
			if conditions.IsTrue(m, infrav1.LXDReadyCondition) {
				t.Fatalf("no LXD was set up: %s", conditionSummary(m))
			}
		}
	})
}

// TestNothingOfOthersIsReleased: a machine that was released and deployed by
// somebody else meanwhile is not of the cluster any more, and its object can go.
func TestNothingOfOthersIsReleased(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("db-1", controllertest.MetalMachineSpec(), nil)
		m := w.reconcileUntilReady("db-1")
		w.redeployForOther(m, "somebody/else")
		m = w.reconcileUntil("db-1", infrav1.ReadyCondition, infrav1.ConflictReason)
		w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.ConflictReason, "no longer to this cluster")
		w.removeMachine("db-1")
		if got := w.maasMachine(*m.Spec.SystemID); got.StatusName != "Deployed" || got.OwnerData["maaslxd-key"] != "somebody/else" {
			t.Errorf("somebody else's machine is %+v", got)
		}
	})
}

// redeployForOther releases a machine by hand, and lets somebody else deploy it.
func (w *machineWorld) redeployForOther(m *infrav1.MaasMachine, to engine.Key) {
	w.t.Helper()
	id, key := *m.Spec.SystemID, engine.Key(m.Annotations[ownership.KeyAnnotation])
	if _, err := engine.WaitUntilDone(w.t.Context(), func(ctx context.Context) (engine.Result[engine.BareMetal], error) {
		return w.site.Machines.Delete(ctx, engine.Ref{Key: key, SystemID: id})
	}); err != nil {
		w.t.Fatal(err)
	}
	want := engine.MachineSpec{Machine: id, Deploy: &engine.Deployment{Image: "ubuntu/noble"}}
	if _, err := engine.WaitUntilDone(w.t.Context(), w.site.Machines.Steps(engine.Ref{Key: to}, want)); err != nil {
		w.t.Fatal(err)
	}
}

// TestHostReleasedByHand: it is not deployed again, although its LXD was never
// finished.
func TestHostReleasedByHand(t *testing.T) {
	model := machineModel()
	model.Latency.FirstBoot = time.Hour
	runInFleet(t, model, func(t *testing.T, w *machineWorld) {
		w.changeCluster(func(c *infrav1.MaasCluster) { c.Spec.LXDControlPlaneCluster = ptr.To(true) })
		w.addMachine("cp-1", controllertest.MetalMachineSpec(), nil)
		id := *w.reconcileUntilReady("cp-1").Spec.SystemID
		w.editMaasMachine(id, sim.MachineEdit{StatusName: ptr.To("Ready")})
		w.sim.ResetJournal()
		w.reconcileUntil("cp-1", infrav1.ReadyCondition, infrav1.MachineReleasedReason)
		for range 5 {
			time.Sleep(w.reconcileOnce("cp-1").RequeueAfter)
		}
		w.wantOnlyReads()
	})
}

// TestMachinesOfOthersAreNotTakenOver: a system id that another object's machine
// has gives nobody a right to it.
func TestMachinesOfOthersAreNotTakenOver(t *testing.T) {
	for name, spec := range map[string]infrav1.MaasMachineSpec{"VM": controllertest.VMMachineSpec(), "BareMetal": controllertest.MetalMachineSpec()} {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("victim", spec, nil)
				id := *w.reconcileUntilReady("victim").Spec.SystemID
				for thief, ready := range map[string]bool{"thief-1": false, "thief-2": true} {
					w.addMachine(thief, spec, withIncumbentIDs(id, ready))
					w.reconcileUntil(thief, infrav1.ReadyCondition, infrav1.ConflictReason)
					w.removeMachine(thief)
					if got := w.maasMachine(id); got.StatusName != "Deployed" {
						t.Errorf("the victim is %s", got.StatusName)
					}
				}
				w.reconcileUntilReady("victim")
			})
		})
	}
}
