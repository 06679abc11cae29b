package acctest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccWorkflowSelectors chooses a machine by its resource pool, and by the
// size of its disk, for a machine and for a host. The smallest machine would be
// another one. A change of the selector is none of the machine.
func TestAccWorkflowSelectors(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		address string
		with    func(lines string) string
	}{
		"Host":    {hostAddress, func(lines string) string { return vmHost("kvm1", deployNoble, lines) }},
		"Machine": {machineAddress, func(lines string) string { return testMachine("db", deployNoble, lines) }},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t, func(m *sim.Model) { m.Machines[1].Pool = "kvm" })
			for _, step := range []struct{ lines, want, edited string }{
				{`selector = { pool = "kvm" }`, "node2", `selector = { pool = "default" }`},
				{`selector = { min_disk_gb = 100 }`, "node1", `selector = { min_disk_gb = 900 }`},
			} {
				w := newWorkspace(t, x.config(tc.with(step.lines)))
				w.run(t, "apply", "-auto-approve", "-no-color")
				w.wantEmptyPlan(t)
				if m := x.findMachine(t, step.want); m.StatusName != "Deployed" {
					t.Errorf("with %s, %s is %s", step.lines, step.want, m.StatusName)
				}
				w.configure(t, x.config(tc.with(step.edited)))
				if got := joinActions(w.planActionsOn(t, tc.address)); got != "update" {
					t.Errorf("%s instead of %s is %s", step.edited, step.lines, got)
				}
				w.run(t, "destroy", "-auto-approve", "-no-color")
				if err := x.checkReady("node1", "node2", "small")(nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestAccWorkflowMachineNIC gives the second NIC of a machine an address, and
// chooses a kernel. Another address installs the machine anew. Without the lines
// it stays.
func TestAccWorkflowMachineNIC(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, addSecondNICs)
	first, second := x.addressInLAN(t, 30), x.addressInLAN(t, 31)
	with := func(address string) string {
		return x.config(testMachine("db", `machine = "node1"`, `deploy = { image = "ubuntu/noble", kernel = "ga-24.04" }`,
			fmt.Sprintf(`interfaces = { lan = { nic = "eth1", subnet = "lan", ip = %q } }`, address)))
	}
	w := newWorkspace(t, with(first))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	want := map[string]string{"eth0": "auto lan " + x.readAddressOf(t, "node1", "eth0"), "eth1": "static lan " + first}
	if diff := cmp.Diff(want, x.readAddresses(t, "node1")); diff != "" {
		t.Errorf("the interfaces (-want +got):\n%s", diff)
	}
	if got := x.kernelOf(t, "node1"); got != "ga-24.04" {
		t.Errorf("the kernel is %q", got)
	}
	w.configure(t, with(second))
	if got := joinActions(w.planActionsOn(t, machineAddress)); got != "delete,create" {
		t.Errorf("another address is %s", got)
	}
	w.configure(t, x.config(machineOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if n, counted := x.countDeployments(); counted && n != 1 {
		t.Errorf("it was deployed %d times", n)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// readAddressOf is the address of one interface of a machine.
func (x *target) readAddressOf(t *testing.T, hostname, nic string) string {
	t.Helper()
	var mode, subnet, address string
	if _, err := fmt.Sscan(x.readAddresses(t, hostname)[nic], &mode, &subnet, &address); err != nil {
		t.Fatal(err)
	}
	return address
}

// kernelOf is the kernel of a machine.
func (x *target) kernelOf(t *testing.T, name string) string {
	t.Helper()
	var machine struct {
		Kernel string `json:"hwe_kernel"`
	}
	x.callAsOperator(t, "GET", "machines/"+x.findMachine(t, name).SystemID+"/", &machine)
	return machine.Kernel
}
