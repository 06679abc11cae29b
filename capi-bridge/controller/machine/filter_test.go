package machine_test

import (
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestWatchFilterOfMachines: a machine is the manager's whose label it carries,
// whatever wakes it: its own looks, the poller, or a Machine of another label.
func TestWatchFilterOfMachines(t *testing.T) {
	t.Parallel()
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.WatchFilter = "green"
		label := func(name, value string) {
			m := w.getMachine(name)
			m.Labels[clusterv1.WatchLabel] = value
			if err := w.client.Update(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		untouched := func(name string) {
			t.Helper()
			before, calls := w.getMachine(name), w.sim.Journal().Total()
			time.Sleep(time.Minute)
			if res := w.reconcileOnce(name); res != (ctrl.Result{}) {
				t.Errorf("%s comes back: %+v", name, res)
			}
			if n := w.sim.Journal().Total() - calls; n > 0 || w.getMachine(name).ResourceVersion != before.ResourceVersion {
				t.Errorf("%s is somebody else's, and was written to, or looked at by %d calls", name, n)
			}
		}
		w.addMachine("node", controllertest.VMMachineSpec(), func(machine *clusterv1.Machine, _ *infrav1.MaasMachine) {
			machine.Labels = map[string]string{clusterv1.ClusterNameLabel: fleetCluster, clusterv1.WatchLabel: "green"}
		})
		untouched("node")
		label("node", "green")
		w.reconcileUntilReady("node")
		label("node", "blue")
		untouched("node")
		w.markDeleted("node")
		untouched("node")
		label("node", "green")
		w.reconcileUntilGone("node")
	})
}
