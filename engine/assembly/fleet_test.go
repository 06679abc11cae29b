package assembly_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

func TestFleetCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 2, 4, "az1", "az2")
		rows := ledger.NewMemory(nil)
		p := r.start(t, rows, 0, breakage{})
		for _, name := range []string{"b", "a", "c"} {
			if _, err := p.applyVM(smallVM(name, engine.Placement{Zone: "az1"})); err != nil {
				t.Fatal(err)
			}
		}
		r.sim.EditMachine(r.machine(t, "c").SystemID, sim.MachineEdit{Description: ptr("mine, by hand")}) //nolint:errcheck // it is there
		// A VM that is promised and not yet made.
		tag, err := rows.CurrentTag(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = rows.Place(t.Context(), engine.Reservation{
			Key: "default/d", Name: "d", Need: engine.Need{Cores: 2, MemoryMiB: 2048}, Inventory: tag,
			Candidates: []engine.Candidate{{HostKey: r.hostMachine(t, "lxd2"), Zone: "az2", Free: engine.Need{Cores: 8, MemoryMiB: 8192}}},
		})
		if err != nil {
			t.Fatal(err)
		}

		calls := len(r.sim.Journal().Calls)
		fleet, err := r.start(t, rows, 0, breakage{}).engine.Fleet(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(r.sim.Journal().Calls) - calls; n != 3 {
			t.Errorf("a fleet takes 3 calls, not %d", n)
		}
		type host struct {
			Name                                string
			Zone                                string
			FreeCores, FreeMemoryMiB, VMs, Ours int64
		}
		var hosts []host
		for _, h := range fleet.Hosts {
			hosts = append(hosts, host{h.Name, h.Zone, h.FreeCores, h.FreeMemoryMiB, int64(h.VMs), int64(h.OursVMs)})
		}
		want := []host{{"lxd1", "az1", 2, 2048, 3, 2}, {"lxd2", "az2", 6, 6144, 0, 0}}
		if diff := cmp.Diff(want, hosts); diff != "" {
			t.Errorf("hosts -want +got:\n%s", diff)
		}
		var vms []string
		for _, vm := range fleet.VMs {
			vms = append(vms, vm.Hostname+"="+string(vm.Key))
		}
		if diff := cmp.Diff([]string{"a=default/a", "b=default/b", "c="}, vms); diff != "" {
			t.Errorf("VMs -want +got:\n%s", diff)
		}
	})
}
