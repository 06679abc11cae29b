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
	moves int
}

func (l *busyLedger) Move(ctx context.Context, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	if l.moves++; l.moves == 1 {
		return engine.Row{}, false, fmt.Errorf("the inventory is older than what is known: %w", engine.ErrBusy)
	}
	return l.Ledger.Move(ctx, attempt, r)
}

// TestFailedCommissioningMovesOnLater: a VM that was taken off its host is made
// elsewhere, also when there is no saying at once where: it is not one that somebody
// removed.
func TestFailedCommissioningMovesOnLater(t *testing.T) {
	runInFleet(t, machineModel(), func(t *testing.T, w *machineWorld) {
		rows := &busyLedger{Ledger: w.ledger}
		w.ledger = rows
		w.restartManager()
		w.addMachine("web", controllertest.VMMachineSpec(), nil)
		w.reconcileUntil("web", infrav1.ReadyCondition, infrav1.MachineCommissioningReason)
		first := w.sim.Instances()[0]
		if err := w.sim.FailMachine(first.MachineID, "no disk found"); err != nil {
			t.Fatal(err)
		}
		m := w.reconcileUntilReady("web")
		if *m.Spec.SystemID == first.MachineID || rows.moves < 2 {
			t.Errorf("it is %s again, after %d tries", *m.Spec.SystemID, rows.moves)
		}
		if all := w.sim.Instances(); len(all) != 1 {
			t.Errorf("in LXD: %v", all)
		}
		w.removeMachine("web")
	})
}
