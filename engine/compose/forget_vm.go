package compose

import (
	"context"
	"errors"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// ForgetVM forgets the row of a VM that is not there, and clears away what its composes left.
// While one of them may still bear fruit, nothing is forgotten: remaining then says for
// how long.
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
		mk.noteLeftoverOnHost(ctx, row, engine.VMHost.LeavesInstances) // MAAS clears nothing away
	}
	if !IsRowOf(row, ref) {
		return 0, nil
	}
	return 0, mk.Ledger.Drop(ctx, row) // as it was read: a create may have begun since
}

// ForgetVanishedVM is End for a VM whose machine is gone without the caller's doing: somebody
// deleted it in MAAS, which may have left the instance, and that is then to be told. The
// row is the one that the caller has read.
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

// IsRowOf reports whether the row is about the VM of a ref, and not about a later
// one of the same key.
func IsRowOf(row engine.Row, ref engine.Ref) bool {
	return row.SystemID == "" || ref.SystemID == "" || row.SystemID == ref.SystemID
}

// AbandonCreate passes on why there is no VM, and gives up the row of a former one,
// unless a compose of it may still bear fruit, or has: else its room would stay
// taken for as long as nobody tries again.
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

// dropUnlessMachineExists drops a row, unless it is bound to a machine that exists and
// that no one else has marked.
func (mk *Maker) dropUnlessMachineExists(ctx context.Context, row engine.Row) error {
	if row.SystemID != "" {
		m, err := mk.Machines.Machine(ctx, row.SystemID)
		if !errors.Is(err, engine.ErrNotFound) && (err != nil || !m.IsMarkedByAnother(row.Key)) {
			return err
		}
	}
	return mk.dropRowAndLeftovers(ctx, row)
}
