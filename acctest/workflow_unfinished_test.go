package acctest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccWorkflowUnfinishedFails: with this setting an apply fails where a VM
// is not finished in time. Nothing is lost, because the state has the VM. After
// an untaint the next apply goes on with it. Otherwise the next plan replaces
// it.
func TestAccWorkflowUnfinishedFails(t *testing.T) {
	t.Parallel()
	x := newTarget(t, endlessTransitions)
	x.holdAllMachines()
	name := x.name()
	w := newWorkspace(t, x.configWith(fmt.Sprintf("poll_interval = %q\n  on_unfinished = \"error\"", x.pollInterval()), x.vm(name, x.deploy(), createWithin15s)))
	cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
	if err := cmd.Run(); err == nil || !wordsPattern("Error: VM "+name+" is not finished: Commissioning timeouts.create It is Commissioning since for MAAS's last event: terraform untaint").MatchString(unwrapMessage(out.String())) {
		t.Fatalf("want an apply that fails and says what to do, got %v:\n%s", err, out)
	}
	if strings.Contains(unwrapMessage(out.String()), "no answer in time") {
		t.Errorf("MAAS answered all the time, got:\n%s", out)
	}
	if got := w.run(t, "plan", "-no-color"); !wordsPattern("maaslxd_vm.test is tainted must be replaced").MatchString(got) {
		t.Errorf("want the plan to replace it, got:\n%s", got)
	}
	id := x.findMachine(t, name).SystemID
	w.run(t, "untaint", "maaslxd_vm.test")
	go x.finishTransitions(t, name, "Commissioning", "Deploying")
	w.run(t, "apply", "-auto-approve", "-no-color")
	if m := x.findMachine(t, name); m.SystemID != id || m.StatusName != "Deployed" {
		t.Errorf("want %s Deployed, got %s, which is %s", id, m.SystemID, m.StatusName)
	}
	w.run(t, "plan", "-detailed-exitcode", "-no-color")
	if n, counted := x.countCalls(t, composeRoute()); counted && n != 1 {
		t.Errorf("the VM was composed %d times", n)
	}
	w.run(t, "destroy", "-auto-approve", "-no-color")
	if err := x.checkVMGone(name)(nil); err != nil {
		t.Error(err)
	}
}

// TestAccWorkflowUnfinishedMetalFails: with this setting an apply also fails where bare metal,
// as a VM host or as a machine, is not finished in time.
func TestAccWorkflowUnfinishedMetalFails(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, body, address, want string
	}{
		"Host":    {"The deployment of a VM host is not finished in time.", hostOnNode1(createWithin6s), hostAddress, "VM host kvm1 on machine node1 is not finished: Deploying"},
		"Machine": {"The deployment of a machine is not finished in time.", machineOnNode1(createWithin6s), machineAddress, "Machine node1 is not finished: Deploying"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t, func(m *sim.Model) { m.Latency.Deploy = 12 * time.Second })
			w := newWorkspace(t, x.config(tc.body, `on_unfinished = "error"`))
			cmd, out := w.command(t.Context(), "apply", "-auto-approve", "-no-color")
			want := tc.want + " timeouts.create It is Deploying since for MAAS's last event: terraform untaint"
			if err := cmd.Run(); err == nil || !wordsPattern(want).MatchString(unwrapMessage(out.String())) {
				t.Fatalf("%s\nwant an apply that fails with the words %q, got %v:\n%s", tc.reason, want, err, out)
			}
			w.run(t, "untaint", tc.address)
			w.run(t, "apply", "-auto-approve", "-no-color")
			if m := x.findMachine(t, "node1"); m.StatusName != "Deployed" {
				t.Errorf("it is %s", m.StatusName)
			}
			if n, counted := x.countDeployments(); counted && n != 1 {
				t.Errorf("it was deployed %d times", n)
			}
			w.run(t, "destroy", "-auto-approve", "-no-color")
		})
	}
}
