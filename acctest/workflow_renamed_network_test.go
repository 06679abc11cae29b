package acctest_test

import (
	"fmt"
	"strings"
	"testing"
)

// renameSubnet renames a subnet as an operator of MAAS does.
func (x *target) renameSubnet(t *testing.T, name, newName string) {
	t.Helper()
	var all []maasSubnet
	x.callAsOperator(t, "GET", "subnets/", &all)
	for _, s := range all {
		if s.Name == name {
			x.callAsOperator(t, "PUT", fmt.Sprintf("subnets/%d/", s.ID), nil, "name="+newName)
			return
		}
	}
	t.Fatalf("there is no subnet %s", name)
}

// wantRespelled plans a configuration whose text differs, but which means what the objects have.
// It wants no replacement, and applies it. The machine of that name stays.
func (w workspace) wantRespelled(t *testing.T, x *target, machine, reason, config string) {
	t.Helper()
	before := x.findMachine(t, machine)
	w.configure(t, config)
	if out := w.run(t, "plan", "-no-color"); !strings.Contains(out, "0 to add, 1 to change, 0 to destroy") && !strings.Contains(out, "No changes.") {
		t.Errorf("%s\nwant nothing replaced, got:\n%s", reason, out)
		return
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if now := x.findMachine(t, machine); now.SystemID != before.SystemID || now.StatusName != before.StatusName {
		t.Errorf("%s\nit was %s (%s), and is %s (%s)", reason, before.SystemID, before.StatusName, now.SystemID, now.StatusName)
	}
}

// TestAccWorkflowSubnetRenamed renames a subnet, a fabric and a space in MAAS, and then in the
// configuration of a VM. The VM stays. Another subnet still replaces it.
func TestAccWorkflowSubnetRenamed(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	fabric := x.addIPv6Subnet(t, "lan", "dmz", "lan6", "fd00:77::/64")
	vm := func(eth0, eth1 string, more ...string) string {
		return x.config(x.vm("web", append(more, fmt.Sprintf(`interfaces = { eth0 = { %s }, eth1 = { %s } }`, eth0, eth1), x.deploy())...))
	}
	const first, second = `subnet = "lan", addresses = [{ subnet = "lan6" }]`, `subnet = "dark", mode = "link_up"`
	w := newWorkspace(t, vm(first, second))
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.renameSubnet(t, "lan", "office")
	x.renameSubnet(t, "lan6", "office6")
	x.renameSubnet(t, "dark", "storage")
	w.wantEmptyPlan(t)
	w.wantRespelled(t, x, "web", "The configuration still has the former names, and something else changes.", vm(first, second, `tags = ["a"]`))
	const renamed, renamedSecond = `subnet = "office", addresses = [{ subnet = "office6" }]`, `subnet = "storage", mode = "link_up"`
	w.wantRespelled(t, x, "web", "The configuration follows.", vm(renamed, renamedSecond))
	inFabric := func(name string) string {
		return fmt.Sprintf(`vlan = 0, fabric = %q, addresses = [{ subnet = "office6" }]`, name)
	}
	w.wantRespelled(t, x, "web", "The fabric has no other subnet of IPv4.", vm(inFabric(fabric), renamedSecond))
	x.callAsOperator(t, "PUT", "fabrics/"+fabric+"/", nil, "name=floor")
	w.wantRespelled(t, x, "web", "The fabric has a new name.", vm(inFabric("floor"), renamedSecond))
	inSpace := func(name string) string {
		return fmt.Sprintf(`space = %q, addresses = [{ subnet = "office6" }]`, name)
	}
	w.wantRespelled(t, x, "web", "The space has no other subnet of IPv4.", vm(inSpace("dmz"), renamedSecond))
	x.callAsOperator(t, "PUT", "spaces/dmz/", nil, "name=front")
	w.wantRespelled(t, x, "web", "The space has a new name.", vm(inSpace("front"), renamedSecond))
	w.configure(t, vm(renamed, `subnet = "office", mode = "link_up"`))
	if got := joinActions(w.planActions(t)); got != "delete,create" {
		t.Errorf("another subnet is %s, and not a replacement", got)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowMachineSubnetRenamed renames the subnet of a machine's fixed address, and names
// its NIC by the MAC address. The machine stays deployed.
func TestAccWorkflowMachineSubnetRenamed(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	ip := x.addressInLAN(t, 42)
	machine := func(address string) string {
		return x.config(machineOnNode1(fmt.Sprintf(`interfaces = { lan = { ip = %q, %s } }`, ip, address)))
	}
	w := newWorkspace(t, machine(`subnet = "lan", nic = "eth0"`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.renameSubnet(t, "lan", "office")
	w.wantEmptyPlan(t)
	w.wantRespelled(t, x.target, "node1", "The subnet has a new name.", machine(`subnet = "office", nic = "eth0"`))
	w.wantRespelled(t, x.target, "node1", "The NIC has that MAC address.", machine(fmt.Sprintf(`subnet = "office", nic = %q`, x.macOf(t, "node1", "eth0"))))
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// macOf is the MAC address of an interface of a machine.
func (x *target) macOf(t *testing.T, machine, nic string) string {
	t.Helper()
	var all []struct {
		Name string `json:"name"`
		MAC  string `json:"mac_address"`
	}
	x.callAsOperator(t, "GET", "nodes/"+x.findMachine(t, machine).SystemID+"/interfaces/", &all)
	for _, i := range all {
		if i.Name == nic {
			return i.MAC
		}
	}
	t.Fatalf("%s has no interface %s", machine, nic)
	return ""
}

// TestAccWorkflowHostNetworkRespelled renames the subnet of a VM host's bridge, and spells subnets
// and NICs otherwise. The VM host stays. Another NIC still replaces it.
func TestAccWorkflowHostNetworkRespelled(t *testing.T) {
	t.Parallel()
	bridge := func(text string) string { return "bridge = { " + text + " }" }
	network := func(bond, parent, subnet string) string {
		return fmt.Sprintf(`network = {
    bonds   = { bond0 = { interfaces = [%s] } }
    bridges = { br0 = { parent = %q, links = [{ mode = "auto", subnet = %q }] } }
  }`, bond, parent, subnet)
	}
	cases := map[string]struct{ made, byName, byCIDR, byNIC, other string }{
		"Bridge": {bridge(`name = "br0"`), bridge(`subnet = "office"`), bridge(`subnet = "CIDR"`), bridge(`subnet = "office", nic = "eth0"`), bridge(`subnet = "office", nic = "eth1"`)},
		"Named":  {bridge(`subnet = "lan"`), bridge(`subnet = "office"`), bridge(`subnet = "CIDR"`), bridge(`name = "br0", nic = "eth0"`), bridge(`subnet = "office", name = "br1"`)},
		"Network": {
			network(`"eth1"`, "eth0", "lan"), network(`"eth1"`, "eth0", "office"), network(`"eth1"`, "eth0", "CIDR"), network(`"MAC1"`, "MAC0", "CIDR"),
			network(`"eth0"`, "eth1", "office"),
		},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t, addSecondNICs)
			words := strings.NewReplacer("CIDR", x.lanSubnet(t).CIDR, "MAC0", x.macOf(t, "node1", "eth0"), "MAC1", x.macOf(t, "node1", "eth1"))
			host := func(network string) string { return x.config(hostOnNode1(words.Replace(network))) }
			w := newWorkspace(t, host(tc.made))
			w.run(t, "apply", "-auto-approve", "-no-color")
			x.renameSubnet(t, "lan", "office")
			w.wantEmptyPlan(t)
			w.wantRespelled(t, x.target, "node1", "The subnet has a new name.", host(tc.byName))
			w.wantRespelled(t, x.target, "node1", "The CIDR names the same subnet.", host(tc.byCIDR))
			w.wantRespelled(t, x.target, "node1", "The NIC is the same.", host(tc.byNIC))
			w.configure(t, host(tc.other))
			if got := joinActions(w.planActionsOn(t, hostAddress)); got != "delete,create" {
				t.Errorf("another NIC or bridge is %s, and not a replacement", got)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkReady("node1")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}
