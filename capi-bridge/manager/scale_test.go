package manager_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestKubeMixedModes takes a cluster of VMs and bare metal up and down, and away.
func TestKubeMixedModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "mixed", fastModel())
	before := len(w.maas.Machines())
	c := w.createReadyCluster("c", nil)
	w.createMachine("c", "cp-0", newVMSpec(), makeControlPlane)
	w.createMachine("c", "vm-0", newVMSpec(), nil)
	w.createMachine("c", "metal-0", newMetalSpec(), nil)
	for name, form := range map[string]string{"cp-0": "maas-lxd://az", "vm-0": "maas-lxd://az", "metal-0": "maas://az1/"} {
		if id := ptr.Deref(w.awaitReady(name).Spec.ProviderID, ""); !strings.HasPrefix(id, form) {
			t.Errorf("%s has the providerID %q", name, id)
		}
	}
	w.createMachine("c", "vm-1", newVMSpec(), nil)
	w.createMachine("c", "metal-1", newMetalSpec(), nil)
	w.awaitReady("vm-1")
	w.awaitReady("metal-1")
	if n := len(w.maas.Instances()); n != 3 {
		t.Errorf("%d VMs, want 3", n)
	}
	w.deleteMachines("vm-0", "metal-0")
	if n, free := len(w.maas.Instances()), w.mustFindMachine("small").StatusName+" "+w.mustFindMachine("metal").StatusName; n != 2 || strings.Count(free, "Ready") != 1 {
		t.Errorf("after scaling down: %d VMs, want 2; the machines are %s, want one Ready", n, free)
	}
	w.awaitReady("vm-1")
	w.deleteCluster(c, before, "vm-1", "metal-1", "cp-0")
}

// TestKubeEveryTagCounts: CAPMaaS asked MAAS for the last tag only.
func TestKubeEveryTagCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "tags", fastModel())
	w.createReadyCluster("c", nil)
	spec := newMetalSpec()
	spec.Tags = []string{"nvme", "gpu"}
	w.createMachine("c", "db-0", spec, nil)
	if m := w.awaitReady("db-0"); *m.Status.Hostname != "metal" {
		t.Errorf("took %s, which lacks a tag", *m.Status.Hostname)
	}
	w.createMachine("c", "db-1", spec, nil)
	m := w.awaitReason("db-1", infrav1.ReadyCondition, infrav1.WaitingForMachineReason)
	w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.WaitingForMachineReason, "nvme", "gpu")
	spec.Tags = []string{"nvme"}
	spec.ProvisioningMode = newVMSpec().ProvisioningMode
	w.createMachine("c", "vm-0", spec, nil)
	m = w.awaitReason("vm-0", infrav1.ReadyCondition, infrav1.InsufficientResourcesReason)
	w.wantCondition(m, infrav1.LXDHostSelectedCondition, metav1.ConditionFalse, infrav1.InsufficientResourcesReason, "nvme")
}

// TestKubeManyAtOnceSpread makes eight machines at once. Once, all landed on
// one host with a quarter of the cores that they needed. While they
// commissioned, MAAS was asked to deploy them until it no longer refused, with
// a connection for each call.
func TestKubeManyAtOnceSpread(t *testing.T) {
	t.Parallel()
	model := fastModel()
	model.Machines = nil
	for n := range model.Hosts {
		model.Hosts[n].Cores = 8
	}
	w := newWorld(t, "spread", model)
	before := len(w.maas.Machines())
	c := w.createReadyCluster("c", nil)
	var names []string
	for n := range 8 {
		names = append(names, fmt.Sprintf("w-%d", n))
		w.createMachine("c", names[n], newVMSpec(), nil)
	}
	for _, name := range names {
		w.awaitReady(name)
	}
	on := map[string]int{}
	for _, vm := range w.maas.Instances() {
		on[vm.Host] += vm.Cores
	}
	if len(w.maas.Instances()) != 8 || on["h1"] != 8 || on["h2"] != 8 {
		t.Errorf("%d VMs; cores by host: %v", len(w.maas.Instances()), on)
	}
	if over := w.maas.Overcommits(); len(over) > 0 {
		t.Errorf("over-committed: %v", over)
	}
	j := w.maas.Journal()
	if deploys := j.Count("POST machines/{id}/ deploy"); deploys != 8 {
		t.Errorf("MAAS was asked %d times to deploy 8 machines", deploys)
	}
	if j.Connections > 16+j.Total()/10 { // idle ones are closed, and opened anew on a slow machine
		t.Errorf("%d connections for %d calls", j.Connections, j.Total())
	}
	w.deleteCluster(c, before, names...)
}

