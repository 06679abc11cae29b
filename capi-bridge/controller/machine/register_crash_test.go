package machine_test

import (
	"testing"

	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/maaslxd/maaslxd/acctest/mortal"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestKilledRegistering kills the manager at each thing that it does to register
// the LXD of a node and to take it away again: there is one VM host in between, and
// none in the end, and the node is released once.
func TestKilledRegistering(t *testing.T) {
	t.Parallel()
	controllertest.DieOfEach(t, func(t *testing.T, fate *mortal.Fate) {
		inFleet(t, quickModel(), func(t *testing.T, w *machineWorld) {
			id := w.node("db", true)
			w.fate = fate
			w.restart()
			w.live("db", func() bool { return conditions.IsTrue(w.get("db"), infrav1.LXDReadyCondition) })
			if got := w.known(id); got.StatusName != "Deployed" || got.HostedHosts != got.Hostname {
				t.Errorf("MAAS has %+v", got)
			}
			w.markDeleted("db")
			w.live("db", func() bool { return w.gone("db") })
			if got := w.known(id); got.StatusName != "Ready" || got.HostedHosts != "" {
				t.Errorf("given back as %+v", got)
			}
		})
	}, "POST vm-hosts/", "DELETE vm-hosts/*/", "POST machines/*/ release")
}
