package machine_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/assembly"
	"github.com/maaslxd/maaslxd/engine/lxd"
)

// waitForReason reconciles until a condition has this reason, in real time.
func (w *machineWorld) waitForReason(name, condition, reason string) *infrav1.MaasMachine {
	w.t.Helper()
	for range 200 {
		w.reconcileOnce(name)
		if m := w.getMachine(name); conditions.GetReason(m, condition) == reason {
			return m
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.t.Fatalf("%s has not the reason %s of %s: %s", name, reason, condition, conditionSummary(w.getMachine(name)))
	return nil
}

// useLXDOnly turns the site into one of a MAAS that has no VM hosts any more: machines
// say themselves that they are hosts, and their LXDs are reached.
func (w *machineWorld) useLXDOnly() {
	w.t.Helper()
	m := w.operator()
	registry := lxd.NewRegistry(m.Machines, m.Machines, m.Names)
	c := lxd.NewComposer(lxd.ComposerConfig{
		Servers: registry.Servers, RecordFingerprint: registry.RecordFingerprint, Machines: m.Machines, Enlister: m.Enlister, Ledger: w.ledger,
		Credentials: func(context.Context) (engine.Credentials, error) { return fleetKey(), nil },
	})
	names := registry.WrapNames(c.WrapNames(m.Names))
	e, err := assembly.New(engine.Config{
		Machines: m.Machines, Composer: c, Names: names, Catalog: m.Catalog, Metal: m.Machines, Registrar: c.WrapRegistrar(registry), Reports: m.Events, Ledger: w.ledger,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.site.VMs, w.site.Machines, w.site.Hosts, w.site.Names, w.site.Inventory, w.site.Projects = e.VMs, e.Machines, e.Hosts, names, c, e
	w.site.RunningHosts = e.WithProbe(lxd.NewProber(lxd.Config{})).Hosts
}

// TestRegisterNodeGone: where MAAS has no VM hosts any more, the machine itself
// says that it is one, and its LXD is asked by the real client.
func TestRegisterNodeGone(t *testing.T) {
	t.Parallel()
	model := machineModel()
	model.MAASVersion, model.LXDListen, model.Latency = sim.VersionGone, sim.LXDListenAuto, sim.Latency{}
	for n := range model.Machines {
		model.Machines[n].FirstBoot = sim.BootNever
	}
	w := newMachineWorld(t, model)
	w.useLXDOnly()
	id := w.makeNode("db", true)
	w.sim.ResetJournal()
	w.waitForReason("db", infrav1.LXDReadyCondition, infrav1.WaitingForLXDReason)
	if got := w.maasMachine(id); got.OwnerData["maaslxd-address"] != "" {
		t.Errorf("it is a host before its LXD answers: %v", got.OwnerData)
	}
	w.runInitHost(id)
	m := w.waitForReason("db", infrav1.LXDReadyCondition, infrav1.LXDReadyReason)
	w.wantCondition(m, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason)
	w.wantMachinesUntouched()
	if got := w.vmHostsOn(id); len(got) != 1 || got[0].Zone != "az1" || got[0].Pool != "vms" {
		t.Errorf("the hosts are %+v", got)
	}
	host := w.maasMachine(id).Hostname
	if err := w.sim.AddInstance(sim.Instance{Host: host, Project: "maas", Name: "guest"}); err != nil {
		t.Fatal(err)
	}
	w.markDeleted("db")
	m = w.waitForReason("db", infrav1.DeletingCondition, infrav1.DeletionBlockedReason)
	w.wantCondition(m, infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.DeletionBlockedReason, "guest")
	w.wantMachinesUntouched()
	if err := w.sim.RemoveInstance(host, "maas", "guest"); err != nil {
		t.Fatal(err)
	}
	w.reconcileUntilGone("db")
	if got := w.maasMachine(id); got.StatusName != "Ready" || got.Owner != "" {
		t.Errorf("given back as %+v", got)
	}
}
