package compose

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/maaslxd/maaslxd/engine"
)

// sweepInterval is how often one process looks for what other runs left in the ledger.
// WaitUntilDone tries at least every 15 s, and for 20 s longer than a compose may still make
// its VM. At least one of those tries must sweep, so that the next one finds room.
const sweepInterval = 5 * time.Second

// groupSweepInterval is how long the members of a group are assumed to exist.
const groupSweepInterval = 10 * time.Minute

// sweepLedger ends what interrupted and never repeated runs left in the ledger. These are
// reservations whose compose never made a VM, and rows of deleted VMs. Their room would stay
// taken for ever. The looks are only worthwhile when room is missing.
func (mk *Maker) sweepLedger(ctx context.Context) {
	if !mk.sweeps.BeginIfDue("ledger", sweepInterval, mk.Now()) {
		return
	}
	rows, err := mk.Ledger.Rows(ctx)
	for _, row := range rows {
		if err == nil && row.State != engine.RowBound && mk.ComposeRemaining(row) == 0 {
			err = mk.sweepRow(ctx, row)
		}
	}
	if err != nil {
		mk.Log.DebugContext(ctx, "cannot remove old rows from the ledger", slog.Any("error", err))
	}
}

// sweepGroup drops the rows of a group whose VMs somebody deleted elsewhere. They would count
// among its members for ever.
func (mk *Maker) sweepGroup(ctx context.Context, group string) error {
	if group == "" || !mk.sweeps.BeginIfDue("group "+group, groupSweepInterval, mk.Now()) {
		return nil
	}
	rows, err := mk.Ledger.Rows(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the ledger: %w", err)
	}
	var looks errgroup.Group // they share calls
	for _, row := range rows {
		if row.Group == group && row.State == engine.RowBound {
			looks.Go(func() error { return mk.sweepRow(ctx, row) })
		}
	}
	return looks.Wait()
}

// sweepRow ends one row. In a shared ledger, this owner may lack the right to write the row.
// Then the row, and what its compose left in LXD, stay for the row's owner: nothing of it may
// be removed while the row stays.
func (mk *Maker) sweepRow(ctx context.Context, row engine.Row) error {
	switch err := mk.Ledger.MayWrite(ctx, row.Key); {
	case errors.Is(err, engine.ErrForbidden):
		return nil
	case err != nil:
		return err
	}
	return mk.resolveRow(ctx, row)
}

func (mk *Maker) resolveRow(ctx context.Context, row engine.Row) error {
	m, err := mk.machineOfRow(ctx, row)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return mk.dropVanishedRow(ctx, row)
	case err != nil || row.State == engine.RowBound:
		return err
	case row.State == engine.RowLeaving:
		return mk.rebindAbandonedDelete(ctx, row, m)
	}
	bound, err := mk.boundRowOf(ctx, row.Key, row.Group, m)
	if err != nil {
		return err
	}
	if err := mk.Ledger.Bind(ctx, bound); !errors.Is(err, engine.ErrBusy) {
		return err
	}
	return nil // it is being deleted now
}

// deleteStartTimeout is how long a delete may take until MAAS shows that it has begun. A
// leaving row takes the VM's room beside every inventory, which shows the VM as well.
const deleteStartTimeout = 10 * time.Minute

// rebindAbandonedDelete binds the row of a VM anew whose delete was abandoned: the VM exists,
// and nobody has released it. If the delete continues after all, it marks the row again.
func (mk *Maker) rebindAbandonedDelete(ctx context.Context, row engine.Row, m engine.Machine) error {
	if row.SystemID == "" || row.Age < deleteStartTimeout || m.Status.Phase() == engine.PhaseReleasing || m.IsMarkedByAnother(row.Key) {
		return nil
	}
	bound, err := mk.boundRowOf(ctx, row.Key, row.Group, m)
	if err != nil {
		return err
	}
	bound.Need, bound.Attempt, bound.Excluded = row.Need, row.Attempt, row.Excluded
	if err := mk.Ledger.Drop(ctx, row); err != nil {
		return err
	}
	mk.Log.InfoContext(ctx, "kept a VM whose delete was abandoned", "key", row.Key, "name", row.Name)
	return mk.Ledger.Bind(ctx, bound)
}

// machineOfRow finds the machine of a row: by system id, else by name and mark.
func (mk *Maker) machineOfRow(ctx context.Context, row engine.Row) (engine.Machine, error) {
	if row.SystemID != "" {
		return mk.Machines.Machine(ctx, row.SystemID)
	}
	named, err := mk.Machines.MachinesNamed(ctx, row.Name)
	if err != nil {
		return engine.Machine{}, err
	}
	for _, m := range named {
		if AsVM(m, row.Key).Ours {
			return m, nil
		}
	}
	return engine.Machine{}, engine.ErrNotFound
}
