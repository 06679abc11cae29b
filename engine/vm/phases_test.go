package vm

import (
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestEveryStatusHasActs: no status of MAAS leaves a step without an answer.
func TestEveryStatusHasActs(t *testing.T) {
	t.Parallel()
	for status := engine.Status(0); status <= engine.StatusFailedTesting; status++ {
		for _, birthMark := range []bool{false, true} {
			if a := actionsIn(situationOf(engine.Machine{Status: status}, birthMark)); a.reconcile.step == nil || a.delete.step == nil {
				t.Errorf("status %d: %+v", status, a)
			}
		}
	}
}
