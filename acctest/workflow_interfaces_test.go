package acctest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"
)

// instanceMACs are the MACs of the only instance of that name.
func (x *target) instanceMACs(t *testing.T, name string) []string {
	t.Helper()
	for _, i := range x.instances() {
		if i.Name == name {
			return i.MACs
		}
	}
	t.Fatalf("there is no instance %s: %+v", name, x.instances())
	return nil
}

// TestAccWorkflowInterfaceAdded adds an interface to a running VM, and removes
// it. Where the provider makes VMs in LXD, the VM stays. Where MAAS composes
// them, the plan says that it replaces the VM.
func TestAccWorkflowInterfaceAdded(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	const eth0, eth1 = `eth0 = { subnet = "lan" }`, `eth1 = { subnet = "dark", mode = "dhcp" }`
	vm := func(interfaces ...string) string {
		return x.config(x.vm("web", `interfaces = { `+strings.Join(interfaces, ", ")+` }`, x.deploy()))
	}
	w := newWorkspace(t, vm(eth0))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made, macs := x.findMachine(t, "web"), x.instanceMACs(t, "web")
	planned := func(action, want string, interfaces ...string) {
		t.Helper()
		w.configure(t, vm(interfaces...))
		if got := joinActions(w.planActions(t)); got != action {
			t.Errorf("the plan of %v wants %s, not %s", interfaces, got, action)
		}
		if out := unwrapMessage(w.run(t, "plan", "-no-color")); want != "" && !wordsPattern(want).MatchString(out) {
			t.Errorf("the plan does not say %q:\n%s", want, out)
		}
	}
	if !isLXDColumn() {
		planned("delete,create", `VM will be replaced, with all its disks MAAS can neither add an interface to a VM that it composed, nor remove one: interfaces.eth1`, eth0, eth1)
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.wantEmptyPlan(t)
		if got := x.instanceMACs(t, "web"); len(got) != 2 || x.findMachine(t, "web").SystemID == made.SystemID {
			t.Errorf("the VM has the NICs %v, and was not made anew", got)
		}
		planned("delete,create", `interfaces.eth1 was made with the VM, and is removed`, eth0)
		w.run(t, "destroy", "-auto-approve", "-no-color")
		return
	}
	planned("update", "", eth0, eth1)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	got := x.instanceMACs(t, "web")
	if len(got) != 2 || got[0] != macs[0] || x.findMachine(t, "web").SystemID != made.SystemID || !strings.HasPrefix(got[1], "00:16:3e:") {
		t.Errorf("the VM %s has the NICs %v, and was %s with %v", x.findMachine(t, "web").SystemID, got, made.SystemID, macs)
	}
	for typo, want := range map[string]string{
		`eth1 = { subnet = "dork", mode = "dhcp" }`:                                `MAAS knows no subnet "dork"`,
		`eth1 = { subnet = "dark", mode = "dhcp", bridge = "br7" }`:                `bridge on host lxd1 "br7" Known: maasbr0, maasbr1`,
		`eth1 = { subnet = "dark", mode = "dhcp", mac_address = "00:16:3E:0:0:1"}`: `no MAC address`,
	} {
		w.configure(t, vm(eth0, typo))
		w.wantCommandFailure(t, want, "plan", "-no-color")
	}
	planned("delete,create", `MAAS would give interfaces.eth2 an address, which it does only for a new VM`, eth0, eth1, `eth2 = { subnet = "lan" }`)
	planned("delete,create", `boots from its first interface, and interfaces.boot comes before the others`, `boot = { subnet = "lan", mode = "dhcp" }`, eth0, eth1)
	planned("update", "", eth0)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if diff := cmp.Diff(macs, x.instanceMACs(t, "web")); diff != "" || x.findMachine(t, "web").SystemID != made.SystemID {
		t.Errorf("NICs (-want +got):\n%s", diff)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccGoneInterfaces adds interfaces to a VM before and after its
// deployment. A detached NIC comes back in place. A redeployment keeps the
// added NICs, and an import finds them. MAAS never learns of them.
func TestAccGoneInterfaces(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	var subnets []maasSubnet
	x.callAsOperator(t, "GET", "subnets/", &subnets)
	lan := subnets[0].CIDR
	eth0, eth2 := fmt.Sprintf(`eth0 = { subnet = %q }`, lan), fmt.Sprintf(`eth2 = { subnet = %q, mode = "dhcp" }`, lan)
	storage := fmt.Sprintf(`storage = { subnet = %q, mode = "link_up" }`, lan)
	vm := func(deploy string, interfaces ...string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost("web", `interfaces = { `+strings.Join(interfaces, ", ")+` }`, deploy))
	}
	w := newWorkspace(t, vm("", eth0))
	apply := func(deploy string, interfaces ...string) {
		t.Helper()
		w.configure(t, vm(deploy, interfaces...))
		if got := joinActions(w.planActions(t)); got != "update" {
			t.Errorf("the plan of %v wants %s", interfaces, got)
		}
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.wantEmptyPlan(t)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web").SystemID
	has := func(nics int) {
		t.Helper()
		if got := x.instanceMACs(t, "web"); len(got) != nics || x.findMachine(t, "web").SystemID != made {
			t.Errorf("the VM %s has the NICs %v", x.findMachine(t, "web").SystemID, got)
		}
		if got := x.readLinks(t, "web", ""); len(got) != 1 {
			t.Errorf("MAAS was told of an interface: it has %v", got)
		}
	}
	apply("", eth0, storage)
	has(2)
	apply("", eth0)
	has(1)
	apply(x.deploy(), eth0, storage)
	has(2)
	apply(x.deploy(), eth0, eth2, storage)
	has(3)
	x.editInstance(t, "web", func(i *api.InstancePut) {
		delete(i.Devices, "eth1")
		delete(i.Devices, "eth2")
	})
	apply(x.deploy(), eth0, eth2, storage)
	has(3)
	redeployed := func(at string) string { return x.deploy() + fmt.Sprintf("\n  redeploy_triggers = { at = %q }", at) }
	apply(redeployed("0"), eth0, eth2, storage)
	before := x.instanceMACs(t, "web")
	apply(redeployed("1"), eth0, eth2, storage)
	has(3)
	if diff := cmp.Diff(before, x.instanceMACs(t, "web")); diff != "" {
		t.Errorf("NICs after the redeployment (-want +got):\n%s", diff)
	}
	w.run(t, "state", "rm", vmAddress)
	w.run(t, "import", "-no-color", vmAddress, "web")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	apply(redeployed("1"), eth0, storage)
	has(2)
	apply(redeployed("1"), eth0)
	has(1)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}
