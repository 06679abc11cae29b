package acctest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

var ownerLine = regexp.MustCompile(`(?m)^ *owner = .*\n`)

// withoutOwner is a configuration without an owner.
func withoutOwner(config string) string { return ownerLine.ReplaceAllString(config, "") }

// newHomedWorkspace is the folder of a user whose XDG state is in another
// folder.
func newHomedWorkspace(t *testing.T, config, state string) workspace {
	t.Helper()
	w := newWorkspace(t, config)
	w.env = append(withoutVariables(w.env, "XDG_STATE_HOME", ledgerVariable), "XDG_STATE_HOME="+state)
	return w
}

// TestAccWorkflowTwoDirectories starts two folders without an owner, which
// create a VM of one name at the same moment. One of them gets it.
func TestAccWorkflowTwoDirectories(t *testing.T) {
	t.Parallel()
	one := t.TempDir()
	cases := map[string]struct {
		reason, first, second, want string
	}{
		"OneHome":  {"Two runs on one machine share a ledger, which keeps them apart.", one, one, "is being created or redeployed by another run"},
		"TwoHomes": {"Two runners share only MAAS, so the mark of the VM keeps them apart.", t.TempDir(), t.TempDir(), "MAAS has a machine same already it was made for Choose another name"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t, endlessTransitions)
			x.holdAllMachines()
			config := withoutOwner(x.config(x.vm("same")))
			first, second := newHomedWorkspace(t, config, tc.first), newHomedWorkspace(t, config, tc.second)
			cmd, out := first.command(t.Context(), "apply", "-auto-approve", "-no-color")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			x.actAtStatus(t, "same", "Commissioning", func(sim.Machine) {})
			late, lateOut := second.command(t.Context(), "apply", "-auto-approve", "-no-color")
			if err := late.Run(); err == nil || !wordsPattern(tc.want).MatchString(unwrapMessage(lateOut.String())) {
				t.Errorf("%s\nwant the second refused with %q, got %v:\n%s", tc.reason, tc.want, err, lateOut)
			}
			x.finishTransitions(t, "same", "Commissioning")
			if err := cmd.Wait(); err != nil {
				t.Fatalf("the first: %v\n%s", err, out)
			}
			second.run(t, "destroy", "-auto-approve", "-no-color")
			if m := x.findMachine(t, "same"); m.StatusName != "Ready" {
				t.Errorf("%s\nThe VM is %s after the other folder was destroyed", tc.reason, m.StatusName)
			}
			first.run(t, "plan", "-detailed-exitcode", "-no-color")
			first.run(t, "destroy", "-auto-approve", "-no-color")
			if left := x.instances(); len(left) != 0 {
				t.Errorf("left: %+v", left)
			}
		})
	}
}

// TestAccWorkflowHostGoneOnWith: a folder resumes a host for which its first
// apply did not wait. Another folder of the same owner creates the host, too.
func TestAccWorkflowHostGoneOnWith(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t, endlessTransitions)
	x.holdAllMachines()
	first, second := newWorkspace(t, x.config(hostOnNode1(createWithin6s))), newWorkspace(t, x.config(hostOnNode1()))
	if out := unwrapMessage(first.run(t, "apply", "-auto-approve", "-no-color")); !wordsPattern("VM host kvm1 is not finished").MatchString(out) {
		t.Fatalf("want a host that is not finished, got:\n%s", out)
	}
	out, err := os.Create(filepath.Join(first.dir, "apply.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd, _ := first.command(t.Context(), "apply", "-auto-approve", "-no-color")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := func() string {
		text, _ := os.ReadFile(out.Name())
		return string(text)
	}
	x.waitUntil(t, "the first folder goes on", func() bool { return strings.Contains(said(), "Modifying...") })
	late, lateOut := second.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := late.Run(); err == nil || !wordsPattern("is being created or redeployed by another run").MatchString(unwrapMessage(lateOut.String())) {
		t.Errorf("want the second folder refused, got %v:\n%s", err, lateOut)
	}
	x.finishTransitions(t, "node1", "Deploying")
	x.resumeMachines("node1")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the first: %v\n%s", err, said())
	}
	first.wantEmptyPlan(t)
}

