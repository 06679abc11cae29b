package acctest_test

import (
	"strings"
	"testing"
)

// ofOwner is a configuration with another owner than that of the tests.
func ofOwner(owner, config string) string {
	return strings.Replace(config, `owner = "tf-acc"`, `owner = "`+owner+`"`, 1)
}

// TestAccWorkflowOtherOwner has a VM of another owner on a VM host. A plan that destroys or replaces
// the VM host names the VM and its owner. Who wants the VM's name is not told to delete it. Who
// imports the VM is told whose it is.
func TestAccWorkflowOtherOwner(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	other := newWorkspace(t, ofOwner("colleague", x.config(vmOnKVM1("a", "web"))))
	other.run(t, "apply", "-auto-approve", "-no-color")

	const warning = `Warning: Other owners have VMs on VM host kvm1 web (made for "colleague/web") the apply stops at the VM host`
	reinstalled := vmHost("kvm1", `machine = "node1"`, `deploy = { image = "ubuntu/jammy" }`)
	for config, args := range map[string][]string{hostOnNode1(): {"plan", "-destroy"}, reinstalled: {"plan"}} {
		w.configure(t, x.config(config))
		if out := unwrapMessage(w.run(t, append(args, "-no-color")...)); !wordsPattern(warning).MatchString(out) {
			t.Errorf("%v: want to hear of the VM, got:\n%s", args, out)
		}
	}
	w.configure(t, x.config(hostOnNode1()))
	w.wantCommandFailure(t, `Cannot delete VM host kvm1 which has VMs: web made for "colleague/web" Delete or move them first`, "destroy", "-auto-approve", "-no-color")

	w.configure(t, x.config(hostOnNode1()+vmOnTestHost("web")))
	out := unwrapMessage(w.run(t, "plan", "-no-color"))
	if !wordsPattern(`MAAS has a machine web already made for "colleague/web" Choose another name`).MatchString(out) || strings.Contains(out, "Delete") {
		t.Errorf("want to hear whose the VM is, got:\n%s", out)
	}
	out = unwrapMessage(w.run(t, "import", "-no-color", "maaslxd_vm.test", "web"))
	if !wordsPattern(`Warning: VM web was made for "colleague/web" The owner of this configuration is tf-acc terraform state rm`).MatchString(out) {
		t.Errorf("want to hear whose the imported VM is, got:\n%s", out)
	}
	w.run(t, "state", "rm", "maaslxd_vm.test")
	w.configure(t, x.config(hostOnNode1()))
	other.run(t, "destroy", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowOwnersMixed has a state whose VM host and VM were made by runners of different
// owners. A third runner destroys both, in whatever order they are planned, and is not warned.
func TestAccWorkflowOwnersMixed(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	host, both := x.config(hostOnNode1()), x.config(hostOnNode1()+vmOnTestHost("web"))
	w := newWorkspace(t, ofOwner("r1", host))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, ofOwner("r2", both))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, ofOwner("r3", both))
	w.wantEmptyPlan(t)
	if out := w.run(t, "plan", "-destroy", "-no-color"); strings.Contains(out, "Other owners") {
		t.Errorf("the plan destroys the VM itself, and warns of it:\n%s", out)
	}
	w.run(t, "plan", "-no-color", "-replace="+hostAddress)
	w.run(t, "destroy", "-auto-approve", "-no-color", "-parallelism=1")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// vmOnKVM1 is a VM on the VM host kvm1, which another configuration makes.
func vmOnKVM1(label, name string) string {
	return "resource \"maaslxd_vm\" \"" + label + "\" {\n  name = \"" + name + "\"\n  vm_host = \"kvm1\"\n}\n"
}

// TestAccWorkflowRelabelled gives a resource another label without a moved block. The plan makes the
// object anew, and says what is lost.
func TestAccWorkflowRelabelled(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct{ config, kind, want string }{
		"Host":    {hostOnNode1(), "maaslxd_vm_host", "VM host kvm1 will be made anew Its machine is released moved block"},
		"Machine": {machineOnNode1(), "maaslxd_machine", "machine db will be made anew It is released moved block"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			w := newWorkspace(t, x.config(tc.config))
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.configure(t, x.config(strings.Replace(tc.config, `"test"`, `"renamed"`, 1)))
			out := unwrapMessage(w.run(t, "plan", "-no-color"))
			if !wordsPattern("Warning: "+tc.want).MatchString(out) || strings.Contains(out, "as things are") {
				t.Errorf("want a warning of what is lost, got:\n%s", out)
			}
			w.run(t, "state", "mv", tc.kind+".test", tc.kind+".renamed")
			w.wantEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve", "-no-color")
		})
	}
}

// TestAccWorkflowHostUnfinished plans VMs beside a VM host that an earlier apply did not finish. The
// same run finishes it, so nothing is in the way.
func TestAccWorkflowHostUnfinished(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, endlessTransitions)
	x.holdAllMachines()
	w := newWorkspace(t, x.config(hostOnNode1(createWithin6s)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	placed := "resource \"maaslxd_vm\" \"placed\" {\n  name = \"db\"\n  placement = { tags = [] }\n  depends_on = [maaslxd_vm_host.test]\n}\n"
	w.configure(t, x.config(hostOnNode1()+vmOnTestHost("web")+placed))
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); strings.Contains(out, "Warning: Cannot") {
		t.Errorf("the run finishes the VM host, and the plan warns:\n%s", out)
	}
	x.finishTransitions(t, "node1", "Deploying")
	x.resumeMachines("node1")
	w.configure(t, x.config(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowOtherHost gives a VM another VM host. The plan says that the disks are lost.
func TestAccWorkflowOtherHost(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	second := strings.Replace(vmHost("kvm2", `machine = "node2"`, deployNoble), `"test"`, `"second"`, 1)
	vm := func(host string) string {
		return x.config(hostOnNode1() + second + strings.Replace(vmOnTestHost("web"), "maaslxd_vm_host.test", "maaslxd_vm_host."+host, 1))
	}
	w := newWorkspace(t, vm("test"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, vm("second"))
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern("Warning: The VM will be replaced, with all its disks web is on VM host kvm1").MatchString(out) {
		t.Errorf("want a warning of the disks, got:\n%s", out)
	}
	w.configure(t, vm("test"))
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowRefusedKey plans the first objects with an API key that MAAS does not know. MAAS has
// answered, so the plan fails.
func TestAccWorkflowRefusedKey(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, strings.Replace(x.config(hostOnNode1()), x.key, "a:b:c", 1))
	w.wantCommandFailure(t, "Error: MAAS refuses the API key Check that api_key is whole", "plan", "-no-color")
}
