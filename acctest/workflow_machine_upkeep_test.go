package acctest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// wantNamesAndPlace checks the names and the place of a machine.
func (x *metalTarget) wantNamesAndPlace(t *testing.T, hostname, domain, zone, pool, description string) sim.Machine {
	t.Helper()
	m := x.findMachine(t, hostname)
	if m.Domain != domain || m.Zone != zone || m.Pool != pool || !strings.HasPrefix(m.Description, description) {
		t.Errorf("want %s.%s in %s and %s with %q, got %s.%s in %s and %s with %q", hostname, domain, zone, pool, description, m.Hostname, m.Domain, m.Zone, m.Pool, m.Description)
	}
	return m
}

// TestAccWorkflowMachineUpkeep changes in place everything that MAAS can change
// of a machine, removes the lines, and imports the machine. A destroy leaves it
// as it was.
func TestAccWorkflowMachineUpkeep(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	x.editMachine(t, "node1", sim.MachineEdit{Description: new("rack 7")})
	place := []string{`hostname = "db-1"`, `domain = "example.org"`, `zone = "az2"`, `pool = "kvm"`, `description = "database"`, `tags = ["blue", "metal"]`}
	w := newWorkspace(t, x.config(machineOnNode1(place...)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	made := x.wantNamesAndPlace(t, "db-1", "example.org", "az2", "kvm", "database").SystemID

	w.configure(t, x.config(machineOnNode1(`hostname = "db-2"`, `zone = "az1"`, `description = ""`, `tags = ["green"]`, `annotations = { app = "db" }`)))
	if got := joinActions(w.planActionsOn(t, machineAddress)); got != "update" {
		t.Errorf("the plan of a change wants %s", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	m := x.wantNamesAndPlace(t, "db-2", "example.org", "az1", "kvm", "")
	if slices.Contains(m.Tags, "blue") || !slices.Contains(m.Tags, "green") || m.OwnerData["app"] != "db" {
		t.Errorf("it has the tags %v and the annotations %v", m.Tags, m.OwnerData)
	}
	w.configure(t, x.config(machineOnNode1(`tags = ["green"]`))) // removing lines changes nothing
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	x.wantNamesAndPlace(t, "db-2", "example.org", "az1", "kvm", "")

	w.run(t, "state", "rm", machineAddress)
	w.run(t, "import", "-no-color", machineAddress, "db-2")
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if n, counted := x.countDeployments(); counted && n != 1 || x.findMachine(t, "db-2").SystemID != made {
		t.Errorf("it was deployed %d times", n)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
	if m := x.wantNamesAndPlace(t, "node1", "maas", "az1", "default", "rack 7"); slices.Contains(m.Tags, "green") || !slices.Contains(m.Tags, "metal") {
		t.Errorf("it was given back with the tags %v", m.Tags)
	}
	x.wantUntouched(t)
}

// TestAccWorkflowMachineReplaced replaces a machine whose hostname has changed
// since the configuration named it, by force and for another image.
func TestAccWorkflowMachineReplaced(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(machineOnNode1(`hostname = "db-1"`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.config(testMachine("db", `machine = "node1.maas"`, deployNoble, `hostname = "db-1"`)))
	w.run(t, "apply", "-auto-approve", "-no-color") // the same machine by another name
	if n, counted := x.countDeployments(); counted && n != 1 {
		t.Errorf("it was deployed %d times", n)
	}
	w.configure(t, x.config(machineOnNode1(`hostname = "db-1"`)))
	w.run(t, "apply", "-auto-approve", "-replace="+machineAddress, "-no-color")
	w.wantEmptyPlan(t)
	w.configure(t, x.config(testMachine("db", `machine = "node1"`, `deploy = { image = "ubuntu/jammy" }`, `hostname = "db-1"`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if n, counted := x.countDeployments(); counted && n != 3 {
		t.Errorf("it was deployed %d times", n)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowMachineFormerName replaces a machine that the configuration
// names by its former hostname. After a release, no machine or another one has
// that name. So the plan refuses: otherwise the error would come after the
// release.
func TestAccWorkflowMachineFormerName(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(machineOnNode1(`hostname = "db-1"`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.config(testMachine("db", `machine = "node1"`, `deploy = { image = "ubuntu/jammy" }`)))
	x.editMachine(t, "db-1", sim.MachineEdit{Hostname: new("rack7-a")})
	w.wantRefusedPlan(t, "somebody else has renamed it Name the machine by its system id")
	x.editMachine(t, "rack7-a", sim.MachineEdit{Hostname: new("db-1")})
	x.editMachine(t, "node2", sim.MachineEdit{Hostname: new("node1")})
	w.wantRefusedPlan(t, "node1 was the name of machine db-1 now the name of another machine Name the machine by its system id")
	x.editMachine(t, "node1", sim.MachineEdit{Hostname: new("node2")})
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowMachineHostnames swaps the hostnames of two machines in one
// apply.
func TestAccWorkflowMachineHostnames(t *testing.T) {
	t.Parallel()
	named := func(one, two string) string {
		return labelledMachine("a", "one", `machine = "node1"`, deployNoble, `hostname = "`+one+`"`) +
			labelledMachine("b", "two", `machine = "node2"`, deployNoble, `hostname = "`+two+`"`)
	}
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(named("left", "right")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	first := x.findMachine(t, "left").SystemID
	w.configure(t, x.config(named("right", "left")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	if x.findMachine(t, "right").SystemID != first {
		t.Error("the hostnames were not swapped")
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowMachineUpkeepTypo names objects that MAAS does not have. The
// plan of an existing machine is an error, and the machine does not change.
func TestAccWorkflowMachineUpkeepTypo(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	w := newWorkspace(t, x.config(machineOnNode1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	for line, want := range map[string]string{
		`zone = "az9"`: `zone "az9" az1`, `pool = "nope"`: `resource pool "nope"`, `domain = "mars"`: `domain "mars"`,
		`hostname = "node2"`: `hostname: MAAS has a machine node2 already`, `hostname = "db.maas"`: `The domain has its own attribute`,
		`description = "maaslxd-1 x"`: `are marks of this program`,
	} {
		w.configure(t, x.config(machineOnNode1(line)))
		w.wantRefusedPlan(t, want)
	}
	x.wantNamesAndPlace(t, "node1", "maas", "az1", "default", "")
	fresh := newWorkspace(t, x.config(testMachine("other", `machine = "node2"`, deployNoble, `zone = "az9"`)))
	fresh.wantRefusedCreate(t, x, "zone", `zone "az9" az1`)
	fresh = newWorkspace(t, x.config(testMachine("other", `machine = "node2"`, deployNoble, `hostname = "node1"`)))
	fresh.wantRefusedCreate(t, x, "hostname", `MAAS has a machine node1 already`)
	w.configure(t, x.config(machineOnNode1()))
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowMachineProtection protects a machine. It can be changed but
// not released until the protection is removed.
func TestAccWorkflowMachineProtection(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	const on, refusal = `deletion_protection = true`, `is protected from deletion Set deletion_protection = false and apply that first`
	w := newWorkspace(t, x.config(machineOnNode1(on)))
	wantLock := func(want bool) {
		t.Helper()
		if m := x.findMachine(t, "node1"); m.Locked != want || m.StatusName != "Deployed" {
			t.Errorf("it is %s, and locked: %v, want %v", m.StatusName, m.Locked, want)
		}
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	wantLock(true)
	w.wantCommandFailure(t, refusal, "destroy", "-auto-approve", "-no-color")
	w.wantCommandFailure(t, refusal, "apply", "-auto-approve", "-replace="+machineAddress, "-no-color")
	w.configure(t, x.config(testMachine("db", `machine = "node1"`, `deploy = { image = "ubuntu/jammy" }`, on)))
	w.wantCommandFailure(t, `This plan would replace it, because of deploy`, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.config(testMachine("renamed", `machine = "node1"`, deployNoble, on, `zone = "az2"`, `tags = ["blue"]`, `annotations = { app = "db" }`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	wantLock(true)
	x.editMachine(t, "node1", sim.MachineEdit{Locked: new(false)})
	if got := joinActions(w.planActionsOn(t, machineAddress)); got != "update" {
		t.Errorf("somebody unlocked it, and the plan wants %s", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	wantLock(true)
	w.run(t, "state", "rm", machineAddress)
	w.run(t, "import", "-no-color", machineAddress, "node1")
	w.wantCommandFailure(t, refusal, "destroy", "-auto-approve", "-no-color")
	kept := []string{`machine = "node1"`, deployNoble, `zone = "az2"`, `tags = ["blue"]`, `annotations = { app = "db" }`}
	w.configure(t, x.config(testMachine("renamed", kept...)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	wantLock(true) // to an import the lock looks like another user's, so it stays
	w.wantCommandFailure(t, refusal, "destroy", "-auto-approve", "-no-color")
	w.configure(t, x.config(testMachine("renamed", append(kept, on)...)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	x.editMachine(t, "node1", sim.MachineEdit{Locked: new(false)})
	w.wantCommandFailure(t, refusal, "destroy", "-auto-approve", "-no-color")
	w.configure(t, x.config(testMachine("renamed", append(kept, `deletion_protection = false`)...)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowMachineInMemory deploys a machine to run from memory, and with
// hardware sync. An import reads both, and a change of either replaces the
// machine.
func TestAccWorkflowMachineInMemory(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	how := func(lines string) string {
		return testMachine("db", `machine = "node1"`, `deploy = { image = "ubuntu/noble"`+lines+` }`)
	}
	const both = `, ephemeral = true, enable_hw_sync = true`
	w := newWorkspace(t, x.config(how(both)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	adopted, generated := importWithGeneratedConfig(t, x.config(""), machineAddress, "node1")
	for _, want := range []string{"ephemeral = true", "enable_hw_sync = true"} {
		if !strings.Contains(strings.Join(strings.Fields(generated), " "), want) {
			t.Errorf("the generated configuration lacks %s:\n%s", want, generated)
		}
	}
	adopted.wantEmptyPlan(t)
	w.configure(t, x.config(how("")))
	w.run(t, "apply", "-auto-approve", "-no-color") // removing a line keeps the installation
	w.wantEmptyPlan(t)
	w.configure(t, x.config(how(`, ephemeral = false`)))
	if got := joinActions(w.planActionsOn(t, machineAddress)); !strings.Contains(got, "create") || !strings.Contains(got, "delete") {
		t.Errorf("the plan of a machine on disk wants %s", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1")(nil); err != nil {
		t.Error(err)
	}
}
