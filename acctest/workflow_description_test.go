package acctest_test

import (
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// TestAccWorkflowDescription describes a VM that an operator describes in MAAS,
// too. The operator's text is drift, and the mark always stays.
func TestAccWorkflowDescription(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	vm := func(lines ...string) string { return x.config(x.vm(name, lines...)) }
	w := newWorkspace(t, vm(`description = "see maaslxd-0123456789ab"`))
	w.wantCommandFailure(t, `Words that begin with "maaslxd-" are marks`, "plan", "-no-color")
	var mark string
	apply := func(action, want string, lines ...string) {
		t.Helper()
		w.configure(t, vm(lines...))
		if got := joinActions(w.planActions(t)); got != action {
			t.Errorf("the plan of %q wants %s, not %s", lines, got, action)
		}
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.run(t, "plan", "-detailed-exitcode", "-no-color")
		described := x.findMachine(t, name).Description
		if got := engine.DescriptionText(described); got != want {
			t.Errorf("%q: the description says %q, want %q", lines, got, want)
		}
		owner, finished := engine.MarkerIn(described)
		if mark == "" {
			mark = owner
		}
		if owner == "" || owner != mark || !finished {
			t.Errorf("%q: the mark %q became %q, finished %v", lines, mark, owner, finished)
		}
	}
	apply("create", "Books of the shop.\n\nAsk Ana.", "description = <<-EOT\n    Books of the shop.\n\n    Ask Ana.\n  EOT")
	apply("update", "Books", `description = "Books"`)
	x.editMachine(t, name, sim.MachineEdit{Description: new(strings.Replace(x.findMachine(t, name).Description, "Books", "Scratch", 1))})
	apply("update", "Books", `description = "Books"`)
	apply("no-op", "Books")
	apply("update", "", `description = ""`)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
