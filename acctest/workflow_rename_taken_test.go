package acctest_test

import (
	"strings"
	"testing"
)

// TestAccWorkflowRenameTaken renames a VM to the name of another one that keeps
// it. The plan warns, and the refused apply leaves the VM its former name.
func TestAccWorkflowRenameTaken(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	w := newWorkspace(t, x.config(vmNamed("a", "web-1")+vmNamed("b", "api-1")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	web, api := x.findMachine(t, "web-1").SystemID, x.findMachine(t, "api-1").SystemID

	w.configure(t, x.config(vmNamed("a", "api-1")+vmNamed("b", "api-1")))
	const taken = "VM api-1 as things are MAAS has a machine api-1 already system id "
	if out := unwrapMessage(w.run(t, "plan", "-no-color")); !wordsPattern("Warning: Cannot update " + taken + api).MatchString(out) {
		t.Errorf("want a warning of the VM that has the name, got:\n%s", out)
	}
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	text := func() string { return unwrapMessage(out.String()) }
	if err := cmd.Run(); err == nil || !wordsPattern("Error: Cannot update VM api-1 MAAS has a machine api-1 already").MatchString(text()) || strings.Contains(text(), "maaslxd-"+web) {
		t.Errorf("want the rename refused, got %v:\n%s", err, out)
	}
	if m := x.findMachine(t, "web-1"); m.SystemID != web || !strings.HasSuffix(strings.TrimSpace(m.Description), "/web-1") {
		t.Errorf("the VM was %s, and web-1 is %s, %q", web, m.SystemID, m.Description)
	}
	w.configure(t, x.config(vmNamed("a", "web-1")+vmNamed("b", "api-1")))
	w.wantEmptyPlan(t)

	for title, tc := range map[string]string{"swap": vmNamed("a", "api-1") + vmNamed("b", "web-1"), "destroy": vmNamed("a", "api-1")} {
		w.configure(t, x.config(tc))
		if out := unwrapMessage(w.run(t, "plan", "-no-color")); strings.Contains(out, "as things are") {
			t.Errorf("a %s frees the name, and the plan warns:\n%s", title, out)
		}
	}
	w.configure(t, x.config(vmNamed("a", "db-1")+vmNamed("b", "db-1")))
	w.wantRefusedPlan(t, "another resource of this configuration also becomes VM db-1")
}

// TestAccWorkflowRenameToStranger renames a VM to the name of a machine that the
// provider did not make. The plan fails.
func TestAccWorkflowRenameToStranger(t *testing.T) {
	t.Parallel()
	x := newTarget(t)
	x.makeUnmanagedVM(t, "api-1", 1)
	w := newWorkspace(t, x.config(vmNamed("a", "web-1")))
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, x.config(vmNamed("a", "api-1")))
	w.wantRefusedPlan(t, "Error: Cannot update VM api-1 MAAS has a machine api-1 already system id "+x.findMachine(t, "api-1").SystemID)
}
