package acctest_test

import (
	"fmt"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// addFarSubnets adds the subnet "far", to which only lxd2 is attached, and "nowhere", to which no VM
// host is attached.
func addFarSubnets(m *sim.Model) {
	m.Subnets = append(m.Subnets, sim.SubnetModel{Name: "far", CIDR: "10.79.0.0/24", DHCP: true}, sim.SubnetModel{Name: "nowhere", CIDR: "10.80.0.0/24", DHCP: true})
	m.Hosts[0].Subnets, m.Hosts[1].Subnets = []string{"lan", "dark"}, []string{"lan", "dark", "far"}
}

// TestAccWorkflowUnattachedSubnet puts an interface on a subnet to which the VM host is not attached.
// The plan refuses that before it destroys the VM, and names the subnets that are possible.
func TestAccWorkflowUnattachedSubnet(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, addFarSubnets)
	const eth0 = `eth0 = { subnet = "lan" }`
	vm := func(interfaces, more string) string {
		return x.config(fmt.Sprintf("resource \"maaslxd_vm\" \"test\" {\n  name = \"web\"\n  %s\n  interfaces = { %s }\n}\n", more, interfaces))
	}
	const named, placed = `vm_host = "lxd1"`, `placement = { tags = ["rack1"] }`
	w := newWorkspace(t, vm(eth0, named))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web").SystemID
	w.configure(t, vm(`eth0 = { subnet = "far" }`, named))
	w.wantRefusedPlan(t, `Cannot replace VM web VM host lxd1 is not attached to subnet far (10.79.0.0/24) It is attached to lan (10.77.0.0/24), dark (10.78.0.0/24)`)
	w.configure(t, vm(eth0+`, eth1 = { subnet = "far", mode = "dhcp" }`, named))
	w.wantRefusedPlan(t, `VM web VM host lxd1 is not attached to subnet far`)
	w.configure(t, vm(`eth0 = { vlan = 0, subnet = "nowhere" }`, `vm_host = "lxd2"`))
	w.wantRefusedPlan(t, `Cannot replace VM web VM host lxd2 is not attached to subnet nowhere`)
	w.configure(t, vm(`eth0 = { subnet = "far" }`, placed))
	w.wantRefusedPlan(t, `Cannot replace VM web no VM host that web may be on is attached to subnet far lxd1 is attached to lan (10.77.0.0/24), dark (10.78.0.0/24)`)
	w.configure(t, vm(`eth0 = { subnet = "nowhere" }`, "placement = {}"))
	w.wantRefusedPlan(t, `no VM host that web may be on is attached to subnet nowhere lxd1 is attached to lxd2 is attached to`)
	if m := x.findMachine(t, "web"); m.SystemID != made {
		t.Errorf("the VM is another one now: %+v", m)
	}
	w.configure(t, vm(`eth0 = { subnet = "far" }`, "placement = {}"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	for _, i := range x.instances() {
		if i.Name == "web" && i.Host != "lxd2" {
			t.Errorf("the VM is on %s", i.Host)
		}
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccUnattachedSubnetCreate makes a VM on a subnet to which its VM host is not attached. The plan
// warns, and the apply is an error at the attribute.
func TestAccUnattachedSubnetCreate(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, addFarSubnets)
	w := newWorkspace(t, x.config(x.vm("web", `interfaces = {`, `eth0 = { subnet = "far" }`, `}`)))
	out := unwrapMessage(w.run(t, "plan", "-no-color"))
	if want := `Warning: Cannot create VM web VM host lxd1 is not attached to subnet far`; !wordsPattern(want).MatchString(out) {
		t.Errorf("want the words %q in:\n%s", want, out)
	}
	w.wantCommandFailure(t, `Error: Cannot create VM web interfaces.eth0.subnet: VM host lxd1 is not attached to subnet far (10.79.0.0/24)`, "apply", "-auto-approve", "-no-color")
	if n := len(x.machines()); n != 2 && !isLXDColumn() {
		t.Errorf("MAAS has %d machines", n)
	}
}
