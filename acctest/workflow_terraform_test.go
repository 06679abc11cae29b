package acctest_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// vmNamed is a resource of a VM on lxd1.
func vmNamed(label, name string, attributes ...string) string {
	return fmt.Sprintf("resource \"maaslxd_vm\" %q {\n  name = %q\n  vm_host = \"lxd1\"\n  %s\n}\n", label, name, strings.Join(attributes, "\n  "))
}

// wantEmptyPlan checks that a second plan is empty.
func (w workspace) wantEmptyPlan(t *testing.T) {
	t.Helper()
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
}

// TestAccWorkflowNamesElsewhere renames a VM and gives its name to another,
// swaps two names, and shifts the names of a list. Each needs one apply, and no
// VM is lost.
func TestAccWorkflowNamesElsewhere(t *testing.T) {
	t.Parallel()
	list := func(names ...string) string {
		return fmt.Sprintf("locals {\n  names = [%s]\n}\nresource \"maaslxd_vm\" \"list\" {\n  count = length(local.names)\n  name = local.names[count.index]\n  vm_host = \"lxd1\"\n}\n", `"`+strings.Join(names, `", "`)+`"`)
	}
	elsewhere := func(label, name string, attributes ...string) string {
		return strings.Replace(vmNamed(label, name, attributes...), "lxd1", "lxd2", 1)
	}
	for title, steps := range map[string][]string{
		// On another VM host: the instance in LXD keeps its first name.
		"Reuse":       {vmNamed("a", "blue"), vmNamed("a", "blue-old") + elsewhere("b", "blue", "depends_on = [maaslxd_vm.a]")},
		"ReuseAtOnce": {vmNamed("a", "blue"), vmNamed("a", "blue-old") + elsewhere("b", "blue")},
		"Swap":        {vmNamed("a", "red") + vmNamed("b", "blue"), vmNamed("a", "blue") + vmNamed("b", "red"), vmNamed("a", "red") + vmNamed("b", "blue")},
		"ShiftBack":   {list("sa", "sb", "sc"), list("sb", "sc"), list("sc", "sb")},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			w := newEmptyWorkspace(t)
			for _, step := range steps {
				w.configure(t, x.config(step))
				w.run(t, "apply", "-auto-approve", "-no-color")
				w.wantEmptyPlan(t)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if n := len(x.instances()); n != 0 {
				t.Errorf("%d instances are left", n)
			}
		})
	}
}

