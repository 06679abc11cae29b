package acctest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// regionMark is the comment of the tag that identifies a MAAS.
func regionMark(t *testing.T, x *target) string {
	t.Helper()
	var tag struct{ Comment string }
	if err := json.Unmarshal(x.callMAAS(t, http.MethodGet, "tags/maaslxd-region/", ""), &tag); err != nil {
		t.Fatal(err)
	}
	mark, _, _ := strings.Cut(tag.Comment, " ")
	if len(mark) != 26 {
		t.Errorf("the tag's comment is %q, which begins with no mark", tag.Comment)
	}
	return mark
}

// TestAccWorkflowAnotherMAAS points a configuration at another MAAS, while the
// state's objects are in the former one. Nothing is forgotten, made or
// destroyed.
func TestAccWorkflowAnotherMAAS(t *testing.T) {
	t.Parallel()
	former, other := newSimulatedTarget(t), newSimulatedTarget(t)
	body := func(x *target, more ...string) string { return x.config(x.vm("web", more...)) }
	w := newWorkspace(t, body(former))
	w.run(t, "apply", "-auto-approve", "-no-color")
	made, mark := former.findMachine(t, "web"), regionMark(t, former)

	w.configure(t, body(other))
	for _, args := range [][]string{{"plan"}, {"apply", "-auto-approve"}, {"apply", "-auto-approve", "-refresh=false", "-destroy"}} {
		cmd, out := w.command(t.Context(), append(args, "-no-color")...)
		if err := cmd.Run(); err == nil || !wordsPattern("another MAAS "+mark+" MAASLXD_ACCEPT_MAAS=none").MatchString(unwrapMessage(out.String())) {
			t.Errorf("%v: want an error that names the mark and a way out, got %v\n%s", args, err, out)
		}
	}
	if n := len(other.sim.Instances()); n != 0 {
		t.Errorf("%d instances in the other MAAS", n)
	}

	// The former MAAS by another address.
	w.configure(t, strings.Replace(body(former), "127.0.0.1", "localhost", 1))
	if got := w.planActions(t); strings.Join(got, ",") != "no-op" {
		t.Errorf("by another address the plan is %v", got)
	}

	// A MAAS that lost its tags: the state accepts the new mark only when it is
	// told to.
	former.callMAAS(t, http.MethodDelete, "tags/maaslxd-region/", "")
	w.configure(t, body(former, `tags = ["new"]`))
	w.wantRefusedPlan(t, "another MAAS "+mark+" MAASLXD_ACCEPT_MAAS=none")
	accepting := w
	accepting.env = append(w.env[:len(w.env):len(w.env)], "MAASLXD_ACCEPT_MAAS=none")
	accepting.run(t, "apply", "-auto-approve", "-no-color")
	if again := regionMark(t, former); again == mark {
		t.Errorf("the mark is still %s", mark)
	}
	if got := w.planActions(t); strings.Join(got, ",") != "no-op" {
		t.Errorf("after that the plan is %v", got)
	}
	if now := former.findMachine(t, "web"); now.SystemID != made.SystemID {
		t.Errorf("another VM: %s, not %s", now.SystemID, made.SystemID)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if diff := cmp.Diff([]sim.Instance{}, former.sim.Instances()); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// TestAccWorkflowOtherUser plans, applies and destroys with the API key of a user who is no
// administrator. MAAS hides the machines of the administrator from that user, and nothing may
// leave the state.
func TestAccWorkflowOtherUser(t *testing.T) {
	t.Parallel()
	x := newMetalTarget(t)
	body := x.config(hostOnNode1() + testMachine("db", `machine = "node2"`, deployNoble) +
		"resource \"maaslxd_vm\" \"web\" {\n  name = \"web\"\n  vm_host = maaslxd_vm_host.test.id\n}\n")
	w := newWorkspace(t, body)
	w.run(t, "apply", "-auto-approve", "-no-color")
	had := w.run(t, "state", "list")

	w.configure(t, strings.Replace(body, x.key, sim.DefaultUserKey, 1))
	for _, args := range [][]string{{"plan"}, {"apply", "-auto-approve"}, {"destroy", "-auto-approve"}, {"destroy", "-auto-approve", "-refresh=false"}} {
		cmd, out := w.command(t.Context(), append(args, "-no-color")...)
		if err := cmd.Run(); err == nil || !wordsPattern(`MAAS shows no machine to the user who is no administrator MAAS_API_KEY terraform state rm`).MatchString(unwrapMessage(out.String())) {
			t.Errorf("%v: want a refusal that names the key, got %v:\n%s", args, err, out)
		}
	}
	if diff := cmp.Diff(had, w.run(t, "state", "list")); diff != "" {
		t.Errorf("the state (-before +after):\n%s", diff)
	}
	w.configure(t, body)
	w.wantEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve", "-no-color")
}
