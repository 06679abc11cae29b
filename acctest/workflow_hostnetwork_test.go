package acctest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// addSecondNICs gives node1 and node2 two NICs on one network, eth0 and eth1.
func addSecondNICs(m *sim.Model) { m.Machines[0].MoreNICs, m.Machines[1].MoreNICs = 1, 1 }

// maasSubnet is a subnet as MAAS shows it.
type maasSubnet struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
	CIDR string `json:"cidr"`
	VLAN struct {
		ID       int `json:"id"`
		FabricID int `json:"fabric_id"`
	} `json:"vlan"`
}

// callAsOperator sends an operator's request, and reads the answer.
func (x *target) callAsOperator(t *testing.T, method, path string, into any, form ...string) {
	t.Helper()
	c, err := realmaas.NewClient(x.url, x.key)
	if err != nil {
		t.Fatal(err)
	}
	values := url.Values{}
	for _, pair := range form {
		name, value, _ := strings.Cut(pair, "=")
		values.Add(name, value)
	}
	body, err := c.Send(t.Context(), method, path, values)
	if err == nil && into != nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
}

// lanSubnet is the subnet "lan".
func (x *target) lanSubnet(t *testing.T) maasSubnet {
	t.Helper()
	var all []maasSubnet
	x.callAsOperator(t, "GET", "subnets/", &all)
	i := slices.IndexFunc(all, func(s maasSubnet) bool { return s.Name == "lan" })
	if i < 0 {
		t.Fatalf("there is no subnet lan among %v", all)
	}
	return all[i]
}

// makeTaggedSubnet makes a subnet, "tagged", on VLAN 100 in lan's fabric, with
// a gateway and DHCP.
func (x *target) makeTaggedSubnet(t *testing.T) {
	t.Helper()
	var vlan struct {
		ID int `json:"id"`
	}
	fabric := strconv.Itoa(x.lanSubnet(t).VLAN.FabricID)
	x.callAsOperator(t, "POST", "fabrics/"+fabric+"/vlans/", &vlan, "vid=100", "name=vms")
	var made maasSubnet
	x.callAsOperator(t, "POST", "subnets/", &made, "name=tagged", "cidr=10.90.0.0/24", "gateway_ip=10.90.0.1", fmt.Sprintf("vlan=%d", vlan.ID))
}

