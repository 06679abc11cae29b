package acctest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// hostWithVMs is a VM host on node1, and three VMs on it. One names it by its
// id, one by its name, and placement chose it for the third.
func hostWithVMs(name string, more ...string) string {
	return vmHost(name, append([]string{`machine = "node1"`}, more...)...) + `
resource "maaslxd_vm" "by_id" {
  name    = "by-id"
  vm_host = maaslxd_vm_host.test.id
}
resource "maaslxd_vm" "by_name" {
  name    = "by-name"
  vm_host = maaslxd_vm_host.test.name
}
resource "maaslxd_vm" "placed" {
  name       = "placed"
  placement  = {}
  depends_on = [maaslxd_vm_host.test]
}
`
}

var vmsOfHost = []string{"by-id", "by-name", "placed"}

// systemIDs are the system ids of machines by hostname.
func (x *target) systemIDs(t *testing.T, names ...string) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for _, name := range names {
		ids[name] = x.findMachine(t, name).SystemID
	}
	return ids
}

// TestAccWorkflowHostRenamed renames a VM host with VMs that name it in each
// way. All VMs stay.
func TestAccWorkflowHostRenamed(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(hostWithVMs("kvm-1", deployNoble)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	before := x.systemIDs(t, vmsOfHost...)
	w.configure(t, x.config(hostWithVMs("kvm-one", deployNoble)))
	if out := w.run(t, "plan", "-no-color"); strings.Contains(out, "to destroy") && !strings.Contains(out, "0 to destroy") {
		t.Fatalf("the rename destroys something:\n%s", out)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	for name, id := range x.systemIDs(t, vmsOfHost...) {
		if before[name] != id {
			t.Errorf("%s was made anew", name)
		}
	}
	w.configure(t, x.config(hostWithVMs("kvm-1", deployNoble)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowHostReplaced replaces a VM host that has VMs. The plan shows
// everything that goes with it, and the apply succeeds.
func TestAccWorkflowHostReplaced(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		more []string
		args []string
	}{
		"ByItsImage":   {more: []string{`deploy = { image = "ubuntu/jammy" }`}},
		"ByForce":      {more: []string{deployNoble}, args: []string{"-replace=" + hostAddress}},
		"ForceDestroy": {more: []string{`deploy = { image = "ubuntu/jammy" }`, `force_destroy = true`}},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			w := newWorkspace(t, x.config(hostWithVMs("kvm-1", deployNoble)))
			w.run(t, "apply", "-auto-approve", "-no-color")
			before := x.systemIDs(t, vmsOfHost...)
			w.configure(t, x.config(hostWithVMs("kvm-1", tc.more...)))
			out := unwrapMessage(w.run(t, append([]string{"plan", "-no-color"}, tc.args...)...))
			if !wordsPattern(`Plan: 4 to add, 0 to change, 4 to destroy`).MatchString(out) {
				t.Errorf("want all VMs of the host in the plan:\n%s", out)
			}
			if !wordsPattern(`is on VM host kvm-1, which the plan replaces`).MatchString(out) || strings.Contains(out, "names another VM host") {
				t.Errorf("want a warning that the plan replaces the VM host:\n%s", out)
			}
			w.run(t, append([]string{"apply", "-auto-approve", "-no-color"}, tc.args...)...)
			w.run(t, "plan", "-detailed-exitcode", "-no-color")
			for name, id := range x.systemIDs(t, vmsOfHost...) {
				if before[name] == id {
					t.Errorf("%s is still the former one", name)
				}
			}
		})
	}
}

// TestAccWorkflowHostMarksDeleted deletes the owner data of a VM host's machine by hand. The
// apply writes the marks again, and all VMs stay.
func TestAccWorkflowHostMarksDeleted(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		more  []string
		after string // the machine's status after a destroy
	}{
		"Installed": {more: []string{deployNoble}, after: "Ready"},
		"Adopted":   {more: []string{`adopt = true`, `adopt_existing_vms = true`}, after: "Deployed"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			if title == "Adopted" {
				newWorkspace(t, x.config(hostOnNode1())).run(t, "apply", "-auto-approve", "-no-color")
				x.forgetVMHost(t, "kvm1")
				x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &map[string]string{}})
			}
			w := newWorkspace(t, x.config(hostWithVMs("kvm-1", tc.more...)))
			w.run(t, "apply", "-auto-approve", "-no-color")
			before := x.systemIDs(t, vmsOfHost...)
			x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &map[string]string{}})
			out := unwrapMessage(w.run(t, "plan", "-no-color"))
			if !wordsPattern(`Plan: 0 to add, 1 to change, 0 to destroy VM host kvm-1 has lost its marks`).MatchString(out) {
				t.Errorf("want a plan that only writes the marks, and a warning, got:\n%s", out)
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.run(t, "plan", "-detailed-exitcode", "-no-color")
			if diff := cmp.Diff(before, x.systemIDs(t, vmsOfHost...)); diff != "" {
				t.Errorf("VMs were made anew (-before +after):\n%s", diff)
			}
			if !isLXDColumn() { // there only the marks lead from a VM to its VM host
				x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &map[string]string{}})
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if m := x.findMachine(t, "node1"); m.StatusName != tc.after || m.HostedHosts != "" || len(x.instances()) != 0 {
				t.Errorf("want it %s, without VM host and VMs, got %+v and %+v", tc.after, m, x.instances())
			}
		})
	}
}

