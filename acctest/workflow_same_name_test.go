package acctest_test

import (
	"strings"
	"testing"
)

// TestAccWorkflowTwins gives two resources of one configuration the same name,
// as a copied block does. The plan says so before either is made.
func TestAccWorkflowTwins(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	host := func(label, machine string) string {
		return strings.Replace(vmHost("kvm1", `machine = "`+machine+`"`, deployNoble), `"test"`, `"`+label+`"`, 1)
	}
	for title, tc := range map[string]struct{ config, want string }{
		"VMs":      {vmNamed("a", "web") + vmNamed("b", "web"), "Cannot create VM web name: another resource of this configuration has the same name VM web"},
		"VM hosts": {host("a", "node1") + host("b", "node2"), "Cannot create VM host kvm1 name: another resource of this configuration has the same name VM host kvm1"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			newWorkspace(t, x.config(tc.config)).wantRefusedPlan(t, tc.want)
		})
	}
}

// TestAccWorkflowTwinLater adds a resource with the name of an existing one. The plan says so, and
// neither is changed. A forced replacement is no second resource.
func TestAccWorkflowTwinLater(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	const twin = "another resource of this configuration has the same name, "
	for title, tc := range map[string]struct{ first, second, address, want string }{
		"VM":      {hostOnNode1() + vmOnTestHost("web"), vmOnKVM1("b", "web"), "maaslxd_vm.test", "VM web"},
		"VM host": {hostOnNode1(), strings.Replace(vmHost("kvm1", `machine = "node2"`, deployNoble), `"test"`, `"b"`, 1), hostAddress, "VM host kvm1"},
		"machine": {machineOnNode1(), labelledMachine("b", "db", `machine = "node2"`, deployNoble), machineAddress, "machine db"},
	} {
		w := newWorkspace(t, x.config(tc.first))
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.configure(t, x.config(tc.first+tc.second))
		w.wantRefusedPlan(t, twin+tc.want)
		w.configure(t, x.config(tc.first))
		w.wantEmptyPlan(t)
		if out := w.run(t, "plan", "-no-color", "-replace="+tc.address); !strings.Contains(out, "1 to destroy") {
			t.Errorf("%s: want a replacement, got:\n%s", title, out)
		}
		w.run(t, "destroy", "-auto-approve", "-no-color")
	}
}

// TestAccWorkflowTwoAddresses imports one object at two addresses. No plan goes on, because the
// destroy of one would take the object from the other. The way out of the error works.
func TestAccWorkflowTwoAddresses(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	for _, tc := range []struct{ first, second, address, id, object string }{
		{hostOnNode1() + vmOnTestHost("web"), vmOnKVM1("b", "web"), "maaslxd_vm.b", "web", "VM web"},
		{hostOnNode1(), strings.Replace(hostOnNode1(), `"test"`, `"b"`, 1), "maaslxd_vm_host.b", "kvm1", "VM host kvm1"},
		{machineOnNode1(), strings.Replace(machineOnNode1(), `"test"`, `"b"`, 1), "maaslxd_machine.b", "node1", "machine db"},
	} {
		w := newWorkspace(t, x.config(tc.first))
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.configure(t, x.config(tc.first+tc.second))
		w.run(t, "import", "-no-color", tc.address, tc.id)
		w.wantRefusedPlan(t, "Cannot keep "+tc.object+" id: another resource of this state has the same object, system id")
		w.configure(t, x.config(tc.first))
		w.wantRefusedPlan(t, "another resource of this state has the same object, system id")
		w.run(t, "state", "rm", tc.address)
		w.wantEmptyPlan(t)
		w.run(t, "destroy", "-auto-approve", "-no-color")
	}
}

