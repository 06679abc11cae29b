package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"
)

// Remains says what composes of a key may have left where MAAS shows no machine.
type Remains struct {
	Key    Key
	Marker string // that the composes left with what they made
	Name   string // of the instance
	// HostKeys are of the hosts that must have answered: the composes were sent
	// there. Others are asked, too.
	HostKeys []string
	Pools    []string // names of the storage pools in which there may be disks
	// Before is since when nobody can be at it: what was begun later stays.
	Before time.Time
}

// remains is what a row says of them, which is zero but for its Key and its Name
// where the ledger has none.
func (v *vms) remains(row Row) Remains {
	r := Remains{
		Key: row.Key, Marker: marker(row.Key), Name: row.Name, Before: v.Now().Add(-v.ComposeWindow),
		Pools: slices.Sorted(maps.Keys(row.Need.DiskBytes)),
	}
	if row.HostKey != "" {
		r.HostKeys = append(slices.Clone(row.Excluded), row.HostKey)
	}
	return r
}

// clear removes what the composes of a row left that never became a machine. A row
// may only be forgotten after that: nobody else would ever look for it.
func (v *vms) clear(ctx context.Context, row Row) error {
	if err := v.Composer.Clear(ctx, v.remains(row)); err != nil {
		return fmt.Errorf("cannot clear away what is left of %s: %w", row.Name, err)
	}
	return nil
}

// vanished ends the delete of a VM whose machine is gone without this delete's
// doing: somebody deleted it in MAAS, which may have left the instance, and that is
// then to be told.
func (v *vms) vanished(ctx context.Context, ref Ref, row Row) (Result[VM], error) {
	was := row
	if row.Key == "" {
		was = Row{Key: ref.Key, Name: ref.Name, SystemID: ref.SystemID}
	}
	if was.SystemID != "" && row.of(ref) {
		if err := v.clear(ctx, was); err != nil {
			return Result[VM]{}, err
		}
	}
	return v.gone(ctx, ref)
}

// drop drops a row whose VM is not there, and what its composes left. What ran is
// not the row's: it stays, and the next create or delete of the key tells.
func (v *vms) drop(ctx context.Context, row Row) error {
	if row.SystemID == "" {
		if err := v.clear(ctx, row); err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return v.Ledger.Drop(ctx, row)
}

// sweepAway drops the row of a VM that is not there. One that cannot be cleared
// away now stays, and is in nobody's way but its own.
func (v *vms) sweepAway(ctx context.Context, row Row) error {
	err := v.drop(ctx, row)
	if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrBusy) {
		v.Log.DebugContext(ctx, "cannot clear away what may be left of a VM that is not there", "key", row.Key, "name", row.Name, slog.Any("error", err))
		return nil
	}
	v.Log.InfoContext(ctx, "dropped the reservation of a VM that is not there", "key", row.Key, "name", row.Name)
	return err
}

// forgetTried forgets the row of a compose that failed clearly, unless an earlier
// one, elsewhere, may have left something that cannot be cleared away now: then
// the next step, or the delete, comes back to it.
func (v *vms) forgetTried(ctx context.Context, row Row) error {
	if row.Attempt > 1 {
		if err := v.clear(ctx, row); err != nil {
			v.Log.InfoContext(ctx, "keeping the reservation of a VM of which something may be left", "key", row.Key, "name", row.Name, slog.Any("error", err))
			return nil
		}
	}
	return v.dropAttempt(ctx, row)
}

// dropAttempt drops a row that this process placed, whatever it has noted in it
// since. Where another process has dropped it and placed the key anew, that row
// stays.
func (v *vms) dropAttempt(ctx context.Context, placed Row) error {
	row, err := v.row(ctx, placed.Key)
	if err != nil || row.Token != placed.Token {
		return err
	}
	return v.Ledger.Drop(ctx, row)
}
