package machine_test

import (
	"slices"
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

// TestByHand: what somebody does to a running VM is told, and nothing is done
// about it.
func TestByHand(t *testing.T) {
	cases := map[string]struct {
		why    string
		edit   sim.MachineEdit
		reason string // of MachineDeployed
		status metav1.ConditionStatus
		says   string
	}{
		"Renamed":  {"Its Node keeps the name.", sim.MachineEdit{Hostname: ptr.To("pet")}, infrav1.MachineDeployedReason, metav1.ConditionTrue, "rename it back"},
		"Moved":    {"Its providerID keeps the zone.", sim.MachineEdit{Zone: ptr.To("az2")}, infrav1.MachineDeployedReason, metav1.ConditionTrue, "az2"},
		"Off":      {"A machine that is off does not run its Node.", sim.MachineEdit{PowerState: ptr.To("off")}, infrav1.MachinePoweredOffReason, metav1.ConditionFalse, "Switch it on"},
		"Unknown":  {"An unknown power state is no reason to report a problem.", sim.MachineEdit{PowerState: ptr.To("unknown")}, infrav1.MachineDeployedReason, metav1.ConditionTrue, ""},
		"HostAway": {"MAAS cannot ask the LXD.", sim.MachineEdit{PowerState: ptr.To("error")}, infrav1.MachineDeployedReason, metav1.ConditionTrue, "may be away"},
		"Released": {"The system that it ran is lost.", sim.MachineEdit{StatusName: ptr.To("Ready"), PowerState: ptr.To("off")}, infrav1.MachineReleasedReason, metav1.ConditionFalse, "released"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.addMachine("web", controllertest.VMMachineSpec(), func(m *clusterv1.Machine, _ *infrav1.MaasMachine) { m.Spec.FailureDomain = "az1" })
				before := w.reconcileUntilReady("web")
				w.takeEvents()
				w.editMaasMachine(*before.Spec.SystemID, tc.edit)
				w.sim.ResetJournal()
				for range 5 {
					time.Sleep(w.reconcileOnce("web").RequeueAfter)
				}
				m := w.getMachine("web")
				w.wantCondition(m, infrav1.MachineDeployedCondition, tc.status, tc.reason, tc.says)
				w.wantOnlyReads()
				if *m.Spec.ProviderID != *before.Spec.ProviderID || *m.Spec.SystemID != *before.Spec.SystemID {
					t.Errorf("known as %s, %s", *m.Spec.ProviderID, *m.Spec.SystemID)
				}
				events := w.takeEvents()
				if tc.says != "" && (len(events) != 1 || !strings.Contains(events[0], tc.says) || !strings.HasPrefix(events[0], "Warning")) {
					t.Errorf("%s Told: %q", tc.why, events)
				}
				w.removeMachine("web")
				if left := w.sim.Instances(); len(left) != 0 {
					t.Errorf("left in LXD: %v", left)
				}
			})
		})
	}
}

// TestRemovedByHand: a machine that MAAS no longer has is told, and its object can
// be deleted.
func TestRemovedByHand(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		id := *w.reconcileUntilReady("web").Spec.SystemID
		if err := w.sim.DeleteMachine(id); err != nil {
			t.Fatal(err)
		}
		m := w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.MachineNotFoundReason)
		w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.MachineNotFoundReason, id)
		if !ptr.Deref(m.Status.Initialization.Provisioned, false) {
			t.Error("provisioned turned false again")
		}
		w.sim.ResetJournal()
		for range 5 {
			time.Sleep(w.reconcileOnce("web").RequeueAfter)
		}
		w.wantOnlyReads()
		w.removeMachine("web")
	})
}

// TestRemovedByHandEarly: so is one that somebody removed before it was Ready.
func TestRemovedByHandEarly(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.MachineCommissioningReason)
		if err := w.sim.DeleteMachine(w.sim.Instances()[0].MachineID); err != nil {
			t.Fatal(err)
		}
		m := w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.MachineNotFoundReason)
		w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.MachineNotFoundReason, "Delete the Machine")
		w.removeMachine("web")
		if rows, err := w.ledger.Rows(t.Context()); err != nil || len(rows) > 0 {
			t.Errorf("left in the ledger: %v, %v", rows, err)
		}
	})
}

