package machine_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/maaslxd/maaslxd/acctest/crash"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestKilledAnywhere kills the manager once at each call of MAAS, each write to
// the API server and each write to the ledger in the life of a machine. The
// result must be the same as without a kill: one VM or one machine, Ready, and
// nothing left in the end. The incumbent left a VM behind when it died between
// compose and patch.
//
// The first life has no kill. It shows the operations, and must contain those
// that every such machine needs.
func TestKilledAnywhere(t *testing.T) {
	kinds := map[string]struct {
		spec   infrav1.MaasMachineSpec
		hosts  bool
		reason string
		must   []string
	}{
		"VM":        {controllertest.VMMachineSpec(), false, infrav1.ReadyReason, []string{"ledger: place", "POST vm-hosts/*/ compose", "POST machines/*/ deploy", "DELETE machines/*/", "ledger: drop"}},
		"BareMetal": {controllertest.MetalMachineSpec(), false, infrav1.ReadyReason, []string{"POST machines/ allocate", "POST machines/*/ deploy", "POST machines/*/ release"}},
		"Host":      {controllertest.MetalMachineSpec(), true, infrav1.LXDReadyReason, []string{"POST machines/ allocate", "POST machines/*/ deploy", "POST machines/*/ release"}},
	}
	for name, tc := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := func(t *testing.T, fate *crash.Plan) {
				runInFleet(t, quickModel(), func(t *testing.T, w *machineWorld) {
					if tc.hosts {
						w.changeCluster(func(c *infrav1.MaasCluster) { c.Spec.LXDControlPlaneCluster = ptr.To(true) })
					}
					w.fate = fate
					w.restartManager()
					w.createAndDelete(tc.spec, tc.reason)
				})
			}
			controllertest.CrashAtEach(t, live, tc.must...)
		})
	}
}

// quickModel is a MAAS whose machines are in each state for one look or two.
func quickModel() sim.Model {
	model := machineModel()
	model.Latency = sim.Latency{Compose: time.Second, Commission: 6 * time.Second, Deploy: 6 * time.Second, Release: 3 * time.Second}
	return model
}

// createAndDelete makes a machine and deletes it.
func (w *machineWorld) createAndDelete(spec infrav1.MaasMachineSpec, reason string) {
	w.t.Helper()
	w.addMachine("web", spec, nil)
	named := func(m *infrav1.MaasMachine) bool { // what is written down of a VM once it is Ready
		return m.Status.LXDProject != nil || spec.ProvisioningMode == nil
	}
	there := func(m *infrav1.MaasMachine) bool {
		return m.Status.Ready && named(m) && slices.ContainsFunc(m.Status.Conditions, func(c metav1.Condition) bool { return c.Reason == reason })
	}
	w.reconcileThroughCrashes("web", func() bool { return there(w.getMachine("web")) })
	m := w.reconcileUntilReady("web")
	if made := len(w.sim.Instances()) + countAcquiredMetal(w.sim); made != 1 {
		w.t.Errorf("%d machines were made: %v", made, w.sim.Instances())
	}
	if got := w.maasMachine(*m.Spec.SystemID); got.StatusName != "Deployed" {
		w.t.Errorf("MAAS has %+v", got)
	}
	w.markDeleted("web")
	w.reconcileThroughCrashes("web", func() bool { return w.isGone("web") })
	if left := len(w.sim.Instances()) + countAcquiredMetal(w.sim); left != 0 {
		w.t.Errorf("%d machines are left: %v", left, w.sim.Instances())
	}
	if rows, err := w.ledger.Rows(w.t.Context()); err != nil || len(rows) > 0 {
		w.t.Errorf("left in the ledger: %v, %v", rows, err)
	}
}

// countAcquiredMetal counts bare metal that is not free.
func countAcquiredMetal(s *sim.Sim) int {
	n := 0
	for _, m := range s.Machines() {
		if m.Host == "" && !slices.Contains([]string{"host1", "host2"}, m.Hostname) && m.StatusName != "Ready" {
			n++
		}
	}
	return n
}

// reconcileThroughCrashes reconciles until done, with a new manager each time that one dies.
func (w *machineWorld) reconcileThroughCrashes(name string, done func() bool) {
	w.t.Helper()
	for begun := time.Now(); !done(); {
		if time.Since(begun) > 30*time.Minute {
			w.t.Fatalf("never done: %s", conditionSummary(w.getMachine(name)))
		}
		ctx, cancel := w.life.Context(w.t.Context())
		res, err := w.Reconcile(ctx, ctrl.Request{NamespacedName: fleetKeyOf(name)})
		cancel()
		switch {
		case w.life.HasCrashed():
			w.restartManager()
		case err != nil:
			w.t.Fatal(err)
		}
		time.Sleep(min(max(res.RequeueAfter, time.Second), 5*time.Second))
	}
}
