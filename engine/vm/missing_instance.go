package vm

import (
	"context"
	"errors"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
)

// finishInterruptedDelete ends a delete that was interrupted after it removed the instance and
// before it removed the machine. Otherwise the step would install on a machine without an
// instance. ended means that the step is over: the next one makes the VM anew.
func (v *Kind) finishInterruptedDelete(ctx context.Context, ref engine.Ref, want engine.VMSpec, m engine.Machine) (res engine.Result[engine.VM], ended bool, err error) {
	row, err := v.maker.Row(ctx, ref.Key)
	if err != nil {
		return res, true, err
	}
	leaving := row.State == engine.RowLeaving && row.SystemID == m.SystemID
	finished := engine.WasFinishedOnce(m)
	switch {
	case finished && ref.SystemID == "" && !leaving, v.isFinished(ref, want, m) && (ref.SystemID != "" || !leaving):
		return res, false, nil // nothing is installed on it
	case !v.isInstanceMissing(ctx, m):
		return res, false, nil
	case m.IsMarkedByAnother(ref.Key), finished && ref.SystemID != "":
		return resultOf(ref.Key, m), true, &engine.Refusal{
			Message: fmt.Sprintf("cannot continue with %s (%s): no LXD has its instance any more", m.Hostname, m.SystemID),
			Hint:    "Make sure that the LXDs answer, or delete the machine in MAAS.", Ways: []engine.Way{engine.WayLookAgain}, Err: engine.ErrConflict,
		}
	}
	if err := v.Composer.Decompose(ctx, m.SystemID); err != nil {
		return resultOf(ref.Key, m), true, fmt.Errorf("cannot delete machine %s, whose instance is gone: %w", m.Hostname, err)
	}
	if _, err := v.Machines.Machine(ctx, m.SystemID); !errors.Is(err, engine.ErrNotFound) {
		res.After = engine.TransitionPollInterval
		return res, true, err
	}
	v.Log.InfoContext(ctx, "deleted a machine whose instance was gone", "name", m.Hostname, "system_id", m.SystemID)
	if row.Key != "" && row.SystemID == m.SystemID {
		err = v.Ledger.Drop(ctx, row)
	}
	return engine.Result[engine.VM]{Reason: "InstanceMissing", Message: m.Hostname + " is made again, because its instance is gone", Moved: true}, true, err
}

// isInstanceMissing tells that a step would install on a machine whose instance is gone. The
// VMs that this process has made count as present.
func (v *Kind) isInstanceMissing(ctx context.Context, m engine.Machine) bool {
	switch phase := m.Status.Phase(); {
	case m.HasVMHostInMAAS(), m.Status != engine.StatusNew && phase != engine.PhaseReady && phase != engine.PhaseAllocated:
		return false
	}
	if _, there := v.seenInstances.Load(m.SystemID); there {
		return false
	}
	if v.Composer.CompleteMachine(ctx, m).InstanceMissing {
		return true
	}
	v.seenInstances.Store(m.SystemID, true)
	return false
}