// TestMAASAway: that MAAS does not answer says nothing of what runs.
func TestMAASAway(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		before := w.reconcileUntilReady("web")
		id := w.sim.AddFault(sim.Fault{Kind: sim.FaultStatus, Status: 502})
		w.writes = nil
		for range 5 {
			time.Sleep(w.reconcileOnce("web").RequeueAfter)
		}
		w.wantCondition(w.getMachine("web"), infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
		if len(w.writes) > 0 {
			t.Errorf("written: %v", w.writes)
		}
		w.sim.RemoveFault(id)
		if after := w.reconcileUntilReady("web"); *after.Spec.SystemID != *before.Spec.SystemID {
			t.Errorf("known as %s", *after.Spec.SystemID)
		}
	})
}

// TestMAASAwayInFlight: nor does it of what is being installed.
func TestMAASAwayInFlight(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		w.reconcileUntil("web", infrav1.LXDVMDeployedCondition, infrav1.MachineDeployingReason)
		w.takeEvents()
		id := w.sim.AddFault(sim.Fault{Kind: sim.FaultStatus, Status: 503})
		m := w.reconcileUntil("web", infrav1.MachineDeployedCondition, infrav1.MAASUnavailableReason)
		for _, kind := range []string{infrav1.LXDHostSelectedCondition, infrav1.LXDResourcesAllocatedCondition, infrav1.LXDVMCreatedCondition} {
			w.wantCondition(m, kind, metav1.ConditionTrue, kind)
		}
		w.wantCondition(m, infrav1.LXDVMDeployedCondition, metav1.ConditionFalse, infrav1.MachineDeployingReason)
		if told := w.takeEvents(); len(told) != 1 {
			t.Errorf("told: %v", told)
		}
		w.sim.RemoveFault(id)
		w.reconcileUntilReady("web")
	})
}

// TestAtRestMachinesAreOnlyLookedAt: once a minute, and nothing is written.
func TestAtRestMachinesAreOnlyLookedAt(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		names := []string{"w1", "w2", "w3", "w4"}
		for _, name := range names {
			w.addMachine(name, controllertest.VMMachineSpec(), nil)
		}
		w.reconcileConcurrently(names, infrav1.ReadyReason)
		for _, name := range names {
			w.reconcileOnce(name)
		}
		w.writes = nil
		w.sim.ResetJournal()
		for range 10 {
			pauses := map[string]time.Duration{}
			for _, name := range names {
				pauses[name] = w.reconcileOnce(name).RequeueAfter
			}
			for name, pause := range pauses {
				if pause < 15*time.Second || pause > 75*time.Second {
					t.Errorf("%s comes back after %s", name, pause)
				}
			}
			time.Sleep(pauses["w1"])
		}
		if calls := w.sim.Journal().Total(); calls > 40 || len(w.writes) > 0 {
			t.Errorf("%d calls in 10 minutes, written %v", calls, w.writes)
		}
		w.wantOnlyReads()
	})
}

// TestPausedMachine: nothing is done to what is paused, not even when it is deleted.
func TestPausedMachine(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("web", controllertest.VMMachineSpec(), func(_ *clusterv1.Machine, m *infrav1.MaasMachine) {
			m.Annotations = map[string]string{clusterv1.PausedAnnotation: "true"}
		})
		for range 3 {
			w.reconcileOnce("web")
		}
		m := w.getMachine("web")
		w.wantCondition(m, infrav1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason)
		if len(m.Finalizers) > 0 || w.sim.Journal().Total() > 0 {
			t.Errorf("finalizers %v, %d calls of MAAS", m.Finalizers, w.sim.Journal().Total())
		}
		w.setPaused("web", false)
		w.reconcileUntilReady("web")
		w.setPaused("web", true)
		w.reconcileOnce("web")
		w.markDeleted("web")
		w.sim.ResetJournal()
		w.reconcileOnce("web")
		if w.isGone("web") || w.sim.Journal().Total() > 0 {
			t.Error("something was done to what is paused")
		}
		w.setPaused("web", false)
		w.reconcileUntilGone("web")
	})
}

