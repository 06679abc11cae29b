package acctest_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// movedBlock moves all of an incumbent's resource "vm" to maaslxd_vm.NAME.
func movedBlock(kind, name string) string {
	return fmt.Sprintf("moved {\n  from = %s.vm\n  to   = maaslxd_vm.%s\n}\n", kind, name)
}

// movedVMs is a resource of VMs by name and host, as they were composed and
// deployed.
func movedVMs(label string, hosts map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		fmt.Fprintf(&text, "    %s = %q\n", name, hosts[name])
	}
	return fmt.Sprintf(`resource "maaslxd_vm" %q {
  for_each = {
%s  }
  name    = each.key
  vm_host = each.value
  deploy  = { image = "ubuntu/noble" }
}
`, label, text.String())
}

// countChanges counts the calls that change something, by route.
func countChanges(j sim.Journal) map[string]int {
	made := map[string]int{}
	for _, r := range j.Routes {
		if !strings.HasPrefix(r.Route, "GET ") {
			made[r.Route] = r.Calls
		}
	}
	return made
}

// TestAccWorkflowMoveThenChange moves a VM, changes it in place, and destroys
// it. It belongs to us like an imported one.
func TestAccWorkflowMoveThenChange(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"maas_instance", "maas_vm_host_machine", "lxd_instance"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			x := newSimulatedTarget(t)
			hosts := map[string]string{"web": "lxd1"}
			made := x.composeAndDeploy(t, hosts)["web"]
			w := newIncumbentWorkspace(t)
			w.writeFile(t, "terraform.tfstate", incumbentState(t, incumbent{kind, "web", made.incumbentAttributes(kind)}))
			config := movedVMs("vm", hosts) + movedBlock(kind, "vm")
			w.configureWithIncumbents(t, x.config(strings.Replace(config, "  vm_host =", "  tags = [\"moved\"]\n  vm_host =", 1)))
			out := unwrapMessage(w.run(t, "apply", "-auto-approve", "-no-color"))
			if !wordsPattern("0 added, 1 changed, 0 destroyed").MatchString(out) {
				t.Errorf("want one change in place:\n%s", out)
			}
			w.wantEmptyPlan(t)
			if m := x.findMachine(t, "web"); m.SystemID != made.SystemID || !slices.Contains(m.Tags, "moved") {
				t.Errorf("it is %+v", m)
			}
			if n := x.simulatorOrSkip().Journal().Count(deployRoute); n != 1 {
				t.Errorf("it was deployed %d times", n)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkVMGone("web")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAccWorkflowMoveRefused moves objects that are not, or may not be, VMs of
// this MAAS. The plan says so, and neither MAAS nor the state changes.
func TestAccWorkflowMoveRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, kind string
		changed      map[string]any // attributes of the state
		flags        []string
		want         string
	}{
		"OtherMAAS":  {reason: "The object is in another MAAS, and the provider does not make it again.", kind: "maas_instance", changed: map[string]any{"id": "zzzzzz"}, want: "MAAS knows no machine zzzzzz"},
		"BareMetal":  {reason: "The machine of the instance is bare metal and not a VM.", kind: "maas_instance", changed: map[string]any{"id": "metal"}, want: "is not a VM on a VM host"},
		"OtherMAC":   {reason: "The machine in MAAS has the same name but another MAC address.", kind: "lxd_instance", changed: map[string]any{"mac_address": "00:16:3e:ff:ff:ff"}, want: "MAAS knows 0 machines web with the MAC address"},
		"OtherName":  {reason: "MAAS has no machine for the instance.", kind: "lxd_instance", changed: map[string]any{"name": "stray", "mac_address": nil}, want: "MAAS knows 0 machines stray"},
		"Project":    {reason: "The instance is in another LXD project than the VM in MAAS.", kind: "lxd_instance", changed: map[string]any{"project": "elsewhere"}, want: `and the instance in "elsewhere"`},
		"Container":  {reason: "MAAS makes no containers.", kind: "lxd_instance", changed: map[string]any{"type": "container"}, want: "is a container"},
		"Unseen":     {reason: "Without a refresh, the state lacks all attributes, and the plan would change all of them.", kind: "maas_instance", flags: []string{"-refresh=false"}, want: "Plan without -refresh=false"},
		"UnseenGone": {reason: "Without a refresh, nobody knows which VM a destroy would delete.", kind: "maas_instance", flags: []string{"-refresh=false", "-destroy"}, want: "Plan without -refresh=false"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newSimulatedTarget(t, func(m *sim.Model) {
				m.Machines = append(m.Machines, sim.MachineModel{Hostname: "metal", Cores: 4, MemoryMiB: 8192})
			})
			hosts := map[string]string{"web": "lxd1"}
			attributes := x.composeAndDeploy(t, hosts)["web"].incumbentAttributes(tc.kind)
			maps.Copy(attributes, tc.changed)
			if attributes["id"] == "metal" {
				attributes["id"] = x.findMachine(t, "metal").SystemID
			}
			w := newIncumbentWorkspace(t)
			w.writeFile(t, "terraform.tfstate", incumbentState(t, incumbent{tc.kind, "web", attributes}))
			w.configureWithIncumbents(t, x.config(movedVMs("vm", hosts)+movedBlock(tc.kind, "vm")))
			x.simulatorOrSkip().ResetJournal()
			cmd, out := w.command(t.Context(), append([]string{"plan", "-no-color"}, tc.flags...)...)
			if err := cmd.Run(); err == nil || !strings.Contains(unwrapMessage(out.String()), tc.want) {
				t.Errorf("%s\nwant %q, got %v:\n%s", tc.reason, tc.want, err, out)
			}
			for route, calls := range countChanges(x.simulatorOrSkip().Journal()) {
				t.Errorf("%s\n%s was called %d times", tc.reason, route, calls)
			}
		})
	}
}

