package engine

import (
	"context"
	"errors"
	"fmt"
)

// endDelete ends a delete that was cut off between the instance, which is gone, and
// its machine. Without that, the step would install on a machine that has no instance.
// ended tells that the step is over: the next one makes the VM anew.
func (v *vms) endDelete(ctx context.Context, ref Ref, want VMSpec, m Machine) (res Result[VM], ended bool, err error) {
	row, err := v.row(ctx, ref.Key)
	if err != nil {
		return res, true, err
	}
	leaving := row.State == RowLeaving && row.SystemID == m.SystemID
	_, finished := described(m.Description)
	switch {
	case finished && ref.SystemID == "" && !leaving, settled(ref, want, m) && (ref.SystemID != "" || !leaving):
		return res, false, nil // nothing is installed on it
	case !v.instanceMissing(ctx, m):
		return res, false, nil
	case m.markedByAnother(ref.Key), finished && ref.SystemID != "":
		return result(ref.Key, m), true, &Refusal{
			Message: fmt.Sprintf("cannot go on with %s (%s): its instance is in no LXD any more", m.Hostname, m.SystemID),
			Hint:    "Plan again while the LXDs answer: the plan replaces it. Or delete that machine in MAAS, and apply again.", Err: ErrConflict,
		}
	}
	if err := v.Composer.Decompose(ctx, m.SystemID); err != nil {
		return result(ref.Key, m), true, fmt.Errorf("cannot delete machine %s, whose instance is gone: %w", m.Hostname, err)
	}
	if _, err := v.Machines.Machine(ctx, m.SystemID); !errors.Is(err, ErrNotFound) {
		res.After = shortly
		return res, true, err
	}
	v.Log.InfoContext(ctx, "deleted machine whose instance was gone", "name", m.Hostname, "system_id", m.SystemID)
	if row.Key != "" && row.SystemID == m.SystemID {
		err = v.Ledger.Drop(ctx, row)
	}
	return Result[VM]{Reason: "InstanceMissing", Message: m.Hostname + " is made anew, as its instance is gone", moved: true}, true, err
}

// instanceMissing tells that something would be installed on a machine whose instance
// is gone. The VMs that this process has made are there.
func (v *vms) instanceMissing(ctx context.Context, m Machine) bool {
	switch phase := m.Status.Phase(); {
	case m.HostID != 0, m.Status != StatusNew && phase != PhaseReady && phase != PhaseAllocated:
		return false
	}
	if _, there := v.there.Load(m.SystemID); there {
		return false
	}
	if v.Composer.Complete(ctx, m).InstanceMissing {
		return true
	}
	v.there.Store(m.SystemID, true)
	return false
}