// TestAccWorkflowHostWithOthersVMs: the plan refuses to replace a host with VMs
// that are not of this configuration. Nothing is destroyed before.
func TestAccWorkflowHostWithOthersVMs(t *testing.T) {
	t.Parallel()
	for title, tc := range map[string]struct {
		change func(w workspace, t *testing.T, x *metalTarget)
		args   []string
		verb   string
	}{
		"Replaced": {
			change: func(w workspace, t *testing.T, x *metalTarget) {
				w.configure(t, x.config(hostWithVMs("kvm-1", `deploy = { image = "ubuntu/jammy" }`)))
			},
			args: []string{"apply"}, verb: "replace",
		},
		"ReplacedByForce": {args: []string{"apply", "-replace=" + hostAddress}, verb: "replace"},
		"Destroyed":       {args: []string{"destroy"}, verb: "delete"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			w := newWorkspace(t, x.config(hostWithVMs("kvm-1", deployNoble)))
			w.run(t, "apply", "-auto-approve", "-no-color")
			x.makeUnmanagedVMOnNode1(t, "foreign")
			before := x.observeState()
			if tc.change != nil {
				tc.change(w, t, x)
			}
			cmd, out := w.command(t.Context(), append(tc.args, "-auto-approve", "-no-color")...)
			if err := cmd.Run(); err == nil || !wordsPattern("Cannot "+tc.verb+" VM host kvm-1 foreign before anything is destroyed").MatchString(unwrapMessage(out.String())) {
				t.Errorf("want an error of the plan, got %v:\n%s", err, out)
			}
			if after := x.observeState(); len(after.Machines) != len(before.Machines) || len(after.Writes) != len(before.Writes) {
				t.Errorf("something was changed: %v", after.Writes[len(before.Writes):])
			}
		})
	}
}

