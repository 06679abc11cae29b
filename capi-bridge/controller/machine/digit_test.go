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
	inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		w.add("1abc", controllertest.VMMachine(), nil)
		if got := w.known(*w.ready("1abc").Spec.SystemID).Hostname; !strings.HasPrefix(got, "vm-1abc-") {
			t.Errorf("the VM is called %s", got)
		}
	})
}