// TestKubeHostDiesInCompose: a host dies after LXD has begun to make the VM.
// The VM lands on the other host, and there is only one in the end, also when
// the host comes back. A message says that somebody must delete the leftover.
func TestKubeHostDiesInCompose(t *testing.T) {
	t.Parallel()
	model := fastModel()
	model.Latency.Compose = time.Second
	w := newWorld(t, "dies", model)
	w.createReadyCluster("c", nil)
	name, dead := "", ""
	for n := 0; dead == ""; n++ {
		name = fmt.Sprintf("w-%d", n)
		w.createMachine("c", name, newVMSpec(), nil)
		if dead = w.killHostInCompose(); dead == "" { // too late
			w.awaitReady(name)
			w.deleteMachines(name)
		}
	}
	m := w.awaitReady(name)
	if on := ptr.Deref(m.Status.LXDHost, ""); on == dead || w.mustFindMachine(*m.Spec.SystemID).Host != on {
		t.Errorf("it is on %s; %s died", on, dead)
	}
	if err := w.maas.SetLXDCondition(dead, sim.ConditionOK); err != nil {
		t.Fatal(err)
	}
	if err := w.maas.RefreshHost(dead); err != nil {
		t.Fatal(err)
	}
	w.touchObject(m)
	m = w.awaitReady(name)
	w.wantCondition(m, infrav1.LXDVMCreatedCondition, metav1.ConditionTrue, infrav1.LXDVMCreatedReason, dead, "delete it")
	key := m.Annotations[ownership.KeyAnnotation]
	ours := slices.DeleteFunc(w.maas.Machines(), func(m sim.Machine) bool { return !strings.Contains(m.Description, key) })
	if len(ours) != 1 || ours[0].SystemID != *m.Spec.SystemID {
		t.Errorf("MAAS has %d machines of ours: %+v", len(ours), ours)
	}
	w.deleteMachines(name)
}

// killHostInCompose lets the host die that MAAS has a VM made on, and says which it
// is; none, if MAAS was faster.
func (w *world) killHostInCompose() (dead string) {
	w.t.Helper()
	w.maas.ResetJournal()
	w.waitFor("LXD makes a VM", func() string {
		all := w.maas.Instances()
		if len(all) == 0 {
			return "there is none"
		}
		dead = all[0].Host
		return ""
	})
	if err := w.maas.SetLXDCondition(dead, sim.ConditionUnreachable); err != nil {
		w.t.Fatal(err)
	}
	status := 0
	w.waitFor("MAAS answers", func() string {
		for _, call := range w.maas.Journal().Calls {
			if status = call.Status; strings.HasSuffix(call.Route, " compose") && status != 0 {
				return ""
			}
		}
		return "the compose is under way"
	})
	if status != 200 {
		return dead
	}
	if err := w.maas.SetLXDCondition(dead, sim.ConditionOK); err != nil {
		w.t.Fatal(err)
	}
	return ""
}

// TestKubeFailedCommissioningMovesOn: a VM that failed commissioning was deployed
// again and again, in vain. It is made anew, elsewhere.
func TestKubeFailedCommissioningMovesOn(t *testing.T) {
	t.Parallel()
	model := fastModel()
	model.Latency.Commission = time.Hour
	w := newWorld(t, "commission", model)
	w.createReadyCluster("c", nil)
	w.createMachine("c", "w-0", newVMSpec(), nil)
	w.awaitReason("w-0", infrav1.ReadyCondition, infrav1.MachineCommissioningReason)
	first := w.maas.Instances()[0]
	if err := w.maas.FailMachine(first.MachineID, "no disk found"); err != nil {
		t.Fatal(err)
	}
	second := first
	w.waitFor("another VM", func() string {
		all := w.maas.Instances()
		if len(all) != 1 || all[0].MachineID == first.MachineID || all[0].MachineID == "" {
			return fmt.Sprintf("%+v", all)
		}
		second = all[0]
		return ""
	})
	w.waitFor("commissioned", func() string { return errorText(w.maas.FinishMachine(second.MachineID)) })
	m := w.awaitReady("w-0")
	if *m.Status.LXDHost == first.Host || *m.Spec.SystemID != second.MachineID {
		t.Errorf("it is on %s as %s; the first was %+v", *m.Status.LXDHost, *m.Spec.SystemID, first)
	}
}

// TestKubeFailedDeploymentIsTold: the providerID of a machine that failed stayed, and
// the bad machine was tried for ever.
func TestKubeFailedDeploymentIsTold(t *testing.T) {
	t.Parallel()
	model := fastModel()
	model.Latency.Deploy = time.Hour
	w := newWorld(t, "deployment", model)
	before := len(w.maas.Machines())
	c := w.createReadyCluster("c", nil)
	w.createMachine("c", "vm-0", newVMSpec(), nil)
	w.createMachine("c", "metal-0", newMetalSpec(), nil)
	for _, name := range []string{"vm-0", "metal-0"} {
		w.awaitReason(name, infrav1.ReadyCondition, infrav1.MachineDeployingReason)
		id := w.awaitSystemID(name)
		w.waitFor("the deployment fails", func() string { return errorText(w.maas.FailMachine(id, "no kernel")) })
		m := w.awaitReason(name, infrav1.ReadyCondition, infrav1.MachineDeployFailedReason)
		w.wantCondition(m, infrav1.MachineDeployedCondition, metav1.ConditionFalse, infrav1.MachineDeployFailedReason, "Failed deployment")
		if m.Spec.ProviderID != nil || m.Status.FailureReason != nil || ptr.Deref(m.Status.Initialization.Provisioned, false) {
			t.Errorf("providerID %v, failureReason %v, %+v", m.Spec.ProviderID, m.Status.FailureReason, m.Status.Initialization)
		}
		w.awaitEvent(name, infrav1.MachineDeployFailedReason, "Failed deployment")
	}
	w.maas.ResetJournal()
	w.awaitTwoLooks("vm-0", "metal-0")
	w.wantOnlyReads()
	w.deleteCluster(c, before, "vm-0", "metal-0")
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