// removeMoved takes the moved objects out of the state by the command of the guide.
func (w workspace) removeMoved(t *testing.T) {
	t.Helper()
	tools := t.TempDir()
	writeStandIn(t, tools, "terraform", fmt.Sprintf("exec '%s' \"$@\"", w.cli.Path))
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", blockOf(t, migratingGuide, shellBlocks, "Give them back"))
	cmd.Dir, cmd.Env = w.dir, append(w.env, "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := strings.Fields(w.run(t, "state", "list")); len(got) != 0 {
		t.Fatalf("the state still has %d objects: %q", len(got), got)
	}
}

// TestAccWorkflowMoveGuide does what the guide says, there and both ways back.
func TestAccWorkflowMoveGuide(t *testing.T) {
	t.Parallel()
	move := configurationOf(t, migratingGuide, "Move the VMs")
	resourceAlone, _, _ := strings.Cut(move, "moved {")
	cases := map[string]struct {
		reason, body string
		kinds        []string
	}{
		"MAAS": {reason: "Canonical's provider has two resources for one VM.", body: move, kinds: []string{"maas_vm_host_machine", "maas_instance"}},
		"LXD":  {reason: "The provider finds an LXD instance in MAAS by name and MAC address.", body: resourceAlone + configurationOf(t, migratingGuide, "Move instances of LXD"), kinds: []string{"lxd_instance"}},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newSimulatedTarget(t)
			made := x.composeAndDeploy(t, map[string]string{"web": "lxd1", "db": "lxd2"})
			var vms []incumbent
			for _, kind := range tc.kinds {
				vms = append(vms, incumbent{kind, "web", made["web"].incumbentAttributes(kind)}, incumbent{kind, "db", made["db"].incumbentAttributes(kind)})
			}
			w := newIncumbentWorkspace(t)
			w.writeFile(t, "terraform.tfstate", incumbentState(t, vms...))
			w.writeFile(t, "before.tfstate", w.run(t, "state", "pull"))
			w.configureWithIncumbents(t, x.config(tc.body))
			if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern("0 to add").MatchString(out) || !wordsPattern("0 to destroy").MatchString(out) {
				t.Errorf("%s\nthe plan does more than to move:\n%s", tc.reason, out)
			}
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.configure(t, x.config(resourceAlone)) // without the old providers
			w.wantEmptyPlan(t)
			w.configureWithIncumbents(t, x.config(""))
			w.removeMoved(t) // there are no VM hosts, and the command removes what there is
			w.run(t, "state", "push", "-force", "before.tfstate")
			if got := strings.Fields(w.run(t, "state", "list")); len(got) != len(vms) {
				t.Errorf("%s\nthe state pushed has %q", tc.reason, got)
			}
			if diff := cmp.Diff(made, x.machineRecords(t)); diff != "" {
				t.Errorf("%s\nmachines (-before +after):\n%s", tc.reason, diff)
			}
		})
	}
}
