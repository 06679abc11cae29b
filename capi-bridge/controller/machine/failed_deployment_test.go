package machine_test

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestFailedMetalComesLast: a machine that cannot be installed is released with
// its object, because a MachineHealthCheck deletes it. The next object gets
// another machine, also from another manager, as long as there is one. After
// that it gets the machine that failed longest ago. A machine that is installed
// in the end is as good as any.
func TestFailedMetalComesLast(t *testing.T) {
	t.Parallel()
	alike := machineModel()
	for n := range alike.Machines {
		alike.Machines[n].Cores, alike.Machines[n].MemoryMiB = 8, 32768
	}
	for name, model := range map[string]sim.Model{"SmallestFails": machineModel(), "Alike": alike} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runInFleet(t, model, func(t *testing.T, w *machineWorld) {
				last := ""
				for _, name := range []string{"one", "two", "three", "four", "five"} {
					w.restartManager() // another manager
					id := w.makeFailedDeployment(name)
					if id == last {
						t.Errorf("%s is made of the machine again that could not be installed, and another one is Ready", name)
					}
					last = id
					w.removeMachine(name)
				}
				w.addMachine("good", controllertest.MetalMachineSpec(), nil)
				id := *w.reconcileUntilReady("good").Spec.SystemID
				if id == last || strings.Contains(w.maasMachine(id).Description, "failed") {
					t.Errorf("installed on %+v, after %s failed last", w.maasMachine(id), last)
				}
				w.removeMachine("good")
			})
		})
	}
}

// makeFailedDeployment makes a machine whose deployment fails, and returns its system id.
func (w *machineWorld) makeFailedDeployment(name string) string {
	w.t.Helper()
	w.addMachine(name, controllertest.MetalMachineSpec(), nil)
	m := w.reconcileUntil(name, infrav1.ReadyCondition, infrav1.MachineDeployingReason)
	const annotation = "infrastructure.cluster.x-k8s.io/maas-system-id"
	for m.Annotations[annotation] == "" || *m.Status.MachineState != "Deploying" {
		time.Sleep(time.Second)
		w.reconcileOnce(name)
		m = w.getMachine(name)
	}
	if err := w.sim.FailMachine(m.Annotations[annotation], "disk is broken"); err != nil {
		w.t.Fatal(err)
	}
	w.reconcileUntil(name, infrav1.ReadyCondition, infrav1.MachineDeployFailedReason)
	return m.Annotations[annotation]
}

// TestFailureTellsWhy: the condition of a machine that cannot be installed has what the
// installation wrote last. It stays as it is, and MAAS is not asked again each time.
func TestFailureTellsWhy(t *testing.T) {
	t.Parallel()
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.makeFailedDeployment("one")
		const want = "MAAS shows script /tmp/install.log: Failed with exit status 1; its output ends: disk is broken. the last events: "
		message := conditions.GetMessage(w.getMachine("one"), infrav1.MachineDeployedCondition)
		if !strings.Contains(message, want) {
			t.Errorf("it says %q, want %q in it", message, want)
		}
		w.sim.ResetJournal()
		for range 5 {
			time.Sleep(time.Minute)
			w.reconcileOnce("one")
			if now := conditions.GetMessage(w.getMachine("one"), infrav1.MachineDeployedCondition); now != message {
				t.Errorf("it says %q by now, and said %q", now, message)
			}
		}
		for _, r := range w.sim.Journal().Routes {
			if strings.Contains(r.Route, "results") || strings.Contains(r.Route, "events") {
				t.Errorf("%s was called %d times for what is known", r.Route, r.Calls)
			}
		}
		w.removeMachine("one")
	})
}
