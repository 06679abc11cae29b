package acctest_test

import (
	"net/http"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestAccWorkflowTaintedUnanswered plans a tainted object after MAAS has not answered the check of
// a new machine. Terraform plans the object as new, but the apply would destroy it first. So the
// plan fails, and the object stays.
func TestAccWorkflowTaintedUnanswered(t *testing.T) {
	t.Parallel()
	const after = `depends_on = [maaslxd_machine.first]`
	for title, tc := range map[string]struct {
		address, object string
		config          func(lines ...string) string
	}{
		"VM": {"maaslxd_vm.test", "VM web", func(lines ...string) string {
			return hostOnNode1() + vmOnTestHost("web", append(lines, deployNoble)...)
		}},
		"Host":    {hostAddress, "VM host kvm1", hostOnNode1},
		"Machine": {machineAddress, "machine db", machineOnNode1},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			x := newMetalTarget(t)
			w := newWorkspace(t, x.config(tc.config()))
			w.run(t, "apply", "-auto-approve", "-no-color")
			w.run(t, "taint", tc.address)
			w.configure(t, x.config(tc.config(after)+labelledMachine("first", "first", `machine = "node2"`, deployNoble)))
			x.simulatorOrSkip().AddFault(sim.Fault{Method: http.MethodGet, Path: "boot-resources/", Kind: sim.FaultStatus, Status: http.StatusServiceUnavailable})
			w.wantCommandFailure(t, "Cannot replace "+tc.object+" before "+tc.object+" is destroyed Plan again when MAAS answers", "apply", "-auto-approve", "-no-color")
			x.simulatorOrSkip().ClearFaults()
			if m := x.findMachine(t, "node1"); m.StatusName != "Deployed" {
				t.Errorf("the machine was released: %+v", m)
			}
			w.run(t, "untaint", tc.address)
			w.configure(t, x.config(tc.config()))
			w.wantEmptyPlan(t)
		})
	}
}