// describeInterfaces describes the machine's interfaces: "br0 bridge on bond0:
// auto 9000".
func (x *target) describeInterfaces(t *testing.T, hostname string) (list []string) {
	t.Helper()
	i := slices.IndexFunc(x.machines(), func(m sim.Machine) bool { return m.Hostname == hostname })
	if i < 0 {
		t.Fatalf("there is no machine %s", hostname)
	}
	var nics []struct {
		Name    string   `json:"name"`
		Type    string   `json:"type"`
		Parents []string `json:"parents"`
		Params  struct {
			MTU  int    `json:"mtu"`
			Mode string `json:"bond_mode"`
			Rate string `json:"bond_lacp_rate"`
			Hash string `json:"bond_xmit_hash_policy"`
		} `json:"params"`
		Links []struct {
			Mode   string `json:"mode"`
			Subnet struct {
				Name string `json:"name"`
			} `json:"subnet"`
		} `json:"links"`
	}
	x.callAsOperator(t, "GET", "nodes/"+x.machines()[i].SystemID+"/interfaces/", &nics)
	for _, n := range nics {
		text := n.Name + " " + n.Type
		if len(n.Parents) > 0 {
			text += " on " + strings.Join(n.Parents, "+")
		}
		if n.Params.Mode != "" {
			text += fmt.Sprintf(" %s %s %s", n.Params.Mode, n.Params.Rate, n.Params.Hash)
		}
		for _, l := range n.Links {
			text += strings.TrimRight(fmt.Sprintf(": %s %s", l.Mode, l.Subnet.Name), " ")
		}
		if n.Params.MTU != 0 {
			text += fmt.Sprintf(", MTU %d", n.Params.MTU)
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

func (x *target) wantInterfaces(t *testing.T, reason string, want ...string) {
	t.Helper()
	slices.SortFunc(want, cmp.Compare[string])
	if d := diff.Diff(want, x.describeInterfaces(t, "node1")); d != "" {
		t.Errorf("%s: the interfaces of node1 (-want +got):\n%s", reason, d)
	}
}

// bondedNetwork is the network of a host with two NICs in one bond, below br0.
const bondedNetwork = `network = {
    bonds = {
      bond0 = { interfaces = ["eth0", "eth1"], mode = "802.3ad", lacp_rate = "slow", xmit_hash_policy = "layer3+4" }
    }
    bridges = { br0 = { parent = "bond0" } }
  }`

// modeOnceRegistered is the mode of a former auto link after MAAS has
// registered the machine's LXD. MAAS then stores the address that the link has.
func modeOnceRegistered() string {
	if isLXDColumn() {
		return "auto"
	}
	return "static"
}

// TestAccWorkflowHostBond makes a host whose switch uses LACP. Its NICs are in
// a bond below the bridge of the VMs. A destroy restores them.
func TestAccWorkflowHostBond(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, addSecondNICs)
	before := []string{"eth0 physical: auto lan", "eth1 physical: link_up"}
	x.wantInterfaces(t, "as commissioning left them", before...)
	w := newWorkspace(t, x.config(hostOnNode1(bondedNetwork)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	x.wantInterfaces(t, "the bond has its interfaces, and the bridge the address",
		"eth0 physical", "eth1 physical", "bond0 bond on eth0+eth1 802.3ad slow layer3+4", "br0 bridge on bond0: "+modeOnceRegistered()+" lan")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	x.wantInterfaces(t, "given back", before...)
	if m := x.findMachine(t, "node1"); m.StatusName != "Ready" || m.Description != "" {
		t.Errorf("node1 is %s, with the description %q", m.StatusName, m.Description)
	}
}

// TestAccWorkflowHostBridgeNIC puts the bridge of the VMs on the second NIC.
// The first NIC replaces the host. A destroy removes the
// bridge.
func TestAccWorkflowHostBridgeNIC(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, addSecondNICs)
	w := newWorkspace(t, x.config(hostOnNode1(`bridge = { nic = "eth1", subnet = "lan" }`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	x.wantInterfaces(t, "the bridge is on the second NIC",
		"eth0 physical: "+modeOnceRegistered()+" lan", "eth1 physical", "br0 bridge on eth1: "+modeOnceRegistered()+" lan")
	w.configure(t, x.config(hostOnNode1(`bridge = { nic = "eth0", subnet = "lan" }`)))
	if got := joinActions(w.planActionsOn(t, hostAddress)); got != "delete,create" {
		t.Errorf("the first NIC is %s, and not a replacement", got)
	}
	w.configure(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if got := x.describeInterfaces(t, "node1"); len(got) != 2 {
		t.Errorf("the bridge is still there: %v", got)
	}
}

// TestAccWorkflowHostBondAdded puts the NICs of an existing host into a bond.
// The plan says that it replaces the host. A typo is refused before the old
// host is gone.
func TestAccWorkflowHostBondAdded(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, addSecondNICs)
	w := newWorkspace(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.config(hostOnNode1(strings.Replace(bondedNetwork, "eth1", "eth7", 1))))
	w.wantRefusedPlan(t, `network.bonds.bond0.interfaces interface of node1 "eth7" Known: eth0, eth1`)
	w.configure(t, x.config(hostOnNode1(bondedNetwork)))
	if got := joinActions(w.planActionsOn(t, hostAddress)); got != "delete,create" {
		t.Errorf("another network is %s, and not a replacement", got)
	}
	w.run(t, "apply", "-no-color", "actions")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	x.wantInterfaces(t, "the bond is there",
		"eth0 physical", "eth1 physical", "bond0 bond on eth0+eth1 802.3ad slow layer3+4", "br0 bridge on bond0: "+modeOnceRegistered()+" lan")
	w.configure(t, x.config(hostOnNode1(strings.Replace(bondedNetwork, "slow", "fast", 1))))
	if got := joinActions(w.planActionsOn(t, hostAddress)); got != "delete,create" {
		t.Errorf("another rate is %s, and not a replacement", got)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if got := x.describeInterfaces(t, "node1"); len(got) != 2 {
		t.Errorf("the machine was not given back as it was: %v", got)
	}
}

// TestAccExampleHostNetwork applies the example with a bond, a VLAN interface
// and two bridges. VMs join either bridge. After the destroy the machine is as
// before.
func TestAccExampleHostNetwork(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, addSecondNICs)
	x.makeTaggedSubnet(t)
	before := x.describeInterfaces(t, "node1")
	w := newWorkspace(t, x.config(""))
	w.copyRepositoryFiles(t, hostExamples+"resource_network.tf")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	x.wantInterfaces(t, "as the example says",
		"eth0 physical, MTU 9000", "eth1 physical, MTU 9000", "bond0 bond on eth0+eth1 802.3ad fast layer3+4, MTU 9000", "bond0.100 vlan on bond0",
		"br0 bridge on bond0: "+modeOnceRegistered()+" lan", "br100 bridge on bond0.100: link_up")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	x.wantInterfaces(t, "given back", before...)
}

// TestAccWorkflowHostNetworkLost loses the replies to the calls that make a
// bond and its bridge. Each is made once, and removed with the host.
func TestAccWorkflowHostNetworkLost(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, addSecondNICs)
	before := x.describeInterfaces(t, "node1")
	for _, op := range []string{"create_bond", "create_bridge"} {
		x.simulatorOrSkip().AddFault(sim.Fault{Method: http.MethodPost, Path: "nodes/*/interfaces/", Op: op, Times: 1, When: sim.FaultAfterEffect, Kind: sim.FaultLostReply})
	}
	w := newWorkspace(t, x.config(hostOnNode1(bondedNetwork)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	for _, op := range []string{"create_bond", "create_bridge"} {
		if n, counted := x.countCalls(t, "POST nodes/{id}/interfaces/ "+op); counted && n != 1 {
			t.Errorf("want one call of %s, got %d", op, n)
		}
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	x.wantInterfaces(t, "given back", before...)
}
