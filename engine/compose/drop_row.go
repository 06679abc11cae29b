package compose

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// leftoversOf describes the leftovers of a row. It holds only Key and Name if the ledger has no
// row.
func (mk *Maker) leftoversOf(row engine.Row) engine.Leftovers {
	r := engine.Leftovers{
		Key: row.Key, Marker: engine.MarkerOf(row.Key), Name: row.Name, BegunBefore: mk.Now().Add(-mk.ComposeWindow),
		Pools: slices.Sorted(maps.Keys(row.Need.DiskBytes)),
	}
	if row.HostKey != "" {
		r.HostKeys = append(slices.Clone(row.Excluded), row.HostKey)
	}
	return r
}

// removeLeftovers removes what the composes of a row left that never became a machine. Forget a
// row only after that: nobody else would look for it.
func (mk *Maker) removeLeftovers(ctx context.Context, row engine.Row) error {
	if err := mk.Composer.RemoveLeftovers(ctx, mk.leftoversOf(row)); err != nil {
		return fmt.Errorf("cannot remove what is left of %s: %w", row.Name, err)
	}
	return nil
}

// dropRowAndLeftovers drops a row without a VM, and what its composes left. An instance that
// ran does not belong to the row: it stays, and the next create or delete of the key reports
// it.
func (mk *Maker) dropRowAndLeftovers(ctx context.Context, row engine.Row) error {
	if row.SystemID == "" {
		if err := mk.removeLeftovers(ctx, row); err != nil && !errors.Is(err, engine.ErrConflict) {
			return err
		}
	}
	return mk.Ledger.Drop(ctx, row)
}

// dropVanishedRow drops the row of a VM that does not exist. A row whose leftovers cannot be
// removed now stays. It only blocks its own key.
func (mk *Maker) dropVanishedRow(ctx context.Context, row engine.Row) error {
	err := mk.dropRowAndLeftovers(ctx, row)
	if errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrBusy) {
		mk.Log.DebugContext(ctx, "cannot remove what may be left of a VM that does not exist", "key", row.Key, "name", row.Name, slog.Any("error", err))
		return nil
	}
	mk.Log.InfoContext(ctx, "dropped the reservation of a VM that does not exist", "key", row.Key, "name", row.Name)
	return err
}

// dropFailedRow forgets the row of a compose that failed clearly. The row stays if an earlier
// compose on another host may have left something that cannot be removed now. Then the next
// step, or the delete, tries again.
func (mk *Maker) dropFailedRow(ctx context.Context, row engine.Row) error {
	if row.Attempt > 1 {
		if err := mk.removeLeftovers(ctx, row); err != nil {
			mk.Log.InfoContext(ctx, "keeping the reservation of a VM that may have left something", "key", row.Key, "name", row.Name, slog.Any("error", err))
			return nil
		}
	}
	return mk.dropPlacedRow(ctx, row)
}

// dropPlacedRow drops a row that this process placed, whatever it has noted in it since. If
// another process has dropped it and placed the key anew, the new row stays.
func (mk *Maker) dropPlacedRow(ctx context.Context, placed engine.Row) error {
	row, err := mk.Row(ctx, placed.Key)
	if err != nil || row.Token != placed.Token {
		return err
	}
	return mk.Ledger.Drop(ctx, row)
}
