package acctest_test

import (
	"syscall"
	"testing"
)

// TestAccWorkflowLeftBehind kills an apply that makes a second VM, and
// destroys. The plan of the destroy says what it leaves behind. No other plan
// says so, and an apply resumes the VM.
func TestAccWorkflowLeftBehind(t *testing.T) {
	t.Parallel()
	const says = "This destroy leaves what an earlier apply began"
	x := newTarget(t, slowTransitions)
	first, both := x.config(vmNamed("a", "web")), x.config(vmNamed("a", "web")+vmNamed("b", "late", x.deploy()))
	w := newWorkspace(t, first)
	w.run(t, "apply", "-auto-approve", "-no-color")
	w.configure(t, both)
	killed := func() {
		t.Helper()
		x.holdMachine("late")
		cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		x.awaitDeploying(t, "late")
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatalf("the run ended well before it was killed:\n%s", out)
		}
		x.resumeMachines("late")
	}
	silent := func(args ...string) {
		t.Helper()
		if out := w.run(t, append(args, "-no-color")...); wordsPattern(says).MatchString(unwrapMessage(out)) {
			t.Errorf("%v warns:\n%s", args, out)
		}
	}
	killed()
	left := x.findMachine(t, "late").SystemID
	if out := w.run(t, "plan", "-destroy", "-no-color"); !wordsPattern(says + " VM late " + left + " Apply first").MatchString(unwrapMessage(out)) {
		t.Errorf("want a warning that names late (%s):\n%s", left, out)
	}
	silent("plan")
	w.configure(t, first)
	silent("plan")
	w.configure(t, both)
	silent("apply", "-auto-approve")
	if id := x.findMachine(t, "late").SystemID; id != left {
		t.Errorf("late is %s, and was %s", id, left)
	}
	silent("destroy", "-auto-approve")
	if err := x.checkVMGone("late")(nil); err != nil {
		t.Error(err)
	}
}
