package acctest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestAccWorkflowAnnotations annotates a VM that an operator annotates, too.
// The operator's keys stay. Ours come back after a release, and go when their
// lines are removed.
func TestAccWorkflowAnnotations(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	name := x.name()
	vm := func(line string) string { return x.config(x.vm(name, line, x.deploy())) }
	w := newWorkspace(t, x.config(x.vm(name, `annotations = { app = "web" }`)))
	w.wantCommandFailure(t, `A VM that is not deployed cannot be annotated Add deploy`, "plan", "-no-color")
	w.configure(t, vm(`annotations = { "maaslxd-key" = "x" }`))
	w.wantCommandFailure(t, `Keys that begin with "maaslxd-" are marks`, "plan", "-no-color")
	operated := func(key, value string) {
		t.Helper()
		x.postForm(t, "machines/"+x.findMachine(t, name).SystemID+"/?op=set_workload_annotations", map[string][]string{key: {value}})
	}
	apply := func(line, action string, want map[string]string) {
		t.Helper()
		w.configure(t, vm(line))
		if got := joinActions(w.planActions(t)); got != action {
			t.Errorf("the plan of %s wants %s, not %s", line, got, action)
		}
		w.run(t, "apply", "-auto-approve", "-no-color")
		w.run(t, "plan", "-detailed-exitcode", "-no-color")
		if diff := cmp.Diff(want, x.findMachine(t, name).OwnerData, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: owner data (-want +got):\n%s", line, diff)
		}
	}
	type data = map[string]string
	const two = `annotations = { app = "web", "team.example" = "a b" }`
	apply(two, "create", data{"app": "web", "team.example": "a b"})
	operated("theirs", "z")
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	operated("app", "db")
	apply(two, "update", data{"app": "web", "team.example": "a b", "theirs": "z"})
	apply(`annotations = { app = "db" }`, "update", data{"app": "db", "theirs": "z"})
	x.postForm(t, "machines/"+x.findMachine(t, name).SystemID+"/?op=release", nil)
	x.waitUntil(t, name+" is Ready", func() bool { return x.statusOf(name) == "Ready" })
	apply(`annotations = { app = "db" }`, "update", data{"app": "db"})
	apply(``, "update", nil)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
