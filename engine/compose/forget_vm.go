package compose

import (
	"context"
	"errors"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// ForgetVM forgets the row of a VM that does not exist, and removes what its composes left.
// While one of them may still make the VM, it forgets nothing, and remaining says for how long.
func (mk *Maker) ForgetVM(ctx context.Context, ref engine.Ref) (remaining time.Duration, err error) {
	row, err := mk.Row(ctx, ref.Key)
	if err != nil || row.Key == "" {
		return 0, err
	}
	if remaining := mk.ComposeRemaining(row); remaining > 0 {
		return remaining, nil
	}
	if row.SystemID == "" {
		if err := mk.removeLeftovers(ctx, row); err != nil {
			return 0, err
		}
		mk.noteLeftoverOnHost(ctx, row, engine.VMHost.LeavesInstances) // MAAS does not clean up
	}
	if !IsRowOf(row, ref) {
		return 0, nil
	}
	return 0, mk.Ledger.Drop(ctx, row) // as it was read: a create may have begun since
}

// ForgetVanishedVM is ForgetVM for a VM whose machine somebody else deleted in MAAS. That may
// have left the instance, so this is noted and reported. The row is the one that the caller has
// read.
func (mk *Maker) ForgetVanishedVM(ctx context.Context, ref engine.Ref, row engine.Row) (remaining time.Duration, err error) {
	was := row
	if row.Key == "" {
		was = engine.Row{Key: ref.Key, Name: ref.Name, SystemID: ref.SystemID}
	}
	if was.SystemID != "" && IsRowOf(row, ref) {
		if err := mk.removeLeftovers(ctx, was); err != nil {
			return 0, err
		}
	}
	return mk.ForgetVM(ctx, ref)
}

// IsRowOf reports whether the row is about the VM of a ref, and not about a later VM of the
// same key.
func IsRowOf(row engine.Row, ref engine.Ref) bool {
	return row.SystemID == "" || ref.SystemID == "" || row.SystemID == ref.SystemID
}

// AbandonCreate returns the failure. It also gives up the row of a former VM, unless a compose
// of it may still make the VM, or has made it. Otherwise the room would stay taken until
// somebody tries again.
func (mk *Maker) AbandonCreate(ctx context.Context, key engine.Key, failure error) error {
	row, err := mk.Row(ctx, key)
	if err == nil && row.Key != "" && mk.ComposeRemaining(row) == 0 {
		err = mk.dropUnlessMachineExists(ctx, row)
	}
	if err != nil {
		return errors.Join(failure, err)
	}
	return failure
}

// dropUnlessMachineExists drops a row. It keeps a row that is bound to an existing machine that
// nobody else has marked.
func (mk *Maker) dropUnlessMachineExists(ctx context.Context, row engine.Row) error {
	if row.SystemID != "" {
		m, err := mk.Machines.Machine(ctx, row.SystemID)
		if !errors.Is(err, engine.ErrNotFound) && (err != nil || !m.IsMarkedByAnother(row.Key)) {
			return err
		}
	}
	return mk.dropRowAndLeftovers(ctx, row)
}