// TestAccWorkflowStateElsewhere takes a state to another machine, without
// anything else of the first run. There it changes, renames and removes the
// objects of the state.
func TestAccWorkflowStateElsewhere(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newHomedWorkspace(t, withoutOwner(x.config(x.vm("web"))), t.TempDir())
	w.run(t, "apply", "-auto-approve", "-no-color")
	made := x.findMachine(t, "web")
	elsewhere := func(config string) workspace {
		w.configure(t, config)
		w.env = append(withoutVariables(w.env, "XDG_STATE_HOME"), "XDG_STATE_HOME="+t.TempDir())
		return w
	}
	elsewhere(withoutOwner(x.config(x.vm("web", `zone = "az1"`)))).run(t, "apply", "-auto-approve", "-no-color")
	if m := x.findMachine(t, "web"); m.SystemID != made.SystemID || m.Description != made.Description {
		t.Errorf("the VM was %s, %q, and is %s, %q", made.SystemID, made.Description, m.SystemID, m.Description)
	}
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	elsewhere(withoutOwner(x.config(x.vm("web-2", `zone = "az1"`)))).run(t, "apply", "-auto-approve", "-no-color")
	if m := x.findMachine(t, "web-2"); m.SystemID != made.SystemID || !strings.HasSuffix(strings.TrimSpace(m.Description), "/web-2") {
		t.Errorf("the renamed VM is %s, %q", m.SystemID, m.Description)
	}
	elsewhere(withoutOwner(x.config(""))).run(t, "apply", "-auto-approve", "-no-color")
	if left := x.instances(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

// TestAccWorkflowOwnerOfJob: a CI job that makes objects without an owner in the provider block is
// warned once, because the next job would be another owner. Other runs are not warned.
func TestAccWorkflowOwnerOfJob(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	one := withoutOwner(x.config(x.vm("web")))
	w := newHomedWorkspace(t, one, t.TempDir())
	person := w.env
	job := func(home string) []string {
		return append(withoutVariables(person, "XDG_STATE_HOME"), "XDG_STATE_HOME="+home, "CI=true")
	}
	runner := t.TempDir()
	for _, step := range []struct {
		reason, config string
		env            []string
		args           []string
		want           int
	}{
		{"A person's computer keeps the owner.", one, person, []string{"plan"}, 0},
		{"The job makes a VM, and nothing keeps its owner.", one, job(runner), []string{"apply", "-auto-approve"}, 1},
		{"This runner still has the owner of its last job.", withoutOwner(x.config(x.vm("web") + vmNamed("b", "db"))), job(runner), []string{"plan"}, 0},
		{"Another runner makes nothing.", withoutOwner(x.config(x.vm("web", `zone = "az1"`))), job(t.TempDir()), []string{"apply", "-auto-approve"}, 0},
		{"Nor does a destroy.", one, job(t.TempDir()), []string{"destroy", "-auto-approve"}, 0},
	} {
		w.configure(t, step.config)
		w.env = step.env
		if out := w.run(t, append(step.args, "-no-color")...); strings.Count(out, "Another CI job would be another owner") != step.want {
			t.Errorf("%s Want %d warnings of the owner, got:\n%s", step.reason, step.want, out)
		}
	}
}

// TestAccWorkflowOwnerNeeded: without a lasting file, nothing would tell the
// next run who owns the VMs.
func TestAccWorkflowOwnerNeeded(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, withoutOwner(x.configWith(`ledger = "memory"`, x.vm("web"))))
	cmd, out := w.command(t.Context(), "plan", "-no-color")
	if err := cmd.Run(); err == nil || !wordsPattern(`owner ledger = "memory" owner must be set`).MatchString(unwrapMessage(out.String())) {
		t.Errorf("want an error of owner, got %v:\n%s", err, out)
	}
	w.configure(t, x.configWith(`ledger = "memory"`, x.vm("web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowTakenOver has a VM in a state that a cluster has taken over
// since. Plans say so, and neither a change nor a destroy touches the VM.
func TestAccWorkflowTakenOver(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config(x.vm("web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	mark := "maaslxd-0123456789ab 5f2c/default/blue/blue-cp-0"
	x.editMachine(t, "web", sim.MachineEdit{Description: &mark})
	before := x.findMachine(t, "web")

	const warning = "Warning: VM web belongs to another owner made for 5f2c/default/blue/blue-cp-0 terraform state rm"
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern(warning).MatchString(out) {
		t.Errorf("want a warning whose it is by now, got:\n%s", out)
	}
	refused := strings.Replace(warning, "Warning", "Error", 1)
	for _, args := range [][]string{{"plan", "-no-color", "-destroy"}, {"destroy", "-auto-approve", "-no-color"}, {"plan", "-no-color", "-replace=" + vmAddress}} {
		cmd, out := w.command(t.Context(), args...)
		if err := cmd.Run(); err == nil || !wordsPattern(refused).MatchString(unwrapMessage(out.String())) {
			t.Errorf("want %v refused, got %v:\n%s", args, err, out)
		}
	}
	w.configure(t, x.config(x.vm("renamed")))
	cmd, out := w.command(t.Context(), "plan", "-no-color")
	if err := cmd.Run(); err == nil || !wordsPattern(refused).MatchString(unwrapMessage(out.String())) {
		t.Errorf("want a change refused, got %v:\n%s", err, out)
	}
	cmd, out = w.command(t.Context(), "destroy", "-auto-approve", "-no-color", "-refresh=false")
	if err := cmd.Run(); err == nil || !wordsPattern("VM web marked as made for 5f2c/default/blue/blue-cp-0").MatchString(unwrapMessage(out.String())) {
		t.Errorf("want a destroy refused that did not look before, got %v:\n%s", err, out)
	}
	if after := x.findMachine(t, "web"); after.Status != before.Status || after.Description != before.Description {
		t.Errorf("it was touched: %+v, before %+v", after, before)
	}
	w.run(t, "state", "rm", vmAddress)
	w.run(t, "destroy", "-auto-approve", "-no-color")
	x.findMachine(t, "web")
}

// TestAccWorkflowOwnerOfImported imports a VM without an owner in the provider
// block, and makes another VM later. Both have the same owner, which is kept.
func TestAccWorkflowOwnerOfImported(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	x.makeUnmanagedVM(t, "old", 1)
	home := filepath.Join(t.TempDir(), "state")
	vm := func(name string) string {
		return fmt.Sprintf("resource \"maaslxd_vm\" %q {\n  name = %q\n  vm_host = %q\n  cores = 1\n  memory_mib = 2048\n}\n", name, name, x.host)
	}
	imported := "import {\n  to = maaslxd_vm.old\n  id = \"old\"\n}\n" + vm("old")
	w := newHomedWorkspace(t, withoutOwner(x.config(imported)), home)
	w.run(t, "plan", "-no-color")
	w.run(t, "apply", "-auto-approve", "-no-color")
	owner := func(name string) string {
		_, mark, _ := strings.Cut(x.findMachine(t, name).Description, " ")
		of, _, _ := strings.Cut(mark, "/")
		return of
	}
	first := owner("old")
	w.configure(t, withoutOwner(x.config(imported+vm("new"))))
	w.run(t, "apply", "-auto-approve", "-no-color")
	if second := owner("new"); first == "" || second != first {
		t.Errorf("the imported VM belongs to %q, the new one to %q", first, second)
	}
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}

// TestAccWorkflowOwnerOfAdopted imports a VM host and a machine without an
// owner in the provider block. The owner that marks them is kept.
func TestAccWorkflowOwnerOfAdopted(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, address, made, adopted string }{
		"Host":    {"MAAS knows the VM host, and nobody has marked it.", hostAddress, vmHost("made", `machine = "node1"`), vmHost("kvm1", `machine = "node1"`, `adopt = true`)},
		"Machine": {"The machine is deployed, and nobody has marked it.", machineAddress, machineOnNode1(), machineOnNode1()},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			t.Log(tc.reason)
			x := newMetalTarget(t)
			newWorkspace(t, x.config(tc.made)).run(t, "apply", "-auto-approve", "-no-color")
			x.editMachine(t, "node1", sim.MachineEdit{OwnerData: &map[string]string{}})
			w := newWorkspace(t, withoutOwner(x.config(tc.adopted)))
			w.run(t, "import", "-no-color", tc.address, "node1")
			w.run(t, "apply", "-auto-approve", "-no-color")
			kept, err := os.ReadFile(filepath.Join(filepath.Dir(x.keyFile()), "maaslxd-owner"))
			if err != nil {
				t.Fatal(err)
			}
			owner, _, _ := strings.Cut(x.findMachine(t, "node1").OwnerData[engine.KeyData], "/")
			if owner == "" || owner != strings.TrimSpace(string(kept)) {
				t.Errorf("it is marked for %q, and the kept owner is %q", owner, kept)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
		})
	}
}

// TestAccWorkflowNames renames VMs so that each takes the name of another, in
// one apply, and reuses a former name.
func TestAccWorkflowNames(t *testing.T) {
	t.Parallel()
	list := func(names ...string) string {
		return fmt.Sprintf("resource \"maaslxd_vm\" \"test\" {\n  count = %d\n  name = [\"%s\"][count.index]\n  vm_host = \"lxd1\"\n  cores = 1\n  memory_mib = 1024\n}\noutput \"fqdns\" {\n  value = maaslxd_vm.test[*].fqdn\n}\n",
			len(names), strings.Join(names, `", "`))
	}
	cases := map[string]struct {
		reason       string
		before, then []string
	}{
		"Swap":  {"Two VMs swap their names.", []string{"fa", "fb", "fc"}, []string{"fb", "fa", "fc"}},
		"Shift": {"The first name is removed, so each VM takes the next name.", []string{"sa", "sb", "sc"}, []string{"sb", "sc"}},
		"Grow":  {"A new first name shifts the names of all VMs.", []string{"sb", "sc"}, []string{"sa", "sb", "sc"}},
		"Reuse": {"A new VM takes the former name of another one.", []string{"blue"}, []string{"blue-old", "blue"}},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t)
			w := newHomedWorkspace(t, withoutOwner(x.config(list(tc.before...))), filepath.Join(t.TempDir(), "state"))
			w.run(t, "apply", "-auto-approve", "-no-color")
			ids := map[int]string{}
			for n, name := range tc.before {
				ids[n] = x.findMachine(t, name).SystemID
			}
			w.configure(t, withoutOwner(x.config(list(tc.then...))))
			w.run(t, "apply", "-auto-approve", "-no-color")
			for n, name := range tc.then {
				m := x.findMachine(t, name)
				if had, ok := ids[n]; ok && m.SystemID != had {
					t.Errorf("%s\n%s is %s, want %s", tc.reason, name, m.SystemID, had)
				}
				if !strings.HasSuffix(strings.TrimSpace(m.Description), "/"+name) {
					t.Errorf("%s\n%s has the mark %q", tc.reason, name, m.Description)
				}
			}
			if have := x.instances(); len(have) != len(tc.then) {
				t.Errorf("%s\n%d VMs, want %d", tc.reason, len(have), len(tc.then))
			}
			w.run(t, "plan", "-detailed-exitcode", "-no-color")
			w.run(t, "destroy", "-auto-approve", "-no-color")
		})
	}
}
