package manager_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/crash"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// TestKubeManagerKilled kills a whole manager on a real API server. It kills
// once at each call of MAAS and each write to the API server in the life of a
// machine and of a cluster. The result must be the same as without a kill: one
// machine, one name, and nothing left of them in the end.
//
// The first life has no kill and shows the operations. It runs whatever -run
// selects, and must contain those that every such machine needs. Each route of
// a read is tried once. Writes to MAAS are tried each time before and after
// their effect. Writes to the API server are tried before only: a death after
// one leaves the same state as a death before the next operation.
func TestKubeManagerKilled(t *testing.T) {
	t.Parallel()
	kinds := map[string]struct {
		spec         infrav1.MaasMachineSpec
		controlPlane bool
		must         []string
	}{
		"VM": {newVMSpec(), true, []string{
			composeDeed, "POST machines/*/ deploy", "DELETE machines/*/", "POST dnsresources/",
			"API PATCH maasmachines", "API PATCH maasmachines/status", "API PATCH maasclusters", "API PATCH maasclusters/status",
		}},
		"BareMetal": {newMetalSpec(), false, []string{
			allocateDeed, "POST machines/*/ deploy", "POST machines/*/ release", "API PATCH maasmachines", "API PATCH maasmachines/status",
		}},
	}
	for name, tc := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := func(t *testing.T, nth int, fate *crash.Plan) {
				runKilledLifecycle(t, fmt.Sprintf("killed-%s-%d", strings.ToLower(name), nth), fate, tc.spec, tc.controlPlane)
			}
			calm := crash.NeverCrash()
			live(t, 0, calm)
			if missing := calm.MissingOperations(tc.must...); len(missing) > 0 || t.Failed() {
				t.Fatalf("the life that nobody cut short lacks %q", missing)
			}
			var toll crash.Coverage
			t.Run("killed", func(t *testing.T) {
				for nth, deed := range calm.Operations() {
					if !isFatal(deed, tc.controlPlane) {
						continue
					}
					t.Run(deed.SubtestName(), func(t *testing.T) {
						t.Parallel()
						fate := crash.CrashAt(deed)
						live(t, nth+1, fate)
						toll.RecordRun(deed, fate)
					})
				}
			})
			for _, what := range toll.NeverCrashed() {
				if !strings.HasPrefix(what, "GET ") { // which look is taken hangs on what was seen before
					t.Errorf("no manager was killed at %q", what)
				}
			}
			t.Logf("killed at %d different things", toll.PlannedCrashes())
		})
	}
}

// The calls that make a VM and take a machine, as a fate names them.
const (
	composeDeed  = "POST vm-hosts/*/ compose"
	allocateDeed = "POST machines/ allocate"
)

// isFatal reports whether to kill at an operation. The operations of a cluster
// are tried with its control-plane machines.
func isFatal(d crash.Operation, controlPlane bool) bool {
	switch {
	case strings.HasPrefix(d.Label, "GET "):
		return d.Occurrence == 1
	case strings.HasPrefix(d.Label, "API "):
		return strings.HasSuffix(d.Label, crash.NotDoneSuffix) && (controlPlane || !strings.Contains(d.Label, "maasclusters"))
	}
	return true
}

// runKilledLifecycle makes a cluster of one machine and deletes it.
func runKilledLifecycle(t *testing.T, space string, fate *crash.Plan, spec infrav1.MaasMachineSpec, published bool) {
	t.Helper()
	w := newKillableWorld(t, space, fate)
	before := len(w.maas.Machines())
	c := w.createReadyCluster("c", nil)
	w.createMachine("c", "m", spec, func(m *infrav1.MaasMachine) {
		if published {
			makeControlPlane(m)
		}
	})
	m := w.awaitReady("m")
	if got := w.mustFindMachine(*m.Spec.SystemID); got.StatusName != "Deployed" {
		t.Errorf("MAAS has %+v", got)
	}
	if made := w.countMade(); made != 1 {
		t.Errorf("%d machines were made: %+v", made, w.maas.Machines())
	}
	if published {
		w.awaitObject(c, "published", func() string {
			if leftDNSNames(t, w.maas) == "" {
				return describeConditions(c)
			}
			return ""
		})
	}
	w.deleteCluster(c, before, "m")
	if n := w.maas.Journal().Count("POST dnsresources/"); published && n != 1 {
		t.Errorf("%d names were made", n)
	}
	vms, taken := w.maas.Journal().Count("POST vm-hosts/{id}/ compose"), w.maas.Journal().Count(allocateDeed)
	if vms+taken != 1 { // one that was made and deleted again is not seen any more
		t.Errorf("MAAS was asked for %d VMs and %d machines", vms, taken)
	}
	w.endAll()
}

// countMade counts VMs, and machines that are not free.
func (w *world) countMade() int {
	n := 0
	for _, m := range w.maas.Machines() {
		if m.Host != "" || m.HostedHosts == "" && m.StatusName != "Ready" {
			n++
		}
	}
	return n
}
