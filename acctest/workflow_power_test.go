package acctest_test

import (
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccWorkflowPower turns a VM off and on, sees when another user does, and
// leaves its power alone where the configuration does not set it.
func TestAccWorkflowPower(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	needBoots(t)
	name := x.name()
	w := newWorkspace(t, x.config(x.vm(name, `power_state = "running"`)))
	w.wantCommandFailure(t, `A VM that is not deployed cannot be turned on`, "plan", "-no-color")
	vm := func(attributes ...string) { w.configure(t, x.config(x.vm(name, append(attributes, x.deploy())...))) }
	wantPower := func(want string) {
		t.Helper()
		x.waitUntil(t, name+" is "+want, func() bool { return x.findMachine(t, name).PowerState == want })
		if all := x.instances(); x.canInspectLXDs() && (len(all) != 1 || all[0].Running != (want == "on")) {
			t.Errorf("want one instance that is %s, got %+v", want, all)
		}
	}
	turn := func(power string) {
		t.Helper()
		x.postForm(t, "machines/"+x.findMachine(t, name).SystemID+"/?op=power_"+power, nil)
		wantPower(power)
	}
	apply := func(want string) {
		t.Helper()
		if got := joinActions(w.planActions(t)); got != want {
			t.Errorf("the plan wants %s, not %s", got, want)
		}
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.run(t, "plan", "-detailed-exitcode", "-no-color")
	}
	vm(`power_state = "stopped"`)
	apply("create")
	wantPower("off")
	vm(`power_state = "running"`, `deletion_protection = true`)
	apply("update")
	wantPower("on")
	x.editMachine(t, name, sim.MachineEdit{Locked: new(false)})
	turn("off")
	apply("update")
	wantPower("on")
	if !x.findMachine(t, name).Locked {
		t.Error("it is not locked any more")
	}
	vm()
	apply("update")
	turn("off")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
