package engine

import (
	"context"
	"errors"
	"fmt"
)

// Remark makes a machine that is Deployed another key's: its mark is from, and to
// afterwards. An empty from is of a VM that carries no mark. It writes nothing where
// the mark is to already, and is ErrConflict where it is neither.
//
// A bridge needs it for what it takes over: from a version that marked otherwise,
// from another management cluster, from another provider.
func (e *Engine) Remark(ctx context.Context, systemID string, from, to Key) error {
	c := e.cfg
	m, err := c.Machines.Machine(ctx, systemID)
	if err != nil {
		return err
	}
	now := m.MarkedBy()
	switch {
	case now == to:
		return nil
	case now != from || m.Status.Phase() != PhaseDeployed:
		return &Refusal{
			Message: fmt.Sprintf("will not take over machine %s (%s), which is %s and marked as made for %q", m.Hostname, systemID, m.StatusName, now),
			Hint:    "Name a machine that may be taken over.", Err: ErrConflict,
		}
	case m.OwnerData[keyData] != "":
		err = c.Metal.Annotate(ctx, systemID, map[string]string{keyData: string(to)})
	default:
		description := describe(m.Description, to, true)
		err = c.Machines.Update(ctx, systemID, MachineUpdate{Description: &description})
	}
	if err != nil {
		return fmt.Errorf("cannot mark %s as made for %s: %w", m.Hostname, to, refused(err))
	}
	return c.forgetRow(ctx, from)
}

// forgetRow drops what the ledger has of a key that nothing is made by any more.
func (c Config) forgetRow(ctx context.Context, key Key) error {
	row, err := c.Ledger.Row(ctx, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("cannot read the ledger: %w", err)
	}
	return c.Ledger.Drop(ctx, row)
}
