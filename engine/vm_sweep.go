package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"
)

// sweepEvery is how often one process looks for what others left in the ledger.
// Wait tries at least every 15 s, and for 20 s longer than a compose may still
// bear fruit: one of those tries has to sweep, so that the next one finds room.
const sweepEvery = 5 * time.Second

// groupEvery is how long the members of a group are taken for alive.
const groupEvery = 10 * time.Minute

// sweep ends what runs that were cut off, and never repeated, left in the
// ledger: reservations whose compose never bore fruit, and rows of VMs that
// were being deleted and are gone. Their room would stay taken for ever. It is
// only worth the looks when room is missing.
func (v *vms) sweep(ctx context.Context) {
	if !v.sweeps.due("ledger", sweepEvery, v.Now()) {
		return
	}
	rows, err := v.Ledger.Rows(ctx)
	for _, row := range rows {
		if err == nil && row.State != RowBound && v.unclear(row) == 0 {
			err = v.sweepRow(ctx, row)
		}
	}
	if err != nil {
		v.Log.DebugContext(ctx, "cannot clear old rows off the ledger", slog.Any("error", err))
	}
}

// sweepGroup drops the rows of a group whose VMs somebody deleted elsewhere:
// they would count among its members for ever.
func (v *vms) sweepGroup(ctx context.Context, group string) error {
	if group == "" || !v.sweeps.due("group "+group, groupEvery, v.Now()) {
		return nil
	}
	rows, err := v.Ledger.Rows(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the ledger: %w", err)
	}
	var looks errgroup.Group // which share calls
	for _, row := range rows {
		if row.Group == group && row.State == RowBound {
			looks.Go(func() error { return v.sweepRow(ctx, row) })
		}
	}
	return looks.Wait()
}

func (v *vms) sweepRow(ctx context.Context, row Row) error {
	m, err := v.ofRow(ctx, row)
	switch {
	case errors.Is(err, ErrNotFound):
		return v.sweepAway(ctx, row)
	case err != nil || row.State == RowBound:
		return err
	case row.State == RowLeaving:
		return v.takeBack(ctx, row, m)
	}
	bound, err := v.boundTo(ctx, row.Key, row.Group, m)
	if err != nil {
		return err
	}
	if err := v.Ledger.Bind(ctx, bound); !errors.Is(err, ErrBusy) {
		return err
	}
	return nil // it is being deleted by now
}

// leavingFor is how long a delete may take until MAAS shows that it has begun. A
// row that is leaving takes the VM's room beside every inventory, which shows it
// as well.
const leavingFor = 10 * time.Minute

// takeBack binds the row of a VM anew whose delete was given up: it is there, and
// nobody has released it. A delete that goes on after all marks it again.
func (v *vms) takeBack(ctx context.Context, row Row, m Machine) error {
	if row.SystemID == "" || v.Now().Sub(row.Since) < leavingFor || m.Status.Phase() == PhaseReleasing || m.markedByAnother(row.Key) {
		return nil
	}
	bound, err := v.boundTo(ctx, row.Key, row.Group, m)
	if err != nil {
		return err
	}
	bound.Need, bound.Attempt, bound.Excluded = row.Need, row.Attempt, row.Excluded
	if err := v.Ledger.Drop(ctx, row); err != nil {
		return err
	}
	v.Log.InfoContext(ctx, "a VM stays whose delete was given up", "key", row.Key, "name", row.Name)
	return v.Ledger.Bind(ctx, bound)
}

// ofRow finds the machine of a row: by system id, else by name and mark.
func (v *vms) ofRow(ctx context.Context, row Row) (Machine, error) {
	if row.SystemID != "" {
		return v.Machines.Machine(ctx, row.SystemID)
	}
	named, err := v.Machines.MachinesNamed(ctx, row.Name)
	if err != nil {
		return Machine{}, err
	}
	for _, m := range named {
		if seenAs(m, row.Key).Ours {
			return m, nil
		}
	}
	return Machine{}, ErrNotFound
}
