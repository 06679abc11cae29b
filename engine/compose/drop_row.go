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

// leftoversOf is what a row says of them, which is zero but for its Key and its Name
// where the ledger has none.
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

// removeLeftovers removes what the composes of a row left that never became a machine. A row
// may only be forgotten after that: nobody else would ever look for it.
func (mk *Maker) removeLeftovers(ctx context.Context, row engine.Row) error {
	if err := mk.Composer.RemoveLeftovers(ctx, mk.leftoversOf(row)); err != nil {
		return fmt.Errorf("cannot clear away what is left of %s: %w", row.Name, err)
	}
	return nil
}

// dropRowAndLeftovers drops a row whose VM is not there, and what its composes left. What ran is
// not the row's: it stays, and the next create or delete of the key tells.
func (mk *Maker) dropRowAndLeftovers(ctx context.Context, row engine.Row) error {
	if row.SystemID == "" {
		if err := mk.removeLeftovers(ctx, row); err != nil && !errors.Is(err, engine.ErrConflict) {
			return err
		}
	}
	return mk.Ledger.Drop(ctx, row)
}

// dropVanishedRow drops the row of a VM that is not there. One that cannot be cleared
// away now stays, and is in nobody's way but its own.
func (mk *Maker) dropVanishedRow(ctx context.Context, row engine.Row) error {
	err := mk.dropRowAndLeftovers(ctx, row)
	if errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrBusy) {
		mk.Log.DebugContext(ctx, "cannot clear away what may be left of a VM that is not there", "key", row.Key, "name", row.Name, slog.Any("error", err))
		return nil
	}
	mk.Log.InfoContext(ctx, "dropped the reservation of a VM that is not there", "key", row.Key, "name", row.Name)
	return err
}

// dropFailedRow forgets the row of a compose that failed clearly, unless an earlier
// one, elsewhere, may have left something that cannot be cleared away now: then
// the next step, or the delete, comes back to it.
func (mk *Maker) dropFailedRow(ctx context.Context, row engine.Row) error {
	if row.Attempt > 1 {
		if err := mk.removeLeftovers(ctx, row); err != nil {
			mk.Log.InfoContext(ctx, "keeping the reservation of a VM of which something may be left", "key", row.Key, "name", row.Name, slog.Any("error", err))
			return nil
		}
	}
	return mk.dropPlacedRow(ctx, row)
}

// dropPlacedRow drops a row that this process placed, whatever it has noted in it
// since. Where another process has dropped it and placed the key anew, that row
// stays.
func (mk *Maker) dropPlacedRow(ctx context.Context, placed engine.Row) error {
	row, err := mk.Row(ctx, placed.Key)
	if err != nil || row.Token != placed.Token {
		return err
	}
	return mk.Ledger.Drop(ctx, row)
}
