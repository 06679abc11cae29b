package sim_test

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// nics shows a machine's interfaces as "name kind mode".
func (c *maasClient) nics(id string) []string {
	c.t.Helper()
	var out []string
	for _, n := range c.readMachine(id)["interface_set"].([]any) {
		n := n.(map[string]any)
		text := fmt.Sprintf("%v %v", n["name"], n["type"])
		for _, l := range n["links"].([]any) {
			text += fmt.Sprintf(" %v", l.(map[string]any)["mode"])
		}
		out = append(out, text)
	}
	return out
}

// TestCreateBridge tests a bridge that is made on a Ready machine.
func TestCreateBridge(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	id := c.composeReady("x")
	nic := fmt.Sprint(c.readMachine(id)["boot_interface"].(map[string]any)["id"])
	path := "nodes/" + id + "/interfaces/"
	made := c.mustCall("POST", path+"?op=create_bridge", "name=br0", "parent="+nic)
	want := func(reason string, nics ...string) {
		t.Helper()
		if diff := cmp.Diff(nics, c.nics(id)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	want("it takes the NIC's link and has none", "enp5s0 physical", "br0 bridge link_up")
	wantStatus(t, c.call("POST", path+"?op=create_bridge", "name=br1", "parent="+nic), 400, "already in a bond or a bridge.")
	c.mustCall("POST", fmt.Sprintf("%s%v/?op=link_subnet", path, made["id"]), "mode=AUTO", "subnet=1")
	want("an auto link replaces link_up", "enp5s0 physical", "br0 bridge auto")
	c.mustCall("POST", "machines/"+id+"/?op=deploy")
	wantStatus(t, c.call("POST", path+"?op=create_bridge", "name=br1", "parent="+nic), 409, "not New, Ready, Allocated, or Broken.")
	c.sim.Settle()
	c.mustCall("POST", "machines/"+id+"/?op=release")
	c.sim.Settle()
	want("it survives deploy and release", "enp5s0 physical", "br0 bridge auto")
	c.mustCall("POST", "machines/"+id+"/?op=commission", "skip_networking=1")
	c.sim.Settle()
	want("and commissioning with skip_networking", "enp5s0 physical", "br0 bridge auto")
	c.mustCall("POST", "machines/"+id+"/?op=commission")
	c.sim.Settle()
	want("but not without", "enp5s0 physical auto")
}

// TestAcquiredBridge: a bridge on an Allocated machine takes over the NIC's links, and a
// release removes it (forms/interface.py, AcquiredBridgeInterfaceForm).
func TestAcquiredBridge(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	id := c.composeReady("x")
	c.mustCall("POST", "machines/?op=allocate", "system_id="+id)
	nic := fmt.Sprint(c.readMachine(id)["boot_interface"].(map[string]any)["id"])
	path := "nodes/" + id + "/interfaces/"
	c.mustCall("POST", path+"?op=create_bridge", "name=br0", "parent="+nic)
	if diff := cmp.Diff([]string{"enp5s0 physical", "br0 bridge auto"}, c.nics(id)); diff != "" {
		t.Errorf("allocated (-want +got):\n%s", diff)
	}
	wantStatus(t, c.call("POST", path+"?op=create_bridge", "name=br1", "parent="+nic), 400, "already in a bond or a bridge.")
	c.mustCall("POST", "machines/"+id+"/?op=release")
	c.sim.Settle()
	if diff := cmp.Diff([]string{"enp5s0 physical auto"}, c.nics(id)); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}

// TestAcquiredNetwork: a bond and a VLAN interface on an Allocated machine stay after its
// release, and get the link of the bridge above them. Deleting an interface deletes those
// above it, and the NICs get no links back.
func TestAcquiredNetwork(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, sim.Model{Machines: []sim.MachineModel{{Hostname: "m1", Cores: 2, MemoryMiB: 2048, MoreNICs: 1}}})
	id := c.idOf("m1")
	want := func(reason string, nics ...string) {
		t.Helper()
		if diff := cmp.Diff(nics, c.nics(id)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	made := map[string]string{}
	for _, n := range c.readMachine(id)["interface_set"].([]any) {
		made[fmt.Sprint(n.(map[string]any)["name"])] = fmt.Sprint(n.(map[string]any)["id"])
	}
	c.mustCall("POST", "machines/?op=allocate", "system_id="+id)
	path := "nodes/" + id + "/interfaces/"
	bond := fmt.Sprint(c.mustCall("POST", path+"?op=create_bond", "name=bond0", "parents="+made["eth0"], "parents="+made["eth1"])["id"])
	bridge := fmt.Sprint(c.mustCall("POST", path+"?op=create_bridge", "name=br0", "parent="+bond)["id"])
	c.mustCall("POST", path+bridge+"/?op=link_subnet", "mode=AUTO", "subnet=1")
	want("allocated", "eth0 physical", "eth1 physical", "bond0 bond", "br0 bridge auto")
	c.mustCall("POST", "machines/"+id+"/?op=deploy")
	c.sim.Settle()
	wantStatus(t, c.call("DELETE", path+bond+"/"), 409, "not New, Ready, Allocated, or Broken.")
	c.mustCall("POST", "machines/"+id+"/?op=release")
	c.sim.Settle()
	want("released", "eth0 physical", "eth1 physical", "bond0 bond auto")
	c.mustCall("POST", path+"?op=create_bridge", "name=br1", "parent="+bond)
	wantStatus(t, c.call("DELETE", path+bond+"/"), 204, "")
	want("without the bond", "eth0 physical", "eth1 physical")
}

// TestAutoAddressIsSilent: before MAAS assigns an address, it checks that no unknown
// server answers there.
func TestAutoAddressIsSilent(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, sim.Model{
		Hosts:    []sim.HostModel{{Name: "h1", Cores: 8, MemoryMiB: 16384, Unregistered: true, Address: "10.1.1.1:8443", TrustPassword: "secret"}},
		Subnets:  []sim.SubnetModel{{Name: "lan", CIDR: "10.77.0.0/24", DHCP: true}},
		Machines: []sim.MachineModel{{Hostname: "m1", Cores: 2, MemoryMiB: 2048}},
	})
	id := c.idOf("m1")
	c.mustCall("POST", "machines/?op=allocate", "system_id="+id)
	c.mustCall("POST", "machines/"+id+"/?op=deploy")
	c.sim.Settle()
	before := fmt.Sprint(c.readMachine(id)["ip_addresses"])
	c.mustCall("POST", "vm-hosts/", "type=lxd", "name=h1", "power_address=10.1.1.1", "password=secret")
	c.sim.Settle()
	if now := fmt.Sprint(c.readMachine(id)["ip_addresses"]); before == "[10.77.0.1]" || now != before {
		t.Errorf("it had %s, and has %s since the server was registered", before, now)
	}
}

// TestBridgeAll tests the bridges that exist during a deployment.
func TestBridgeAll(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, oneHost())
	id := c.composeReady("x")
	c.mustCall("POST", "machines/"+id+"/?op=deploy", "bridge_all=true")
	c.sim.Settle()
	if diff := cmp.Diff([]string{"enp5s0 physical", "br-enp5s0 bridge auto"}, c.nics(id)); diff != "" {
		t.Errorf("deployed (-want +got):\n%s", diff)
	}
	c.mustCall("POST", "machines/"+id+"/?op=release")
	c.sim.Settle()
	if diff := cmp.Diff([]string{"enp5s0 physical auto"}, c.nics(id)); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}

// TestNetworkFacts compares the simulator with MAAS's behaviour on networks.
func TestNetworkFacts(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/network-facts.txt")
	if err != nil {
		t.Fatal(err)
	}
	facts, err := parseFacts(string(content))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range facts {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { runFact(t, f) })
		})
	}
}
