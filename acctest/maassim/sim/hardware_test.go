package sim_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestCommissioningFindsHardware: a commissioning finds the machine's real hardware and replaces what
// somebody entered in MAAS.
func TestCommissioningFindsHardware(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, sim.Model{Subnets: []sim.SubnetModel{{Name: "lan", CIDR: "10.1.0.0/24", DHCP: true}}})
	id := c.mustCall("POST", "machines/", "hostname=iron", "architecture=amd64/generic", "power_type=manual", "commission=false",
		"mac_addresses=52:54:00:00:00:01", "mac_addresses=52:54:00:00:00:02")["system_id"].(string)
	c.mustCall("POST", "nodes/"+id+"/blockdevices/", "name=sdx", "model=M", "serial=S9", "size=20G", "block_size=512")
	wantStatus(t, c.postSteering("PUT", "machines/iron/hardware", `{"cores": 4, "memory_mib": 8192, "info": {"system_vendor": "Maker"},
		"disks": [{"name": "sda", "model": "D", "serial": "S1", "size_bytes": 500000000000, "tags": ["rotary"]}],
		"nics": [{"mac": "52:54:00:00:00:01", "name": "enp1", "vendor": "V", "speed": 1000, "link_speed": 100, "subnet": "lan"},
			{"mac": "52:54:00:00:00:02", "name": "enp2"}]}`), 204, "")
	c.mustCall("POST", "machines/"+id+"/?op=commission", "testing_scripts=none")
	c.sim.Settle()

	m := c.readMachine(id)
	var disks, nics []string
	for _, d := range m["blockdevice_set"].([]any) {
		d := d.(map[string]any)
		disks = append(disks, fmt.Sprint(d["name"], " ", d["serial"], " ", d["used_for"], " ", d["tags"]))
	}
	for _, n := range m["interface_set"].([]any) {
		n := n.(map[string]any)
		nics = append(nics, fmt.Sprint(n["name"], " ", n["vendor"], " ", n["interface_speed"], " ", n["vlan"].(map[string]any)["fabric"]))
	}
	got := []any{m["status_name"], m["cpu_count"], m["memory"], m["hardware_info"].(map[string]any)["system_vendor"], disks, nics}
	want := []any{"Ready", 4.0, 8192.0, "Maker", []string{"sda S1 GPT partitioned with 1 partition [rotary]"}, []string{"enp1 V 1000 fabric-0", "enp2 <nil> 0 fabric-1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the machine (-want +got):\n%s", diff)
	}
	wantStatus(t, c.postSteering("PUT", "machines/iron/hardware", `{"nics": [{"mac": "52:54:00:00:00:01", "name": "e", "subnet": "no"}]}`), 400, `no subnet \"no\"`)
	wantStatus(t, c.postSteering("PUT", "machines/no/hardware", `{}`), 400, `no machine \"no\"`)
}