// TestAccWorkflowHostRemoved removes a VM host from the configuration and
// leaves a VM on it, which names it by a literal.
func TestAccWorkflowHostRemoved(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	const vm = `
resource "maaslxd_vm" "stays" {
  name    = "stays"
  vm_host = "kvm-1"
  %s
}
`
	w := newWorkspace(t, x.config(vmHost("kvm-1", `machine = "node1"`, deployNoble)+fmt.Sprintf(vm, "depends_on = [maaslxd_vm_host.test]")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	before := x.findMachine(t, "stays").SystemID
	w.configure(t, x.config(fmt.Sprintf(vm, "")))
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil || !wordsPattern(`Cannot delete VM host kvm-1 1 VM would stay on it: stays`).MatchString(unwrapMessage(out.String())) {
		t.Errorf("want an error of the plan, got %v:\n%s", err, out)
	}
	if x.findMachine(t, "stays").SystemID != before || x.findMachine(t, "node1").StatusName != "Deployed" {
		t.Error("something was destroyed")
	}
	// A destroy first plans the configuration, and so gets the same error.
	cmd, out = w.command(t.Context(), "destroy", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil || !wordsPattern(`terraform destroy -refresh=false`).MatchString(unwrapMessage(out.String())) {
		t.Errorf("want an error that tells how to destroy all, got %v:\n%s", err, out)
	}
	w.run(t, "destroy", "-refresh=false", "-auto-approve", "-no-color")
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowHostEmptied takes a VM host out of use as docs/guides/day-two.md,
// "Emptying a VM host", says: its tag, then its VMs, then itself.
func TestAccWorkflowHostEmptied(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	host := func(label, machine, tags string) string {
		return fmt.Sprintf("resource \"maaslxd_vm_host\" %q {\n  name = \"kvm-%s\"\n  machine = %q\n  tags = [%s]\n  %s\n}\n", label, machine, machine, tags, deployNoble)
	}
	const vms = `
resource "maaslxd_vm" "web" {
  count      = 2
  name       = "web-${count.index}"
  placement  = { tags = ["kvm"] }
  depends_on = [maaslxd_vm_host.stays]
}
`
	w := newWorkspace(t, x.config(host("goes", "node1", `"kvm"`)+strings.Replace(vms, "stays", "goes", 1)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.config(host("goes", "node1", ``)+host("stays", "node2", `"kvm"`)+vms))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "apply", "-auto-approve", "-no-color", "-replace=maaslxd_vm.web[0]", "-replace=maaslxd_vm.web[1]")
	w.configure(t, x.config(host("stays", "node2", `"kvm"`)+vms))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if got := x.findMachine(t, "node1").StatusName; got != "Ready" {
		t.Errorf("the machine of the host that was emptied is %s", got)
	}
	x.findMachine(t, "web-0")
	x.findMachine(t, "web-1")
}

// TestAccWorkflowComposerBack gives a VM that MAAS composed more cores and disks in LXD, and then has
// MAAS compose again. MAAS shows the former cores until it refreshes the VM host, and the former disks
// even then. The VM is not replaced for the size that it has.
func TestAccWorkflowComposerBack(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	config := func(size string, settings ...string) string {
		return x.configReachingLXD(hostOnNode1()+vmOnTestHost("web", size), settings...)
	}
	w := newWorkspace(t, config("cores = 1"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web")
	const disks = `
  disks = { root = { size_gb = 9 }, data = { size_gb = 2 } }`
	w.configure(t, config("cores = 2"+disks, `composer = "lxd"`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)

	w.configure(t, config("cores = 2"+disks))
	w.wantCommandFailure(t, "MAAS does not know the size of VM web yet Refresh VM host kvm1 in MAAS composer = \"lxd\"", "apply", "-auto-approve", "-no-color")
	if m := x.findMachine(t, "web"); m.SystemID != made.SystemID {
		t.Errorf("the VM is another one now: %+v", m)
	}
	w.configure(t, config("cores = 1")) // the size is taken back, too
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern("Warning: MAAS shows a former size of VM web cores = 2 Write the size that the VM has Once MAAS refreshes VM host kvm1 disks are lost").MatchString(out) {
		t.Errorf("want a warning of the size in LXD, got:\n%s", out)
	}
	w.configure(t, config("cores = 3"+disks)) // a change of the configuration is planned as ever
	if got := joinActions(w.planActionsOn(t, "maaslxd_vm.test")); got != "delete,create" {
		t.Errorf("another size is %s", got)
	}
	w.configure(t, config("cores = 2"+disks))
	if err := x.sim.RefreshHost("kvm1"); err != nil {
		t.Fatal(err)
	}
	w.wantEmptyPlan(t)
	w.run(t, "refresh", "-no-color")
	w.wantEmptyPlan(t)
	w.configure(t, config(`cores = 2
  disks = { root = { size_gb = 8 } }`)) // the disks are taken back, too
	if got := joinActions(w.planActionsOn(t, "maaslxd_vm.test")); got != "delete,create" {
		t.Errorf("without the disks it is %s", got)
	}
	w.configure(t, config("cores = 2"+disks))
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowComposerBackRefused makes a VM host and a VM in LXD, and then has MAAS compose. MAAS
// does not have the VM host, and would restart the VM if it were registered. Nothing changes until
// the composer is changed again.
func TestAccWorkflowComposerBackRefused(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	config := func(settings ...string) string {
		return x.configReachingLXD(hostOnNode1()+vmOnTestHost("web"), settings...)
	}
	w := newWorkspace(t, config(`composer = "lxd"`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web")
	w.configure(t, config())
	w.wantCommandFailure(t, `Cannot update VM host kvm1 holds instances already web`, "apply", "-auto-approve", "-no-color")
	w.wantCommandFailure(t, `Cannot delete VM web is on no VM host`, "destroy", "-auto-approve", "-no-color")
	if m := x.findMachine(t, "web"); m.SystemID != made.SystemID {
		t.Errorf("the VM is another one now: %+v", m)
	}
	w.configure(t, config(`composer = "lxd"`))
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowComposerChanged makes a VM host that MAAS composes on, and then has VMs made
// in LXD. The plan is empty, a new VM is made in LXD, and the VM host can be changed. A destroy that is interrupted and
// repeated leaves nothing: MAAS's VM host is removed, too.
func TestAccWorkflowComposerChanged(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, listenOnLoopback)
	w := newWorkspace(t, x.configReachingLXD(hostOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	config := func(body string, more ...string) string {
		return x.configReachingLXD(hostOnNode1(more...)+body, `composer = "lxd"`)
	}
	w.configure(t, config(""))
	w.wantEmptyPlan(t)
	w.configure(t, config(vmOnTestHost("web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.configure(t, config(vmOnTestHost("web"), "cpu_overcommit = 2"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.sim.AddFault(sim.Fault{Method: "DELETE", Path: "vm-hosts/*", Kind: sim.FaultStatus, Status: 400, Body: "no", Times: 1})
	cmd, out := w.command(t.Context(), "destroy", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil {
		t.Fatalf("MAAS refuses once, and the destroy succeeds:\n%s", out)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color") // another process finds the host by its tag
	if err := x.checkNothingLeft("node1")(nil); err != nil {
		t.Error(err)
	}
	if n := x.sim.Journal().Count("DELETE vm-hosts/{id}/"); n != 2 {
		t.Errorf("MAAS was asked %d times to remove its VM host", n)
	}
}
