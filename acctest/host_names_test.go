package acctest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAccHostNamesSwapped: two hosts swap their names in place. A VM that names
// its host by id stays there. In between, MAAS allows two hosts with one name.
func TestAccHostNamesSwapped(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	named := func(first, second string) string {
		one := func(label, name, machine string) string {
			return fmt.Sprintf("resource \"maaslxd_vm_host\" %q {\n  name = %q\n  machine = %q\n  %s\n}\n", label, name, machine, deployNoble)
		}
		return x.config(one("first", first, "node1") + one("second", second, "node2") +
			"resource \"maaslxd_vm\" \"web\" {\n  name = \"tf-acc-web\"\n  vm_host = tostring(maaslxd_vm_host.first.vm_host_id)\n}\n")
	}
	w := newWorkspace(t, named("a", "b"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	before := x.instances()
	w.configure(t, named("b", "a"))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if diff := cmp.Diff(before, x.instances()); diff != "" || len(before) != 1 {
		t.Errorf("the VM was touched (-before +after):\n%s", diff)
	}
	if first, second := x.findMachine(t, "node1").HostedHosts, x.findMachine(t, "node2").HostedHosts; first != "b" || second != "a" {
		t.Errorf("the hosts are called %s and %s", first, second)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkReady("node1", "node2")(nil); err != nil {
		t.Error(err)
	}
}

// TestAccHostNameLeft renames a host in place, and gives its former name to
// another host: in the same apply, and in the next.
func TestAccHostNameLeft(t *testing.T) {
	t.Parallel()
	renamed := vmHost("kvm0", `machine = "node1"`, deployNoble)
	heir := "resource \"maaslxd_vm_host\" \"heir\" {\n  name = \"kvm1\"\n  machine = \"node2\"\n  " + deployNoble + "\n}\n"
	for name, steps := range map[string][]string{
		"AtOnce":   {renamed + heir},
		"InTwo":    {renamed, renamed + heir},
		"Replaced": {heir}, // the first host is removed in between
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			w := newWorkspace(t, x.config(hostOnNode1()))
			w.run(t, "apply", "-auto-approve", "-no-color")
			for _, step := range steps {
				w.configure(t, x.config(step))
				w.run(t, "apply", "-auto-approve", "-no-color")
				w.wantEmptyPlan(t)
			}
			heir := x.findMachine(t, "node2")
			if heir.StatusName != "Deployed" || !isLXDColumn() && heir.HostedHosts != "kvm1" { // a MAAS without VM hosts has no names for them
				t.Errorf("node2 is %s, and the host on it is called %q", heir.StatusName, heir.HostedHosts)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
			if err := x.checkReady("node1", "node2")(nil); err != nil {
				t.Error(err)
			}
		})
	}
}
