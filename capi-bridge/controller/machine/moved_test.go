package machine_test

import (
	"context"
	"fmt"
	"testing"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/controllertest"
	"github.com/maaslxd/maaslxd/engine"
)

// busyLedger has a newer inventory wanted, once, when a VM is to move.
type busyLedger struct {
	engine.Ledger
	asked int
}

func (l *busyLedger) Move(ctx context.Context, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	if l.asked++; l.asked == 1 {
		return engine.Row{}, false, fmt.Errorf("the inventory is older than what is known: %w", engine.ErrBusy)
	}
	return l.Ledger.Move(ctx, attempt, r)
}

// TestFailedCommissioningMovesOnLater: a VM that was taken off its host is made
// elsewhere, also when there is no saying at once where: it is not one that somebody
// removed.
func TestFailedCommissioningMovesOnLater(t *testing.T) {
	inFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		rows := &busyLedger{Ledger: w.rows}
		w.rows = rows
		w.restart()
		w.add("web", controllertest.VMMachine(), nil)
		w.until("web", infrav1.ReadyCondition, infrav1.MachineCommissioningReason)
		first := w.sim.Instances()[0]
		if err := w.sim.Fail(first.MachineID, "no disk found"); err != nil {
			t.Fatal(err)
		}
		m := w.ready("web")
		if *m.Spec.SystemID == first.MachineID || rows.asked < 2 {
			t.Errorf("it is %s again, after %d tries", *m.Spec.SystemID, rows.asked)
		}
		if all := w.sim.Instances(); len(all) != 1 {
			t.Errorf("in LXD: %v", all)
		}
		w.remove("web")
	})
}