func (w *machineWorld) setPaused(name string, on bool) {
	w.t.Helper()
	m := w.getMachine(name)
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	delete(m.Annotations, clusterv1.PausedAnnotation)
	if on {
		m.Annotations[clusterv1.PausedAnnotation] = "true"
	}
	if err := w.client.Update(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
}

// TestStaticIP: the address is the VM's from before it is deployed on, and free
// again once it is gone.
func TestStaticIP(t *testing.T) {
	for name, ip := range map[string]*infrav1.StaticIP{
		"Short": {IP: "10.77.0.40", Short: true}, "Object": {IP: "10.77.0.40", CIDR: "10.77.0.0/24"},
	} {
		t.Run(name, func(t *testing.T) {
			runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				spec := controllertest.VMMachineSpec()
				spec.StaticIP = ip
				w.addMachine("web", spec, nil)
				m := w.reconcileUntilReady("web")
				if got := w.maasMachine(*m.Spec.SystemID).IPAddresses; !slices.Contains(got, "10.77.0.40") {
					t.Errorf("it has %v", got)
				}
				if !slices.ContainsFunc(m.Status.Addresses, func(a clusterv1.MachineAddress) bool { return a.Address == "10.77.0.40" }) {
					t.Errorf("its addresses are %v", m.Status.Addresses)
				}
				w.addMachine("second", spec, nil)
				second := w.reconcileUntil("second", infrav1.ReadyCondition, infrav1.StaticIPUnavailableReason)
				w.wantCondition(second, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.StaticIPUnavailableReason, "10.77.0.40")
				if len(w.sim.Instances()) != 1 {
					t.Errorf("a VM was made for an address that is in use: %v", w.sim.Instances())
				}
				w.removeMachine("web")
				w.reconcileUntilReady("second")
			})
		})
	}
}

// TestSubnetOfABridge finds the subnet of the bridge that is named.
func TestSubnetOfABridge(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		spec := controllertest.VMMachineSpec()
		spec.LXDConfig = &infrav1.LXDConfig{Network: &infrav1.LXDNetworkConfig{Bridge: "maasbr0"}}
		w.addMachine("web", spec, nil)
		w.reconcileUntilReady("web")
		spec.LXDConfig.Network.Interfaces = []infrav1.LXDInterface{{Name: "eth0", Subnet: "10.77.0.0/24", Bridge: "maasbr0", VLAN: ptr.To[int32](0)}}
		w.addMachine("all", spec, nil)
		w.reconcileUntilReady("all")
	})
}

// TestHostOfAProject puts a VM on a host of the project that it names.
func TestHostOfAProject(t *testing.T) {
	model := machineModel()
	model.Hosts[1].Project = "prod"
	runInFleet(t, model, func(t *testing.T, w *machineWorld) {
		for _, name := range []string{"w1", "w2", "w3"} {
			spec := controllertest.VMMachineSpec()
			spec.LXDConfig = &infrav1.LXDConfig{Project: ptr.To("prod")}
			w.addMachine(name, spec, nil)
			if m := w.reconcileUntilReady(name); *m.Status.LXDHost != "host2" || *m.Status.LXDProject != "prod" {
				t.Errorf("%s is on %s in %s", name, *m.Status.LXDHost, *m.Status.LXDProject)
			}
		}
		if calls := w.sim.Journal().Count("GET vm-hosts/{id}/ parameters"); calls > 2 {
			t.Errorf("the projects of 2 hosts were asked for %d times", calls)
		}
	})
}

// TestProjectTold: the status says in which project VMs are that name none, once
// they are Ready. Each host is asked once.
func TestProjectTold(t *testing.T) {
	model := machineModel()
	model.Hosts[1].Project = "prod"
	runInFleet(t, model, func(t *testing.T, w *machineWorld) {
		projects := map[string]string{"host1": "default", "host2": "prod"}
		for _, name := range []string{"w1", "w2", "w3", "w4"} {
			w.addMachine(name, controllertest.VMMachineSpec(), nil)
			w.reconcileUntilReady(name)
			w.reconcileOnce(name)
			if m := w.getMachine(name); ptr.Deref(m.Status.LXDProject, "") != projects[*m.Status.LXDHost] {
				t.Errorf("%s on %s is in project %v", name, *m.Status.LXDHost, ptr.Deref(m.Status.LXDProject, ""))
			}
		}
		if calls := w.sim.Journal().Count("GET vm-hosts/{id}/ parameters"); calls > 2 {
			t.Errorf("the projects of 2 hosts were asked for %d times", calls)
		}
	})
}

// TestStaticIPOfMetal: the address is the machine's while it is allocated.
func TestStaticIPOfMetal(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		spec := controllertest.MetalMachineSpec()
		spec.StaticIP = &infrav1.StaticIP{IP: "10.77.0.41", Short: true}
		w.addMachine("db", spec, nil)
		id := *w.reconcileUntilReady("db").Spec.SystemID
		if got := w.maasMachine(id).IPAddresses; !slices.Contains(got, "10.77.0.41") {
			t.Errorf("it has %v", got)
		}
		w.removeMachine("db")
		if got := w.maasMachine(id).IPAddresses; slices.Contains(got, "10.77.0.41") {
			t.Errorf("given back with %v", got)
		}
	})
}
