package controller_test

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestNoVMOfOthersIsDeleted: a VM that is somebody else's by now stays, also
// where the removal was held up before, for whatever reason.
func TestNoVMOfOthersIsDeleted(t *testing.T) {
	cases := map[string]struct {
		reason string // why the removal was held up
		fault  *sim.Fault
	}{
		"AtOnce":      {reason: "Nothing held it up."},
		"MAASWasAway": {reason: "MAAS did not answer at first.", fault: &sim.Fault{Kind: sim.FaultStatus, Status: 503}},
		"MAASRefused": {reason: "MAAS did not take the key at first.", fault: &sim.Fault{Kind: sim.FaultStatus, Status: 401}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
				w.add("web", vmMachine(), nil)
				id := *w.ready("web").Spec.SystemID
				w.edit(id, sim.MachineEdit{Description: ptr.To("maaslxd-0123456789ab somebody/else")})
				w.markDeleted("web")
				if tc.fault != nil {
					fault := w.sim.AddFault(*tc.fault)
					w.once("web")
					w.once("web")
					w.sim.RemoveFault(fault)
				}
				w.told()
				w.untilGone("web")
				if told := strings.Join(w.told(), "\n"); !strings.Contains(told, id+") is somebody else's by now") {
					t.Errorf("nobody is told that it stays: %s", told)
				}
				if got := w.known(id); got.StatusName != "Deployed" || len(w.sim.Instances()) != 1 {
					t.Errorf("%s Somebody else's VM is %+v, in LXD %v", tc.reason, got, w.sim.Instances())
				}
			})
		})
	}
}
