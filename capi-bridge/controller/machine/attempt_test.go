package machine_test

import (
	"testing"

	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
)

// TestRecordsAttempts: an object's key comes with the note that nothing was begun, so
// that the next leader waits only for what a manager of another kind may have begun. A
// manager that keeps its rows elsewhere takes the note off.
func TestRecordsAttempts(t *testing.T) {

	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		note := func(name string) string { return w.getMachine(name).Annotations[ownership.AttemptAnnotation] }
		w.RecordsAttempts = true
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		w.reconcileUntilReady("web")
		if note("web") != ownership.NoAttempt {
			t.Errorf("a VM's object has the note %q", note("web"))
		}
		w.RecordsAttempts = false
		w.reconcileOnce("web")
		if _, there := w.getMachine("web").Annotations[ownership.AttemptAnnotation]; there {
			t.Errorf("the note stays: %q", note("web"))
		}
		w.addMachine("other", controllertest.VMMachineSpec(), nil)
		w.reconcileUntilReady("other")
		if _, there := w.getMachine("other").Annotations[ownership.AttemptAnnotation]; there {
			t.Error("a manager with a file notes that nothing was begun")
		}
		w.RecordsAttempts = true
		w.reconcileOnce("other")
		if _, there := w.getMachine("other").Annotations[ownership.AttemptAnnotation]; there {
			t.Error("what another manager has begun is taken for nothing")
		}
		w.removeMachine("web")
		w.removeMachine("other")
	})
}
