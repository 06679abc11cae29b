package sim_test

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// nics shows a machine's interfaces as "name kind mode".
func (c *caller) nics(id string) []string {
	c.t.Helper()
	var out []string
	for _, n := range c.machine(id)["interface_set"].([]any) {
		n := n.(map[string]any)
		text := fmt.Sprintf("%v %v", n["name"], n["type"])
		for _, l := range n["links"].([]any) {
			text += fmt.Sprintf(" %v", l.(map[string]any)["mode"])
		}
		out = append(out, text)
	}
	return out
}

// TestBridge follows a bridge that is made on a Ready machine.
func TestBridge(t *testing.T) {
	t.Parallel()
	c := world(t, oneHost())
	id := c.ready("x")
	nic := fmt.Sprint(c.machine(id)["boot_interface"].(map[string]any)["id"])
	path := "nodes/" + id + "/interfaces/"
	made := c.must("POST", path+"?op=create_bridge", "name=br0", "parent="+nic)
	want := func(reason string, nics ...string) {
		t.Helper()
		if diff := cmp.Diff(nics, c.nics(id)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	want("it takes the NIC's link and has none", "enp5s0 physical", "br0 bridge link_up")
	wantStatus(t, c.call("POST", path+"?op=create_bridge", "name=br1", "parent="+nic), 400, "already in a bond or a bridge.")
	c.must("POST", fmt.Sprintf("%s%v/?op=link_subnet", path, made["id"]), "mode=AUTO", "subnet=1")
	want("an auto link replaces link_up", "enp5s0 physical", "br0 bridge auto")
	c.must("POST", "machines/"+id+"/?op=deploy")
	wantStatus(t, c.call("POST", path+"?op=create_bridge", "name=br1", "parent="+nic), 409, "not New, Ready, Allocated, or Broken.")
	c.sim.Settle()
	c.must("POST", "machines/"+id+"/?op=release")
	c.sim.Settle()
	want("it survives deploy and release", "enp5s0 physical", "br0 bridge auto")
	c.must("POST", "machines/"+id+"/?op=commission", "skip_networking=1")
	c.sim.Settle()
	want("and commissioning with skip_networking", "enp5s0 physical", "br0 bridge auto")
	c.must("POST", "machines/"+id+"/?op=commission")
	c.sim.Settle()
	want("but not without", "enp5s0 physical auto")
}

// TestBridgeAll holds the bridges that live as long as a deployment.
func TestBridgeAll(t *testing.T) {
	t.Parallel()
	c := world(t, oneHost())
	id := c.ready("x")
	c.must("POST", "machines/"+id+"/?op=deploy", "bridge_all=true")
	c.sim.Settle()
	if diff := cmp.Diff([]string{"enp5s0 physical", "br-enp5s0 bridge auto"}, c.nics(id)); diff != "" {
		t.Errorf("deployed (-want +got):\n%s", diff)
	}
	c.must("POST", "machines/"+id+"/?op=release")
	c.sim.Settle()
	if diff := cmp.Diff([]string{"enp5s0 physical auto"}, c.nics(id)); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}

// TestNetworkFacts holds the simulator against what MAAS does with networks.
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
