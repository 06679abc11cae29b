package cluster_test

import (
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestMachinesThatAreDownLeaveTheName: a client that gets the address of a machine which
// is off or Broken waits in vain. So the name has the others', as long as one serves.
func TestMachinesThatAreDownLeaveTheName(t *testing.T) {
	t.Parallel()
	w := newClusterWorld(t, sim.Model{}, nil)
	addresses := map[string]string{"m1": "10.77.0.11", "m2": "10.77.0.12", "m3": "10.77.0.13"}
	for name, ip := range addresses {
		w.addWithProviderID(name, clusterMachine{addresses: []string{ip}})
	}
	down := func(name, reason string) func() { return func() { w.setLost(name, reason, addresses[name]) } }
	up := func(name string) func() {
		return func() { w.setMachineStatus(name, clusterMachine{addresses: []string{addresses[name]}}) }
	}
	steps := []struct {
		reason string
		do     func()
		want   string
	}{
		{"All serve.", func() {}, "10.77.0.11 10.77.0.12 10.77.0.13"},
		{"One is switched off.", down("m1", infrav1.MachinePoweredOffReason), "10.77.0.12 10.77.0.13"},
		{"One is Broken.", down("m2", infrav1.MachineStateUndefinedReason), "10.77.0.13"},
		{"It comes back.", up("m1"), "10.77.0.11 10.77.0.13"},
		{"It goes again.", down("m1", infrav1.MachinePoweredOffReason), "10.77.0.13"},
		{"All seem to be down, so nobody knows who serves.", down("m3", infrav1.MachinePoweredOffReason), "10.77.0.11 10.77.0.12 10.77.0.13"},
		{"One of them is lost, and its address may be anybody's.", down("m2", infrav1.ConflictReason), "10.77.0.11 10.77.0.13"},
		{"One is repaired.", up("m3"), "10.77.0.13"},
		{"One was not seen again yet after a move, and its address may be in the record.", func() { w.setMachineStatus("m3", clusterMachine{}) }, "10.77.0.11 10.77.0.13"},
	}
	for _, step := range steps {
		step.do()
		w.reconcileUntilSteady()
		if got := w.publishedAddresses(testHost); got != step.want {
			t.Fatalf("%s\nthe name points to %s, want %s", step.reason, got, step.want)
		}
	}
}
