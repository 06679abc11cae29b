package acctest_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccWorkflowRedeploy deploys a VM again by redeploy_triggers. The first
// values and their removal change nothing. A change keeps the VM's system id
// and addresses.
func TestAccWorkflowRedeploy(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	config := func(triggers string, attributes ...string) string {
		return x.config(x.vm(name, append(attributes, triggers)...))
	}
	w := newWorkspace(t, config(`redeploy_triggers = { release = "1" }`))
	w.wantCommandFailure(t, `A VM that is not deployed cannot be redeployed Add deploy`, "plan", "-no-color")
	w.configure(t, config(`redeploy_trigger = { release = "1" }`, x.deploy()))
	w.wantCommandFailure(t, `Unsupported argument redeploy_trigger`, "plan", "-no-color")
	w.configure(t, config(``, x.deploy()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made, releases := x.findMachine(t, name), func() int {
		n, counted := x.countCalls(t, "POST machines/{id}/ release")
		if !counted {
			return 0
		}
		return n
	}
	before, expected := releases(), 0
	apply := func(reason, triggers, action string, redeploys bool, attributes ...string) {
		t.Helper()
		w.configure(t, config(triggers, attributes...))
		if got := joinActions(w.planActions(t)); got != action {
			t.Errorf("%s\nthe plan wants %s, not %s", reason, got, action)
		}
		out := w.run(t, "apply", "-auto-approve", "-no-color")
		if warned := wordsPattern(`The VM will be redeployed All data on its disks are lost, also on data disks`).MatchString(unwrapMessage(out)); warned != redeploys {
			t.Errorf("%s\nit warns: %v, want %v:\n%s", reason, warned, redeploys, out)
		}
		w.wantEmptyPlan(t)
		if redeploys {
			expected++
		}
		now := x.findMachine(t, name)
		if now.SystemID != made.SystemID || now.StatusName != "Deployed" {
			t.Errorf("%s\nit is %s %s, and was %s", reason, now.StatusName, now.SystemID, made.SystemID)
		}
		if _, counted := x.countCalls(t, "POST machines/{id}/ release"); counted && releases()-before != expected {
			t.Errorf("%s\nit was released %d times, want %d", reason, releases()-before, expected)
		}
	}
	const one, two, three = `redeploy_triggers = { release = "1" }`, `redeploy_triggers = { release = "2" }`, `redeploy_triggers = { release = "2", os = "3" }`
	data := x.deploy(`user_data_wo = "#cloud-config\npackages: [caddy]\n"`, `user_data_wo_version = 1`)
	apply("The first values stand for what is installed.", one, "update", false, x.deploy())
	apply("Another value redeploys.", two, "update", true, x.deploy())
	apply("Other user-data comes with it.", three, "update", true, data)
	x.wantUserData(t, name, "caddy")
	apply("Without values nothing is deployed.", ``, "update", false, data)
	apply("Nor by the next first values.", two, "update", false, data)
	apply("A value that was there before redeploys.", three, "update", true, data)

	protected := `deletion_protection = true`
	apply("Protected it stays.", three, "update", false, data, protected)
	w.configure(t, config(two, data, protected))
	w.wantCommandFailure(t, `This plan would redeploy it, because redeploy_triggers changes Set deletion_protection = false and apply that first`, "plan", "-no-color")
	apply("The values are taken back.", three, "no-op", false, data, protected)
	w.configure(t, config(three, data, `deletion_protection = false`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if !x.isMachineGone(name) {
		t.Error("the VM is still there")
	}
}

// TestAccWorkflowRedeployCutOff kills a redeployment, and makes another one
// fail. The next apply goes on with the same VM, which keeps its fixed address.
func TestAccWorkflowRedeployCutOff(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t, slowTransitions, func(m *sim.Model) { m.Latency.Release = m.Latency.Deploy })
	const fixed = `interfaces = { eth0 = { subnet = "lan", ip = "10.77.0.42" } }`
	config := func(value string) string {
		return x.config(vmNamed("test", "web", fixed, x.deploy(), `redeploy_triggers = { release = "`+value+`" }`))
	}
	w := newWorkspace(t, config("1"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web")
	for status, breaks := range map[string]func(*exec.Cmd) error{
		"Releasing": killFunctions["CLIAndProvider"],
		"Deploying": func(*exec.Cmd) error { return x.sim.FailMachine(made.SystemID, "curtin gave up") },
	} {
		w.configure(t, config(status))
		cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		x.actAtStatus(t, "web", status, func(sim.Machine) {
			if err := breaks(cmd); err != nil {
				t.Error(err)
			}
		})
		if err := cmd.Wait(); err == nil {
			t.Errorf("%s: the apply was not broken:\n%s", status, out.String())
		}
		if got := joinActions(w.planActions(t)); got != "update" {
			t.Errorf("%s: the plan that follows wants %s", status, got)
		}
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.wantEmptyPlan(t)
		now := x.findMachine(t, "web")
		if diff := cmp.Diff(made.IPAddresses, now.IPAddresses); diff != "" || now.SystemID != made.SystemID || now.StatusName != "Deployed" {
			t.Errorf("%s: it is %s %s (addresses -made +now):\n%s", status, now.StatusName, now.SystemID, diff)
		}
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowRedeployOther redeploys a VM that has a data disk: with
// another image, and to run from memory. The action repeats the latter.
func TestAccWorkflowRedeployOther(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	const disks = `disks = { root = { size_gb = 8 }, data = { size_gb = 4 } }`
	config := func(value, deploy string) string {
		return x.config(vmNamed("test", "web", disks, deploy, `redeploy_triggers = { release = "`+value+`" }`))
	}
	w := newWorkspace(t, config("1", `deploy = { image = "ubuntu/noble" }`))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web")
	for _, step := range []struct {
		value, deploy, image string
		isOnDisk             bool
	}{
		{"2", `deploy = { image = "ubuntu/jammy" }`, "ubuntu/jammy", true},
		{"3", `deploy = { image = "ubuntu/noble", ephemeral = true }`, "ubuntu/noble", false},
	} {
		w.configure(t, config(step.value, step.deploy))
		if got := joinActions(w.planActions(t)); got != "update" {
			t.Errorf("%s: the plan wants %s", step.value, got)
		}
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.wantEmptyPlan(t)
		if now := x.findMachine(t, "web"); now.SystemID != made.SystemID || now.StatusName != "Deployed" || now.Image != step.image || now.SwapOn != step.isOnDisk {
			t.Errorf("%s: it is %+v, and was %s", step.value, now, made.SystemID)
		}
	}
	progress, failure := x.invokeAction(t, "maaslxd_redeploy", map[string]any{"machine": "web"})
	if failure != "" {
		t.Fatal(failure)
	}
	if said := strings.Join(progress, "\n"); !wordsPattern(`redeploying web (` + made.SystemID + `): left`).MatchString(said) {
		t.Errorf("want the phases and the time left, got %q", progress)
	}
	if now := x.findMachine(t, "web"); now.SystemID != made.SystemID || now.StatusName != "Deployed" || now.SwapOn {
		t.Errorf("it does not run from memory any more: %+v", now)
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowRedeployFailed makes redeployments fail. No plan replaces the
// VM. The action and other values of redeploy_triggers both deploy it again.
func TestAccWorkflowRedeployFailed(t *testing.T) {
	t.Parallel()
	x := newSimulatedTarget(t)
	config := func(value, image string) string {
		return x.config(vmNamed("test", "web", `deploy = { image = "`+image+`" }`, `redeploy_triggers = { release = "`+value+`" }`))
	}
	w := newWorkspace(t, config("1", "ubuntu/noble"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web")
	failing := func() <-chan error {
		failed := make(chan error, 1)
		go func() {
			for t.Context().Err() == nil && x.findMachine(t, "web").StatusName != "Deploying" {
				time.Sleep(time.Millisecond)
			}
			failed <- x.sim.FailMachine("web", "curtin gave up")
		}()
		return failed
	}
	wantSame := func(reason, status string) {
		t.Helper()
		if now := x.findMachine(t, "web"); now.SystemID != made.SystemID || now.StatusName != status {
			t.Errorf("%s\nit is %s %s, and was %s", reason, now.StatusName, now.SystemID, made.SystemID)
		}
	}

	failed := failing()
	if _, failure := x.invokeAction(t, "maaslxd_redeploy", map[string]any{"machine": "web"}); !wordsPattern(`Cannot redeploy VM web Failed deployment`).MatchString(failure) {
		t.Errorf("want the failure, got %q", failure)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	if out := w.run(t, "plan", "-detailed-exitcode", "-no-color"); !wordsPattern(`It ran before, so the plan does not replace it`).MatchString(unwrapMessage(out)) {
		t.Errorf("want a way out, got:\n%s", out)
	}
	wantSame("A failed action costs no VM.", "Failed deployment")
	if _, failure := x.invokeAction(t, "maaslxd_redeploy", map[string]any{"machine": "web"}); failure != "" {
		t.Fatal(failure)
	}
	wantSame("The action tries again.", "Deployed")
	w.wantEmptyPlan(t)

	w.configure(t, config("2", "ubuntu/jammy"))
	failed = failing()
	w.wantCommandFailure(t, `ended in the state "Failed deployment"`, "apply", "-auto-approve", "-no-color")
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	w.configure(t, config("1", "ubuntu/noble"))
	if got := joinActions(w.planActions(t)); got != "no-op" {
		t.Errorf("who takes the change back gets the plan %s", got)
	}
	w.configure(t, config("2", "ubuntu/jammy"))
	if got := joinActions(w.planActions(t)); got != "update" {
		t.Errorf("the same values again get the plan %s", got)
	}
	w.run(t, "apply", "-auto-approve", "-no-color")
	wantSame("The next apply deploys it.", "Deployed")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
