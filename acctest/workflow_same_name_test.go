package acctest_test

import (
	"strings"
	"testing"
)

// TestAccWorkflowTwins gives two resources of one configuration the same name,
// as a copied block does. The plan says so before either is made.
func TestAccWorkflowTwins(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	host := func(label, machine string) string {
		return strings.Replace(vmHost("kvm1", `machine = "`+machine+`"`, deployNoble), `"test"`, `"`+label+`"`, 1)
	}
	for title, tc := range map[string]struct{ config, want string }{
		"VMs":      {vmNamed("a", "web") + vmNamed("b", "web"), "Cannot create VM web name: another resource of this configuration also creates VM web"},
		"VM hosts": {host("a", "node1") + host("b", "node2"), "Cannot create VM host kvm1 name: another resource of this configuration also creates VM host kvm1"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			newWorkspace(t, x.config(tc.config)).wantRefusedPlan(t, tc.want)
		})
	}
}

// TestAccWorkflowNameTaken plans a VM whose name a finished VM of the same
// owner has. The plan warns a state that lost that VM, but not one that
// replaces it.
func TestAccWorkflowNameTaken(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config(vmNamed("a", "web")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	const warning = "the VM web was made for this name earlier"

	if out := unwrapMessage(w.run(t, "plan", "-no-color", "-replace=maaslxd_vm.a")); strings.Contains(out, warning) {
		t.Errorf("what is replaced is in its own way:\n%s", out)
	}
	w.run(t, "taint", "maaslxd_vm.a")
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); strings.Contains(out, warning) || !strings.Contains(out, "must be replaced") {
		t.Errorf("what is tainted is in its own way:\n%s", out)
	}
	w.run(t, "state", "rm", "maaslxd_vm.a")
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern(`Warning: Cannot create VM web as things are ` + warning + ` import it by its system id`).MatchString(out) {
		t.Errorf("want a warning of the VM that the state lost, got:\n%s", out)
	}
}
