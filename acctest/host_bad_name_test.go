package acctest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAccHostNamesSwapped: two hosts swap their names in place, and a VM that
// goes by its host's id stays where it is. MAAS lets hosts have one name in
// between.
func TestAccHostNamesSwapped(t *testing.T) {
	t.Parallel()
	x := newMetal(t)
	named := func(first, second string) string {
		one := func(label, name, machine string) string {
			return fmt.Sprintf("resource \"maaslxd_vm_host\" %q {\n  name = %q\n  machine = %q\n  %s\n}\n", label, name, machine, noble)
		}
		return x.config(one("first", first, "node1") + one("second", second, "node2") +
			"resource \"maaslxd_vm\" \"web\" {\n  name = \"tf-acc-web\"\n  vm_host = tostring(maaslxd_vm_host.first.vm_host_id)\n}\n")
	}
	w := newWorkspace(t, named("a", "b"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	before := x.sim.Instances()
	w.configure(t, named("b", "a"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if diff := cmp.Diff(before, x.sim.Instances()); diff != "" || len(before) != 1 {
		t.Errorf("the VM was touched (-before +after):\n%s", diff)
	}
	if first, second := x.machine(t, "node1").HostedHosts, x.machine(t, "node2").HostedHosts; first != "b" || second != "a" {
		t.Errorf("the hosts are called %s and %s", first, second)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccHostNameLeft: a host that was renamed is still known by the name that
// it was made under, which a new one cannot take. Once it is gone, one can.
func TestAccHostNameLeft(t *testing.T) {
	t.Parallel()
	x := newMetal(t)
	w := newWorkspace(t, x.config(node1()))
	w.run(t, "apply", "-auto-approve", "-no-color")
	renamed := vmHost("kvm0", `machine = "node1"`, noble)
	w.configure(t, x.config(renamed))
	w.run(t, "apply", "-auto-approve", "-no-color")
	heir := "resource \"maaslxd_vm_host\" \"heir\" {\n  name = \"kvm1\"\n  machine = \"node2\"\n  " + noble + "\n}\n"
	w.configure(t, x.config(renamed+heir))
	before := x.everything()
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil || !words("Cannot create VM host kvm1 name: the machine node1 was deployed for this name a host that was renamed since, choose another name").MatchString(unwrapped(out.String())) {
		t.Errorf("want it refused, got %v:\n%s", err, out)
	}
	if diff := cmp.Diff(before, x.everything()); diff != "" {
		t.Errorf("it changed something (-before +after):\n%s", diff)
	}
	for _, body := range []string{"", heir} {
		w.configure(t, x.config(body))
		w.run(t, "apply", "-auto-approve", "-no-color")
	}
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2")(nil); err != nil {
		t.Error(err)
	}
}