// TestAccWorkflowHostNameTwice gives a VM host the name of another one, which MAAS allows. Within one
// configuration that is a plan error, and a swap of two names is none. The name of another owner's VM
// host is a warning.
func TestAccWorkflowHostNameTwice(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	hosts := func(first, second string) string {
		other := strings.Replace(vmHost(second, `machine = "node2"`, deployNoble), `"test"`, `"b"`, 1)
		return vmHost(first, `machine = "node1"`, deployNoble) + other
	}
	w := newWorkspace(t, x.config(hosts("kvm1", "kvm2")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	other := newWorkspace(t, ownerLine.ReplaceAllString(x.config(strings.Replace(vmHost("kvm1", `machine = "node3"`, deployNoble), `"test"`, `"c"`, 1)), "  owner = \"tf-acc-other\"\n"))
	if out := unwrapMessage(other.run(t, "plan", "-no-color")); !wordsPattern("Warning: MAAS has another VM host kvm1 on machine node1 only by its id").MatchString(out) {
		t.Errorf("want a warning of the other owner's VM host, got:\n%s", out)
	}
	w.configure(t, x.config(hosts("kvm2", "kvm2")))
	w.wantRefusedPlan(t, "Cannot rename VM host kvm1 Another VM host of this configuration has the name kvm2, on machine node2")
	w.configure(t, x.config(vmHost("kvm2", `machine = "node1"`, deployNoble)))
	w.run(t, "state", "rm", "maaslxd_vm_host.b")
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern("Warning: MAAS has another VM host kvm2 on machine node2 the same owner import it first").MatchString(out) {
		t.Errorf("want a warning of the VM host that the state lost, got:\n%s", out)
	}
	w.configure(t, x.config(hosts("kvm1", "kvm2")))
	w.run(t, "import", "-no-color", "maaslxd_vm_host.b", "kvm2")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.config(hosts("kvm2", "kvm1")))
	w.run(t, "plan", "-parallelism=1", "-no-color")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowLostHost loses the state, and imports a VM before its VM host. No plan replaces the VM
// for the VM host that it is on. The way out of the error works.
func TestAccWorkflowLostHost(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	config := x.config(hostOnNode1() + vmOnTestHost("web"))
	w := newWorkspace(t, config)
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web").SystemID
	w.run(t, "state", "rm", hostAddress, "maaslxd_vm.test")
	w.run(t, "import", "-no-color", "maaslxd_vm.test", "web")
	w.wantRefusedPlan(t, "Cannot replace VM web web is on VM host kvm1 the state of this configuration lacks it Import the VM host first: terraform import ADDRESS kvm1")
	w.run(t, "import", "-no-color", hostAddress, "kvm1")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "taint", hostAddress)
	w.run(t, "plan", "-refresh=false", "-no-color") // the state has the VM host, although the run does not read it
	w.run(t, "untaint", hostAddress)
	if now := x.findMachine(t, "web").SystemID; now != made {
		t.Errorf("the VM is %s, and was %s", now, made)
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowNameTaken plans a VM whose name a finished VM of the same
// owner has. The plan warns a state that lost that VM, but not one that
// replaces it. If the pool is unknown, too, the plan stops and says both cases. A
// tainted VM is not destroyed then, even if the run does not refresh.
func TestAccWorkflowNameTaken(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config(vmNamed("a", "web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	const warning = "the VM web was made for this name earlier"

	w.wantNotInItsOwnWay(t, "maaslxd_vm.a", warning)
	const otherMistake = `Cannot create VM web resource pool "nope" MAAS has VM web already If the state has it as tainted, the apply would destroy it If the state has lost it, import it`
	mistaken := x.config(vmNamed("a", "web", `pool = "nope"`))
	w.run(t, "taint", "maaslxd_vm.a")
	w.configure(t, mistaken)
	made := x.findMachine(t, "web").SystemID
	w.wantCommandFailure(t, otherMistake, "apply", "-refresh=false", "-auto-approve", "-no-color")
	if now := x.findMachine(t, "web").SystemID; now != made {
		t.Errorf("the VM is %s, and was %s", now, made)
	}
	w.configure(t, x.config(vmNamed("a", "web")))
	w.run(t, "state", "rm", "maaslxd_vm.a")
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern(`Warning: Cannot create VM web as things are ` + warning + ` If the state of this configuration has lost it, import it: terraform import ADDRESS`).MatchString(out) {
		t.Errorf("want a warning of the VM that the state lost, got:\n%s", out)
	}
	w.configure(t, mistaken)
	w.wantRefusedPlan(t, otherMistake)
}

// wantNotInItsOwnWay checks that no plan that replaces an object warns that the
// object itself has its name, whether by -replace or as a tainted one.
func (w workspace) wantNotInItsOwnWay(t *testing.T, address, warning string) {
	t.Helper()
	if out := unwrapMessage(w.run(t, "plan", "-no-color", "-replace="+address)); strings.Contains(out, warning) {
		t.Errorf("what is replaced is in its own way:\n%s", out)
	}
	w.run(t, "taint", address)
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); strings.Contains(out, warning) || !strings.Contains(out, "must be replaced") {
		t.Errorf("what is tainted is in its own way:\n%s", out)
	}
	w.run(t, "untaint", address)
}

// TestAccWorkflowHostLost plans and applies a VM host that its state lost. Both
// say that its machine is finished, and how to import it.
func TestAccWorkflowHostLost(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	id := x.findMachine(t, "node1").SystemID
	w.wantNotInItsOwnWay(t, hostAddress, "was deployed or adopted for this name earlier")
	other := newWorkspace(t, x.config(vmHost("kvm2", `machine = "node1"`, deployNoble)))
	other.wantRefusedCreate(t, x, "machine", `machine node1 is not Ready but Deployed it was made for "tf-acc/vm-hosts/kvm1" Choose another machine.`)

	w.run(t, "state", "rm", hostAddress)
	const finished = "was deployed or adopted for this name earlier, and is finished system id "
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern(`Warning: Cannot create VM host kvm1 as things are ` + finished + id).MatchString(out) {
		t.Errorf("want a warning of the host that the state lost, got:\n%s", out)
	}
	w.wantRefusedCreate(t, x, "name", `Cannot create VM host kvm1 name: the machine node1 `+finished+id)
	w.run(t, "import", "-no-color", hostAddress, id)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
