package acctest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccWorkflowMachineReleasedRenamed releases a machine in MAAS that has a hostname of the
// configuration. MAAS keeps that hostname, and knows no machine of the former one. The plan tells how to
// name the machine, and guesses nothing. A destroy has nothing to do.
func TestAccWorkflowMachineReleasedRenamed(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	named := func(machine string) string {
		return x.config(testMachine("db", fmt.Sprintf("machine = %q", machine), `hostname = "web"`, deployNoble))
	}
	w := newWorkspace(t, named("node1"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	id := w.systemID(t)
	x.releaseMachine(t, "web")
	before := x.observeState()
	w.wantCommandFailure(t, `Cannot create machine db MAAS has no machine "node1", and machine web (`+id+`) has the hostname "web" already write machine = "`+id+`"`, "apply", "-auto-approve", "-no-color")
	if diff := cmp.Diff(before, x.observeState(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("it changed something (-before +after):\n%s", diff)
	}
	w.configure(t, named(id))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if got := w.systemID(t); got != id {
		t.Errorf("it is the machine %s, and was %s", got, id)
	}
	x.releaseMachine(t, "web")
	x.editMachine(t, "web", sim.MachineEdit{Hostname: new("node1")}) // somebody gives it its name back
	w.configure(t, named("node1"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	x.releaseMachine(t, "web")
	x.editMachine(t, "web", sim.MachineEdit{Hostname: new("rack7-a")})
	w.wantCommandFailure(t, `Cannot create machine db MAAS has no machine "node1"`, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if m := x.findMachine(t, "rack7-a"); m.StatusName != "Ready" {
		t.Errorf("it is %s", m.StatusName)
	}
}

// TestAccWorkflowMachineNamedAgain removes the line hostname from a machine, and names the machine
// by its former hostname. It is the same machine. If another machine has that name by now, the plan refuses.
func TestAccWorkflowMachineNamedAgain(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(machineOnNode1(`hostname = "web"`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	id := w.systemID(t)
	stays := func(reason, config string) {
		t.Helper()
		w.configure(t, x.config(config))
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.wantEmptyPlan(t)
		if n, counted := x.countDeployments(); counted && n != 1 || w.systemID(t) != id {
			t.Errorf("%s: it was deployed %d times, and is %s", reason, n, w.systemID(t))
		}
	}
	w.configure(t, x.config(testMachine("db", `machine = "node9"`, deployNoble, `hostname = "web"`)))
	w.wantRefusedPlan(t, `Cannot replace machine db MAAS has no machine "node9"`)
	stays("the line hostname is gone", machineOnNode1())
	stays("its name in MAAS", testMachine("db", `machine = "web"`, deployNoble))
	stays("its former name", machineOnNode1())
	stays("its system id", testMachine("db", `machine = "`+id+`"`, deployNoble))
	stays("its former name and domain", testMachine("db", `machine = "node1.maas"`, deployNoble))
	stays("its system id again", testMachine("db", `machine = "`+id+`"`, deployNoble))
	x.editMachine(t, "node2", sim.MachineEdit{Hostname: new("node1")})
	w.configure(t, x.config(machineOnNode1()))
	w.wantRefusedPlan(t, "node1 was the name of machine web now the name of another machine Name the machine by its system id")
	w.configure(t, x.config(testMachine("db", `machine = "`+id+`"`, deployNoble)))
	x.editMachine(t, "node1", sim.MachineEdit{Hostname: new("node2")})
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2")(nil); err != nil {
		t.Error(err)
	}
}