// TestAccWorkflowBlocks moves a VM to other addresses, removes it from the
// state without destroying it, and imports it again. It stays the same VM.
func TestAccWorkflowBlocks(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config(vmNamed("a", "web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web").SystemID
	each := strings.Replace(vmNamed("b", "web"), "{\n", "{\n  for_each = toset([\"one\"])\n", 1)
	for _, body := range []string{
		vmNamed("b", "web") + "moved {\n  from = maaslxd_vm.a\n  to = maaslxd_vm.b\n}\n",
		each + "moved {\n  from = maaslxd_vm.b\n  to = maaslxd_vm.b[\"one\"]\n}\n",
		"removed {\n  from = maaslxd_vm.b\n  lifecycle {\n    destroy = false\n  }\n}\n",
		vmNamed("c", "web") + "import {\n  to = maaslxd_vm.c\n  id = \"web\"\n}\n",
	} {
		w.configure(t, x.config(body))
		out := w.run(t, "apply", "-auto-approve", "-no-color")
		if !wordsPattern("0 destroyed").MatchString(out) {
			t.Errorf("something was destroyed:\n%s", out)
		}
		w.wantEmptyPlan(t)
		if id := x.findMachine(t, "web").SystemID; id != made {
			t.Fatalf("the VM is %s, and was %s", id, made)
		}
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkVMGone("web")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowTarget applies, replaces and destroys one of two VMs only.
func TestAccWorkflowTarget(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config(vmNamed("a", "one")+vmNamed("b", "two")))
	w.run(t, "apply", "-auto-approve", "-no-color", "-target=maaslxd_vm.a")
	first := x.findMachine(t, "one").SystemID
	w.run(t, "apply", "-auto-approve", "-no-color")
	second := x.findMachine(t, "two").SystemID
	w.run(t, "apply", "-auto-approve", "-no-color", "-replace=maaslxd_vm.b")
	w.wantEmptyPlan(t)
	if x.findMachine(t, "one").SystemID != first || x.findMachine(t, "two").SystemID == second {
		t.Error("want the second alone made anew")
	}
	w.run(t, "destroy", "-auto-approve", "-no-color", "-target=maaslxd_vm.b")
	if x.findMachine(t, "one").SystemID != first {
		t.Error("the first was touched")
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if n := len(x.instances()); n != 0 {
		t.Errorf("%d instances are left", n)
	}
}

// TestAccWorkflowOtherProviderVersion plans a state that a colleague's provider of another version
// has written: one attribute is new to this provider, and another one is missing.
func TestAccWorkflowOtherProviderVersion(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config(vmNamed("test", "web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	edit := func(change func(attributes map[string]any)) {
		w.rewriteInstances(t, func(instance map[string]any) { change(instance["attributes"].(map[string]any)) })
	}
	edit(func(attributes map[string]any) {
		attributes["of_a_later_version"] = "x"
		delete(attributes, "description")
	})
	w.wantEmptyPlan(t)
	edit(func(attributes map[string]any) { attributes["cores"] = "many" })
	w.wantCommandFailure(t, "number is required", "plan", "-no-color")
}

// TestAccWorkflowSavedPlan applies a saved plan after another user has changed
// the same things in MAAS. The VM stays, and becomes what the plan says.
func TestAccWorkflowSavedPlan(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config(vmNamed("test", "web", `zone = "az1"`)))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web").SystemID
	w.configure(t, x.config(vmNamed("test", "web", `zone = "az2"`)))
	w.run(t, "plan", "-out=saved", "-no-color")
	x.editMachine(t, "web", sim.MachineEdit{Zone: ptr("default")})
	w.run(t, "apply", "-no-color", "saved")
	w.wantEmptyPlan(t)
	if m := x.findMachine(t, "web"); m.Zone != "az2" || m.SystemID != made {
		t.Errorf("it is %+v", m)
	}
}

// TestAccWorkflowWorkspaces applies one configuration in two workspaces. The
// second does not take the first one's VM, and its destroy does not remove it.
func TestAccWorkflowWorkspaces(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	config := "variable \"suffix\" {\n  default = \"\"\n}\n" + strings.Replace(vmNamed("test", "web"), `"web"`, `"web${var.suffix}"`, 1)
	w := newWorkspace(t, x.config(config))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web").SystemID
	w.run(t, "workspace", "new", "-no-color", "other")
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil || !wordsPattern("Cannot create VM web name").MatchString(unwrapMessage(out.String())) {
		t.Errorf("want the name refused, got %v:\n%s", err, out)
	}
	w.run(t, "apply", "-auto-approve", "-no-color", "-var=suffix=-2")
	w.run(t, "destroy", "-auto-approve", "-no-color", "-var=suffix=-2")
	if x.findMachine(t, "web").SystemID != made {
		t.Error("the VM of the first workspace was touched")
	}
	w.run(t, "workspace", "select", "-no-color", "default")
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowInterrupted presses Ctrl-C in each phase of a create and of a
// destroy. The next run goes on, and nothing is doubled or left.
func TestAccWorkflowInterrupted(t *testing.T) {
	t.Parallel()
	long := func(m *sim.Model) { m.Latency.Compose = 2 * time.Second }
	for _, phase := range []string{"Composing", "Commissioning", "Deploying"} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			if isOnSite() && phase == "Composing" {
				t.Skip("runs only on the simulator: " + siteTooBrief)
			}
			x := newTarget(t, slowTransitions, long)
			w := newWorkspace(t, x.config(x.vm("web", x.deploy())))
			x.holdMachine("web")
			run := startApplies(t, w)[0]
			switch phase {
			case "Composing":
				x.awaitCall(t, composeRoute())
			case "Deploying":
				x.awaitDeploying(t, "web")
			default:
				x.actAtStatus(t, "web", phase, func(sim.Machine) {})
			}
			if err := syscall.Kill(-run.cmd.Process.Pid, syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			run.cmd.Wait() //nolint:errcheck // it may end with or without an error
			x.resumeMachines("web")
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.wantEmptyPlan(t)
			if n := len(x.instances()); n != 1 {
				t.Errorf("there are %d instances", n)
			}
			cmd, _ := w.command(t.Context(), "destroy", "-auto-approve", "-no-color")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			x.waitUntil(t, "the destroy has begun", func() bool { return x.isMachineGone("web") || x.statusOf("web") != "Deployed" })
			syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) //nolint:errcheck // it may have ended
			cmd.Wait()                                     //nolint:errcheck // it may end with or without an error
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkVMGone("web")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func (x *target) isMachineGone(name string) bool { return x.statusOf(name) == "" }

// statusOf is MAAS's name for a machine's status. It is empty where there is no
// such machine.
func (x *target) statusOf(name string) string {
	for _, m := range x.machines() {
		if m.Hostname == name {
			return m.StatusName
		}
	}
	return ""
}
