package sim_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// machineRecord is the part of a machine that an upgrade must keep.
func machineRecord(c *maasClient, id string) map[string]any {
	m := c.readMachine(id)
	kept := map[string]any{"parameters": c.mustCall("GET", "machines/"+id+"/?op=power_parameters")}
	for _, name := range []string{"system_id", "hostname", "status_name", "power_type", "power_state", "tag_names", "owner_data", "zone", "pool", "ip_addresses", "cpu_count", "memory"} {
		kept[name] = m[name]
	}
	return kept
}

// TestUpgradeRemovesVMHosts removes the VM hosts of a running fleet. MAAS loses them and keeps all
// machines.
func TestUpgradeRemovesVMHosts(t *testing.T) {
	t.Parallel()
	m := oneHost()
	m.MAASVersion = sim.Version37
	m.Hosts[0].CPUOvercommit, m.Hosts[0].MachineTags, m.Hosts[0].OwnerData = 2, []string{"fleet"}, map[string]string{"note": "kept"}
	c := newMAASClient(t, m)
	vm := c.composeReady("web")
	c.mustCall("POST", "machines/"+vm+"/?op=deploy")
	c.sim.Settle()
	host := c.sim.Machines()[0].SystemID
	before := []any{machineRecord(c, host), machineRecord(c, vm)}
	wantStatus(t, c.postSteering("POST", "upgrade", ""), 204, "")
	if diff := cmp.Diff(before, []any{machineRecord(c, host), machineRecord(c, vm)}); diff != "" {
		t.Errorf("machines (-before +after):\n%s", diff)
	}
	if got := fmt.Sprint(c.readMachine(host)["tag_names"], c.readMachine(host)["owner_data"]); got != "[virtual fleet] map[note:kept]" {
		t.Errorf("the host's machine has %s", got)
	}
	if disk := c.readMachine(vm)["blockdevice_set"].([]any)[0].(map[string]any); disk["storage_pool"] != nil {
		t.Errorf("MAAS still knows the storage pool %v", disk["storage_pool"])
	}
	for _, path := range []string{"vm-hosts/", "vm-hosts/1/", "pods/"} {
		wantStatus(t, c.call("GET", path), 410, "removed from MAAS")
	}
	if state := c.mustCall("GET", "machines/"+vm+"/?op=query_power_state")["state"]; state != "on" {
		t.Errorf("the power driver says %v", state)
	}
	c.mustCall("POST", "machines/"+vm+"/?op=release")
	c.sim.Settle()
	wantStatus(t, c.call("DELETE", "machines/"+vm+"/"), 204, "")
	if diff := cmp.Diff([]string{"web"}, instanceNames(c.sim)); diff != "" {
		t.Errorf("MAAS cares for the instances of machines that it knows no VM host of (-want +got):\n%s", diff)
	}
	wantStatus(t, c.postSteering("POST", "upgrade", ""), 400, "no VM hosts any more")
	c.sim.Reset()
	wantStatus(t, c.call("GET", "vm-hosts/1/"), 200, `"cpu_over_commit_ratio":2`)
}

// TestUpgradedModel is a MAAS that was upgraded before the test began.
func TestUpgradedModel(t *testing.T) {
	t.Parallel()
	m := oneHost()
	m.MAASVersion = sim.VersionGone
	m.Hosts[0].OwnerData = map[string]string{"note": "kept"}
	m.Hosts = append(m.Hosts, sim.HostModel{Name: "h2", Cores: 8, MemoryMiB: 16384, Unregistered: true})
	c := newMAASClient(t, m)
	machines := c.sim.Machines()
	if len(machines) != 1 || machines[0].Hostname != "h1" || machines[0].StatusName != "Deployed" || machines[0].OwnerData["note"] != "kept" {
		t.Errorf("the machines are %+v", machines)
	}
	wantStatus(t, c.call("GET", "vm-hosts/"), 410, "")
}
