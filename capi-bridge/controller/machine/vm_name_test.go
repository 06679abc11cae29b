package machine_test

import (
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
)

// TestNameBeginsWithDigit: Kubernetes takes such a name, and LXD takes no such
// instance: the VM gets a name that it takes.
func TestNameBeginsWithDigit(t *testing.T) {
	t.Parallel()
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.addMachine("1abc", controllertest.VMMachineSpec(), nil)
		if got := w.maasMachine(*w.reconcileUntilReady("1abc").Spec.SystemID).Hostname; !strings.HasPrefix(got, "vm-1abc-") {
			t.Errorf("the VM is called %s", got)
		}
	})
}
