package manager_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestKubeBrokenNodeIsNotReleased: a running node that an operator marks as Broken
// was released, and so wiped.
func TestKubeBrokenNodeIsNotReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "broken", fastModel())
	before := len(w.maas.Machines())
	c := w.createReadyCluster("c", nil)
	w.createMachine("c", "vm-0", newVMSpec(), nil)
	w.createMachine("c", "metal-0", newMetalSpec(), nil)
	ids := map[string]string{"vm-0": *w.awaitReady("vm-0").Spec.SystemID, "metal-0": *w.awaitReady("metal-0").Spec.SystemID}
	w.maas.ResetJournal()
	for _, status := range []string{"Broken", "Rescue mode", "Failed deployment"} {
		for name, id := range ids {
			w.editMachine(id, sim.MachineEdit{StatusName: &status})
			m := w.touchUntilReason(name, infrav1.MachineDeployedCondition, infrav1.MachineStateUndefinedReason, status)
			w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionFalse, infrav1.MachineStateUndefinedReason, status, "repair it in MAAS")
			w.awaitEvent(name, infrav1.MachineStateUndefinedReason, status)
			if !ptr.Deref(m.Status.Initialization.Provisioned, false) {
				t.Errorf("%s: provisioned turned false again", name)
			}
		}
		w.awaitTwoLooks("vm-0", "metal-0")
		for name, id := range ids {
			w.editMachine(id, sim.MachineEdit{StatusName: ptr.To("Deployed")})
			w.touchUntilReason(name, infrav1.ReadyCondition, infrav1.ReadyReason, "")
		}
	}
	w.wantOnlyReads()
	w.deleteCluster(c, before, "vm-0", "metal-0")
}

// TestKubeByHand: what somebody does to a running VM is told, in a condition and in
// an event, and nothing is done about it.
func TestKubeByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hand", fastModel())
	w.createReadyCluster("c", nil)
	cases := map[string]struct {
		reason    string
		edit      sim.MachineEdit
		condition string // of MachineDeployed
		says      string
	}{
		"renamed":  {"Its Node keeps the name.", sim.MachineEdit{Hostname: ptr.To("pet")}, infrav1.MachineDeployedReason, "rename it back"},
		"moved":    {"Its providerID keeps the zone.", sim.MachineEdit{Zone: ptr.To("default")}, infrav1.MachineDeployedReason, "in zone default"},
		"released": {"What it ran is lost.", sim.MachineEdit{StatusName: ptr.To("Ready"), PowerState: ptr.To("off")}, infrav1.MachineReleasedReason, "somebody released it"},
		"removed":  {"There is nothing any more.", sim.MachineEdit{}, infrav1.MachineNotFoundReason, "no longer has machine"},
	}
	var all []string
	ids := map[string]string{}
	for name := range cases {
		all = append(all, name)
		w.createMachine("c", name, newVMSpec(), nil)
	}
	for name := range cases {
		ids[name] = *w.awaitReady(name).Spec.SystemID
	}
	for name, tc := range cases {
		if name == "removed" {
			if err := w.maas.DeleteMachine(ids[name]); err != nil {
				t.Fatal(err)
			}
			continue
		}
		w.editMachine(ids[name], tc.edit)
	}
	w.maas.ResetJournal()
	for name, tc := range cases {
		before := w.getMachine(name).Spec
		m := w.touchUntilReason(name, infrav1.MachineDeployedCondition, tc.condition, tc.says)
		w.awaitEvent(name, tc.condition, tc.says)
		status := metav1.ConditionFalse
		if tc.condition == infrav1.MachineDeployedReason {
			status = metav1.ConditionTrue
		}
		w.wantCondition(m, infrav1.MachineDeployedCondition, status, tc.condition, tc.says)
		if *m.Spec.ProviderID != *before.ProviderID || *m.Spec.SystemID != *before.SystemID || !ptr.Deref(m.Status.Initialization.Provisioned, false) {
			t.Errorf("%s %s Known as %+v, %+v", name, tc.reason, m.Spec, m.Status.Initialization)
		}
	}
	w.awaitTwoLooks(all...)
	w.wantOnlyReads()
	w.deleteMachines(all...)
	for _, i := range w.maas.Instances() {
		if i.MachineID != "" {
			t.Errorf("left in MAAS: %+v", i)
		}
	}
}

// TestKubeDeleteInEveryState: the deletion of a VM in New, Commissioning, Testing or
// Failed commissioning hung for ever.
func TestKubeDeleteInEveryState(t *testing.T) {
	t.Parallel()
	model := fastModel()
	model.Latency.Commission, model.Latency.Deploy = time.Hour, time.Hour
	w := newWorld(t, "states", model)
	before := len(w.maas.Machines())
	c := w.createReadyCluster("c", nil)
	states := map[string]string{
		"new": "New", "commissioning": "Commissioning", "testing": "Testing", "failed": "Failed commissioning",
		"broken": "Broken", "deploying": "Deploying",
	}
	var all []string
	for name := range states {
		all = append(all, name)
		w.createMachine("c", name, newVMSpec(), nil)
	}
	for name, status := range states {
		w.awaitReason(name, infrav1.ReadyCondition, infrav1.MachineCommissioningReason)
		// Paused, so that nothing comes of the state before the deletion.
		w.annotate(w.machineObject(name), "cluster.x-k8s.io/paused", "true")
		w.awaitPaused(w.machineObject(name))
		w.editMachine(w.awaitSystemID(name), sim.MachineEdit{StatusName: &status})
		w.deleteObject(w.machineObject(name))
		w.annotate(w.machineObject(name), "cluster.x-k8s.io/paused", "")
	}
	w.deleteCluster(c, before)
	for _, name := range all {
		w.awaitGone(w.machineObject(name))
	}
}
