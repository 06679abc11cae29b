package acctest_test

import (
	"testing"

	"github.com/maaslxd/maaslxd/acctest/realmaas"
)

// wantUserData checks that a machine was deployed with these words. Where no
// command simulates the guests it does nothing, because MAAS does not show
// user-data.
func (x *target) wantUserData(t *testing.T, name, want string) {
	t.Helper()
	if x.sim == nil && !theSite.Drive.HasCommand() {
		leaveOut(t, "look at the user-data", realmaas.DriveVariable+" names no command that reads it")
		return
	}
	if got := x.deployedUserData(t, name); !wordsPattern(want).MatchString(got) {
		t.Errorf("want %q in what %s was deployed with: %q", want, name, got)
	}
}

// deployedUserData is the user-data with which a machine was deployed.
func (x *target) deployedUserData(t *testing.T, name string) string {
	t.Helper()
	m := x.findMachine(t, name)
	if x.sim == nil {
		data, err := theSite.Drive.Run(t.Context(), realmaas.VerbUserData, m.SystemID)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	data, err := x.sim.UserData(m.SystemID)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestAccWorkflowLateUserData gives user-data to a VM that was deployed
// without. It either runs, on a new VM, or is never stored. User-data that has
// run can be removed and set again in place.
func TestAccWorkflowLateUserData(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	const data = `user_data_wo = "#cloud-config\npackages: [nginx]\n"`
	config := func(deploy ...string) string { return x.config(x.vm("web", x.deploy(deploy...))) }
	w := newWorkspace(t, config())
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web").SystemID
	steps := []struct {
		reason string
		deploy []string
		action string
		ran    string
	}{
		{"It has run on a new VM.", []string{data, `user_data_wo_version = 1`}, "delete,create", "nginx"},
		{"It ran, and is not looked after any more.", nil, "update", "nginx"},
		{"It is the same as ran.", []string{data, `user_data_wo_version = 1`}, "update", "nginx"},
		{"Another version is another installation.", []string{`user_data_wo = "#cloud-config\npackages: [caddy]\n"`, `user_data_wo_version = 2`}, "delete,create", "caddy"},
	}
	for _, step := range steps {
		w.configure(t, config(step.deploy...))
		if got := joinActions(w.planActions(t)); got != step.action {
			t.Errorf("%s The plan wants %s, not %s", step.reason, got, step.action)
		}
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.run(t, "plan", "-detailed-exitcode", "-no-color")
		is := x.findMachine(t, "web").SystemID
		if (is == made) != (step.action == "update") {
			t.Errorf("%s The VM is %s, and was %s", step.reason, is, made)
		}
		made = is
		x.wantUserData(t, "web", step.ran)
	}
	w.configure(t, config(`user_data_wo = "packages: [nginx]\n"`, `user_data_wo_version = 3`))
	w.wantRefusedPlan(t, `User-data that cloud-init cannot run`)
}

// TestAccWorkflowLateUserDataOfHost does the same with a VM host.
func TestAccWorkflowLateUserDataOfHost(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	host := func(more string) string {
		return x.config(vmHost("kvm1", `machine = "node1"`, `deploy = { image = "ubuntu/noble"`+more+` }`))
	}
	late := host(`, user_data_wo = "#cloud-config\ntimezone: UTC\n", user_data_wo_version = 1`)
	w := newWorkspace(t, host(""))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, late)
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern(`must be replaced`).MatchString(out) {
		t.Errorf("want a replacement, got:\n%s", out)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	x.wantUserData(t, "node1", "timezone: UTC")
	w.configure(t, host(""))
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern(`0 to add, 1 to change, 0 to destroy`).MatchString(out) {
		t.Errorf("want it to stay, got:\n%s", out)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
}
