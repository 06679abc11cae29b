package machine_test

import (
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
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
		w.add("begun", controllertest.VMMachine(), func(_ *clusterv1.Machine, m *infrav1.MaasMachine) {
			m.Annotations = map[string]string{ownership.AttemptAnnotation: "a record"}
		})
		w.once("begun")
		if note("begun") == "" {
			t.Error("what may be under way is noted nowhere any more")
		}
		w.remove("begun")
		w.RecordsAttempts = true
		w.once("other")
		if _, there := w.get("other").Annotations[ownership.AttemptAnnotation]; there {
			t.Error("what another manager has begun is taken for nothing")
		}
		w.remove("web")
		w.remove("other")
	})
}
