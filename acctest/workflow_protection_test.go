package acctest_test

import (
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccWorkflowProtection protects a VM from deletion. It can be changed but
// not destroyed until the protection is removed.
func TestAccWorkflowProtection(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	testProtection(t, x, x.name(), func(name string, attributes ...string) string { return x.config(x.vm(name, attributes...)) })
}

// TestAccGoneProtection does the same with a VM that the provider makes in LXD.
func TestAccGoneProtection(t *testing.T) {
	t.Parallel()
	x := newTargetWithoutVMHosts(t)
	testProtection(t, x.target, "web", func(name string, attributes ...string) string {
		return x.configReachingLXD(hostOnNode1() + vmOnTestHost(name, attributes...))
	})
}

// testProtection protects one VM, changes it, and destroys it after the
// protection is removed.
func testProtection(t *testing.T, x *target, name string, config func(name string, attributes ...string) string) {
	t.Helper()
	vm := func(attributes ...string) string { return config(name, append(attributes, x.deploy())...) }
	wantLock := func(want bool) {
		t.Helper()
		if m := x.findMachine(t, name); m.Locked != want {
			t.Errorf("the machine is locked: %v, want %v", m.Locked, want)
		}
	}
	const on = `deletion_protection = true`
	w := newWorkspace(t, config(name, on))
	w.wantCommandFailure(t, `A VM that is not deployed cannot be protected Add deploy`, "plan", "-no-color")
	w.configure(t, vm(on))
	w.run(t, "apply", "-auto-approve", "-no-color")
	wantLock(true)
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	made := x.findMachine(t, name).SystemID

	const refusal = `is protected from deletion Set deletion_protection = false and apply that first`
	w.wantCommandFailure(t, refusal, "destroy", "-auto-approve", "-no-color")
	w.wantCommandFailure(t, refusal, "apply", "-auto-approve", "-replace="+vmAddress, "-no-color")
	w.configure(t, vm(on, `hugepages = true`))
	w.wantCommandFailure(t, `This plan would replace it, because of hugepages`, "apply", "-auto-approve", "-no-color")
	w.run(t, "taint", vmAddress)
	w.configure(t, vm(on))
	w.wantCommandFailure(t, refusal, "apply", "-auto-approve", "-no-color")
	w.run(t, "untaint", vmAddress)

	w.configure(t, vm(on, `zone = "az2"`, `tags = ["blue"]`))
	if got := joinActions(w.planActions(t)); got != "update" {
		t.Errorf("the plan of a change wants %s", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	wantLock(true)
	if m := x.findMachine(t, name); m.Zone != "az2" {
		t.Errorf("the zone is %s", m.Zone)
	}
	x.editMachine(t, name, sim.MachineEdit{Locked: new(false)})
	if got := joinActions(w.planActions(t)); got != "update" {
		t.Errorf("somebody unlocked it, and the plan wants %s", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	wantLock(true)

	w.run(t, "state", "rm", vmAddress)
	w.run(t, "import", "-no-color", vmAddress, made)
	w.run(t, "plan", "-no-color")
	w.configure(t, vm(`zone = "az2"`, `tags = ["blue"]`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	wantLock(true) // to an import the lock looks like another user's
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.wantCommandFailure(t, refusal, "destroy", "-auto-approve", "-no-color")
	w.configure(t, vm(`deletion_protection = false`, `zone = "az2"`, `tags = ["blue"]`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	wantLock(false)
	if x.findMachine(t, name).SystemID != made {
		t.Error("it is another VM")
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if !x.isMachineGone(name) {
		t.Error("the VM is still there")
	}
}

// wantCommandFailure checks that a command fails with these words.
func (w workspace) wantCommandFailure(t *testing.T, want string, args ...string) {
	t.Helper()
	cmd, out := w.command(t.Context(), args...)
	if err := cmd.Run(); err == nil || !wordsPattern(want).MatchString(unwrapMessage(out.String())) {
		t.Errorf("%v: want an error with the words %q, got %v:\n%s", args, want, err, out)
	}
}
