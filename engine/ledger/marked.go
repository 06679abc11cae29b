package ledger

import (
	"context"
	"errors"
	"sync"

	"github.com/maaslxd/maaslxd/engine"
)

// Marked is the ledger of one MAAS, which it knows by the mark in that MAAS, so that two
// addresses of one MAAS are one region. As long as there is no mark it knows the MAAS by
// its address; what was noted so is of the mark's region once there is one.
type Marked struct {
	// All is the ledger of all regions, and Address what the MAAS is called without a
	// mark.
	All     Regions
	Address string
	// Marks are the MAAS's. They are set before the first use.
	Marks engine.RegionMarks

	mu    sync.Mutex
	rows  Rows // nil until the MAAS was asked
	known bool // by its mark
}

var (
	_ engine.Ledger = (*Marked)(nil)
	_ engine.Leases = (*Marked)(nil)
)

// current returns the rows as far as the mark is known. Whether there is one is asked
// once; who reserves something makes it, or closes a host.
func (m *Marked) current(ctx context.Context) (Rows, error) {
	m.mu.Lock()
	rows := m.rows
	m.mu.Unlock()
	if rows != nil {
		return rows, nil
	}
	mark, err := m.Marks.RegionMark(ctx)
	if err != nil {
		return nil, err
	}
	return m.become(ctx, mark)
}

// reserving returns the rows in which something is about to be reserved, or a host to be
// closed: the MAAS gets a mark first. Else a run that knows the MAAS by another address
// would not see it. A user who may make none goes on without it.
func (m *Marked) reserving(ctx context.Context) (Rows, error) {
	m.mu.Lock()
	rows, known := m.rows, m.known
	m.mu.Unlock()
	if known {
		return rows, nil
	}
	mark, err := m.Marks.MakeRegionMark(ctx)
	if err != nil && !errors.Is(err, engine.ErrForbidden) {
		return nil, err
	}
	return m.become(ctx, mark)
}

// become takes the rows of a mark, and those of the address with them. Several may do that
// at once: a ledger on another machine is asked without the lock, so that nobody waits for
// another one's call.
func (m *Marked) become(ctx context.Context, mark string) (Rows, error) {
	rows := m.All.Region(m.Address)
	if mark != "" {
		rows = m.All.Region(mark)
		if err := rows.TakeRegion(ctx, m.Address); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.known {
		m.rows, m.known = rows, mark != ""
	}
	return m.rows, nil
}

// with does something with the rows.
func (m *Marked) with(ctx context.Context, act func(Rows) error) error {
	rows, err := m.current(ctx)
	if err != nil {
		return err
	}
	return act(rows)
}

// Tag implements engine.Ledger.
func (m *Marked) Tag(ctx context.Context) (tag engine.Tag, err error) {
	err = m.with(ctx, func(l Rows) error { tag, err = l.Tag(ctx); return err })
	return tag, err
}

// Serves implements engine.Ledger.
func (m *Marked) Serves(ctx context.Context, inventory engine.Tag) (serves bool, err error) {
	err = m.with(ctx, func(l Rows) error { serves, err = l.Serves(ctx, inventory); return err })
	return serves, err
}

// Row implements engine.Ledger.
func (m *Marked) Row(ctx context.Context, key engine.Key) (row engine.Row, err error) {
	err = m.with(ctx, func(l Rows) error { row, err = l.Row(ctx, key); return err })
	return row, err
}

// Rows implements engine.Ledger.
func (m *Marked) Rows(ctx context.Context) (rows []engine.Row, err error) {
	err = m.with(ctx, func(l Rows) error { rows, err = l.Rows(ctx); return err })
	return rows, err
}

// Pending implements engine.Ledger.
func (m *Marked) Pending(ctx context.Context) (rows []engine.Row, err error) {
	err = m.with(ctx, func(l Rows) error { rows, err = l.Pending(ctx); return err })
	return rows, err
}

// Place implements engine.Ledger.
func (m *Marked) Place(ctx context.Context, r engine.Reservation) (engine.Row, bool, error) {
	rows, err := m.reserving(ctx)
	if err != nil {
		return engine.Row{}, false, err
	}
	return rows.Place(ctx, r)
}

// Move implements engine.Ledger.
func (m *Marked) Move(ctx context.Context, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	rows, err := m.reserving(ctx)
	if err != nil {
		return engine.Row{}, false, err
	}
	return rows.Move(ctx, attempt, r)
}

// Bind implements engine.Ledger.
func (m *Marked) Bind(ctx context.Context, row engine.Row) error {
	rows, err := m.reserving(ctx)
	if err != nil {
		return err
	}
	return rows.Bind(ctx, row)
}

// Renew implements engine.Ledger.
func (m *Marked) Renew(ctx context.Context, row engine.Row) error {
	return m.with(ctx, func(l Rows) error { return l.Renew(ctx, row) })
}

// Leaving implements engine.Ledger.
func (m *Marked) Leaving(ctx context.Context, key engine.Key) error {
	return m.with(ctx, func(l Rows) error { return l.Leaving(ctx, key) })
}

// MayWrite implements engine.Ledger.
func (m *Marked) MayWrite(ctx context.Context, key engine.Key) error {
	return m.with(ctx, func(l Rows) error { return l.MayWrite(ctx, key) })
}

// Drop implements engine.Ledger.
func (m *Marked) Drop(ctx context.Context, row engine.Row) error {
	return m.with(ctx, func(l Rows) error { return l.Drop(ctx, row) })
}

// CloseHost implements engine.Ledger.
func (m *Marked) CloseHost(ctx context.Context, c engine.Close) error {
	rows, err := m.reserving(ctx)
	if err != nil {
		return err
	}
	return rows.CloseHost(ctx, c)
}

// OpenHost implements engine.Ledger.
func (m *Marked) OpenHost(ctx context.Context, hostKey, holder string) error {
	return m.with(ctx, func(l Rows) error { return l.OpenHost(ctx, hostKey, holder) })
}

// Hold implements engine.Leases. It makes no mark: of a wish that is refused afterwards
// nothing is left in MAAS.
func (m *Marked) Hold(ctx context.Context, key engine.Key) (release func(), err error) {
	err = m.with(ctx, func(l Rows) error { release, err = l.Hold(ctx, key); return err })
	return release, err
}
