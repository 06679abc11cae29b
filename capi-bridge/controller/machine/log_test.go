package machine_test

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestLogKeys: the log of a failure says it once, with the Cluster and the Machine by
// the keys of all of Cluster API's providers.
func TestLogKeys(t *testing.T) {
	t.Parallel()
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		var lines []string
		ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
		spec := controllertest.MetalMachineSpec()
		spec.Tags = []string{"no-such-tag"}
		w.addMachine("web", spec, nil)
		for range 4 {
			if _, err := w.Reconcile(ctx, ctrl.Request{NamespacedName: fleetKeyOf("web")}); err != nil {
				t.Fatal(err)
			}
		}
		told := 0
		for _, line := range lines {
			if strings.Contains(line, `"condition"="`+infrav1.MachineDeployedCondition) {
				told++
				for _, part := range []string{`"Cluster"=`, `"Machine"=`, "prod", "web", "no-such-tag"} {
					if !strings.Contains(line, part) {
						t.Errorf("the line does not say %s: %s", part, line)
					}
				}
			}
		}
		if told != 1 {
			t.Errorf("the failure is logged %d times:\n%s", told, strings.Join(lines, "\n"))
		}
	})
}
