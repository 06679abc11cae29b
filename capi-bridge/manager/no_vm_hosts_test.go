package manager_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// TestKubeMAASWithoutVMHosts: where MAAS has removed its VM hosts, VMs are made and
// deleted in the LXDs themselves, that of the fleet's machines. One that runs is not
// resized.
func TestKubeMAASWithoutVMHosts(t *testing.T) {
	t.Parallel()
	model := fastModel()
	model.MAASVersion, model.LXDListen = sim.VersionGone, sim.LXDListenPorts
	for n := range model.Hosts {
		model.Hosts[n].TrustedCertificates = []string{onStage(t).key.Certificate}
	}
	w := newWorld(t, "gone", model)
	for _, l := range w.maas.LXDs() {
		w.noteVMHost(l)
	}
	before := len(w.maas.Machines())
	c := w.createReadyCluster("c", nil)
	w.createMachine("c", "vm-0", newVMSpec(), nil)
	w.createMachine("c", "metal-0", newMetalSpec(), nil)
	m := w.awaitReady("vm-0")
	w.awaitReady("metal-0")
	made := w.maas.Instances()
	if len(made) != 1 || made[0].MachineID != *m.Spec.SystemID || made[0].Host != ptr.Deref(m.Status.LXDHost, "") {
		t.Errorf("the instances are %+v; it is on %s as %s", made, ptr.Deref(m.Status.LXDHost, ""), *m.Spec.SystemID)
	}
	if n := w.maas.Journal().LXD.Count("POST 1.0/instances"); n != 1 {
		t.Errorf("LXDs were asked %d times to make it", n)
	}
	w.maas.ResetJournal()
	w.patchObject(m, func(o client.Object) { o.(*infrav1.MaasMachine).Spec.MinCPU = ptr.To(4) })
	w.awaitTwoLooks("vm-0")
	w.wantOnlyReads()
	for _, call := range w.maas.Journal().LXD.Calls {
		if !strings.HasPrefix(call.Route, "GET ") {
			t.Errorf("an LXD was asked for %s", call.Route)
		}
	}
	w.deleteCluster(c, before, "vm-0", "metal-0")
	if n := w.maas.Journal().LXD.Count("DELETE 1.0/instances/{name}"); n != 1 {
		t.Errorf("LXDs were asked %d times to delete it", n)
	}
}

// noteVMHost writes into a host's machine what is left there of a VM host.
func (w *world) noteVMHost(l sim.LXD) {
	w.t.Helper()
	zone := "az1"
	if l.Name == "h2" {
		zone = "az2"
	}
	record := engine.HostRecord{
		Name: l.Name, Zone: zone, Pool: "default", DefaultStoragePool: l.StoragePools[0].Name,
		Endpoint: engine.Endpoint{Address: l.Listening[0], Project: "default"},
	}
	data := record.OwnerData()
	for name, value := range data {
		if value == "" {
			delete(data, name)
		}
	}
	tags := slices.Concat(w.mustFindMachine(l.Name).Tags, []string{engine.HostTag})
	w.editMachine(l.Name, sim.MachineEdit{Tags: &tags, OwnerData: &data})
}
