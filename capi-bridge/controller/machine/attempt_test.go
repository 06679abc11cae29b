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

	inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		note := func(name string) string { return w.get(name).Annotations[ownership.AttemptAnnotation] }
		w.RecordsAttempts = true
		w.add("web", controllertest.VMMachine(), nil)
		w.ready("web")
		if note("web") != ownership.NoAttempt {
			t.Errorf("a VM's object has the note %q", note("web"))
		}
		w.RecordsAttempts = false
		w.once("web")
		if _, there := w.get("web").Annotations[ownership.AttemptAnnotation]; there {
			t.Errorf("the note stays: %q", note("web"))
		}
		w.add("other", controllertest.VMMachine(), nil)
		w.ready("other")
		if _, there := w.get("other").Annotations[ownership.AttemptAnnotation]; there {
			t.Error("a manager with a file notes that nothing was begun")
		}
		w.RecordsAttempts = true
		w.once("other")
		if _, there := w.get("other").Annotations[ownership.AttemptAnnotation]; there {
			t.Error("what another manager has begun is taken for nothing")
		}
		w.remove("web")
		w.remove("other")
	})
}
