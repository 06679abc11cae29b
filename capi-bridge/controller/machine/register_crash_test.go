package machine_test

import (
	"testing"

	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/maaslxd/maaslxd/acctest/crash"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestKilledRegistering kills the manager at each operation that registers or
// unregisters the LXD of a node. In between there is one VM host, and none in
// the end. The node is released once.
func TestKilledRegistering(t *testing.T) {
	t.Parallel()
	controllertest.CrashAtEach(t, func(t *testing.T, fate *crash.Plan) {
		runInFleet(t, quickModel(), func(t *testing.T, w *machineWorld) {
			id := w.makeNode("db", true)
			w.fate = fate
			w.restartManager()
			w.reconcileThroughCrashes("db", func() bool { return conditions.IsTrue(w.getMachine("db"), infrav1.LXDReadyCondition) })
			if got := w.maasMachine(id); got.StatusName != "Deployed" || got.HostedHosts != got.Hostname {
				t.Errorf("MAAS has %+v", got)
			}
			w.markDeleted("db")
			w.reconcileThroughCrashes("db", func() bool { return w.isGone("db") })
			if got := w.maasMachine(id); got.StatusName != "Ready" || got.HostedHosts != "" {
				t.Errorf("given back as %+v", got)
			}
		})
	}, "POST vm-hosts/", "DELETE vm-hosts/*/", "POST machines/*/ release")
}
