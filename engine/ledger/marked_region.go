package ledger

import (
	"context"
	"errors"
	"sync"

	"github.com/maaslxd/maaslxd/engine"
)

// MarkedRegion is the ledger of one MAAS, known by the mark in that MAAS. So
// two addresses of one MAAS are one region. Until there is a mark, it knows the
// MAAS by its address. The rows of the address move to the mark's region once
// there is one.
type MarkedRegion struct {
	// Regions is the ledger of all regions. Address is the name of the MAAS
	// while it has no mark.
	Regions Regions
	Address string
	// Marks reads and makes the MAAS's mark. Set it before the first use.
	Marks engine.RegionMarks

	mu      sync.Mutex
	ledger  RegionLedger // nil until the MAAS was asked
	hasMark bool         // ledger is that of the mark
}

var (
	_ engine.Ledger = (*MarkedRegion)(nil)
	_ engine.Leases = (*MarkedRegion)(nil)
)

// currentLedger returns the region's ledger by the mark, as far as it is known.
// It asks MAAS once for a mark. A caller that reserves something or closes a
// host makes one.
func (m *MarkedRegion) currentLedger(ctx context.Context) (RegionLedger, error) {
	m.mu.Lock()
	rows := m.ledger
	m.mu.Unlock()
	if rows != nil {
		return rows, nil
	}
	mark, err := m.Marks.RegionMark(ctx)
	if err != nil {
		return nil, err
	}
	return m.adoptMark(ctx, mark)
}

// ensureMarkedLedger returns the region's ledger before a reservation or the close of a host. It
// first makes a mark in the MAAS. Otherwise a run that knows the MAAS by another address would
// not see the row. A user who may not make a mark continues without one.
func (m *MarkedRegion) ensureMarkedLedger(ctx context.Context) (RegionLedger, error) {
	m.mu.Lock()
	rows, known := m.ledger, m.hasMark
	m.mu.Unlock()
	if known {
		return rows, nil
	}
	mark, err := m.Marks.MakeRegionMark(ctx)
	if err != nil && !errors.Is(err, engine.ErrForbidden) {
		return nil, err
	}
	return m.adoptMark(ctx, mark)
}

// adoptMark switches to the region of the mark, and moves the rows of the
// address there. Several callers may do that at once. A remote ledger is asked
// without the lock, so that nobody waits for another caller's request.
func (m *MarkedRegion) adoptMark(ctx context.Context, mark string) (RegionLedger, error) {
	rows := m.Regions.Region(m.Address)
	if mark != "" {
		rows = m.Regions.Region(mark)
		if err := rows.TakeOverRegion(ctx, m.Address); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.hasMark {
		m.ledger, m.hasMark = rows, mark != ""
	}
	return m.ledger, nil
}

// withLedger calls act with the region's ledger.
func (m *MarkedRegion) withLedger(ctx context.Context, act func(RegionLedger) error) error {
	rows, err := m.currentLedger(ctx)
	if err != nil {
		return err
	}
	return act(rows)
}

// CurrentTag implements engine.Ledger.
func (m *MarkedRegion) CurrentTag(ctx context.Context) (tag engine.Tag, err error) {
	err = m.withLedger(ctx, func(l RegionLedger) error { tag, err = l.CurrentTag(ctx); return err })
	return tag, err
}

// AcceptsInventory implements engine.Ledger.
func (m *MarkedRegion) AcceptsInventory(ctx context.Context, inventory engine.Tag) (serves bool, err error) {
	err = m.withLedger(ctx, func(l RegionLedger) error { serves, err = l.AcceptsInventory(ctx, inventory); return err })
	return serves, err
}

// Row implements engine.Ledger.
func (m *MarkedRegion) Row(ctx context.Context, key engine.Key) (row engine.Row, err error) {
	err = m.withLedger(ctx, func(l RegionLedger) error { row, err = l.Row(ctx, key); return err })
	return row, err
}

// Rows implements engine.Ledger.
func (m *MarkedRegion) Rows(ctx context.Context) (rows []engine.Row, err error) {
	err = m.withLedger(ctx, func(l RegionLedger) error { rows, err = l.Rows(ctx); return err })
	return rows, err
}

// PendingRows implements engine.Ledger.
func (m *MarkedRegion) PendingRows(ctx context.Context) (rows []engine.Row, err error) {
	err = m.withLedger(ctx, func(l RegionLedger) error { rows, err = l.PendingRows(ctx); return err })
	return rows, err
}

// Place implements engine.Ledger.
func (m *MarkedRegion) Place(ctx context.Context, r engine.Reservation) (engine.Row, bool, error) {
	rows, err := m.ensureMarkedLedger(ctx)
	if err != nil {
		return engine.Row{}, false, err
	}
	return rows.Place(ctx, r)
}

// Move implements engine.Ledger.
func (m *MarkedRegion) Move(ctx context.Context, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	rows, err := m.ensureMarkedLedger(ctx)
	if err != nil {
		return engine.Row{}, false, err
	}
	return rows.Move(ctx, attempt, r)
}

// Bind implements engine.Ledger.
func (m *MarkedRegion) Bind(ctx context.Context, row engine.Row) error {
	rows, err := m.ensureMarkedLedger(ctx)
	if err != nil {
		return err
	}
	return rows.Bind(ctx, row)
}

// Renew implements engine.Ledger.
func (m *MarkedRegion) Renew(ctx context.Context, row engine.Row) error {
	return m.withLedger(ctx, func(l RegionLedger) error { return l.Renew(ctx, row) })
}

// MarkLeaving implements engine.Ledger.
func (m *MarkedRegion) MarkLeaving(ctx context.Context, key engine.Key) error {
	return m.withLedger(ctx, func(l RegionLedger) error { return l.MarkLeaving(ctx, key) })
}

// MayWrite implements engine.Ledger.
func (m *MarkedRegion) MayWrite(ctx context.Context, key engine.Key) error {
	return m.withLedger(ctx, func(l RegionLedger) error { return l.MayWrite(ctx, key) })
}

// Drop implements engine.Ledger.
func (m *MarkedRegion) Drop(ctx context.Context, row engine.Row) error {
	return m.withLedger(ctx, func(l RegionLedger) error { return l.Drop(ctx, row) })
}

// CloseHost implements engine.Ledger.
func (m *MarkedRegion) CloseHost(ctx context.Context, c engine.HostCloseRequest) error {
	rows, err := m.ensureMarkedLedger(ctx)
	if err != nil {
		return err
	}
	return rows.CloseHost(ctx, c)
}

// OpenHost implements engine.Ledger.
func (m *MarkedRegion) OpenHost(ctx context.Context, hostKey, holder string) error {
	return m.withLedger(ctx, func(l RegionLedger) error { return l.OpenHost(ctx, hostKey, holder) })
}

// Hold implements engine.Leases. It makes no mark, so that a request that is
// refused later leaves nothing in MAAS.
func (m *MarkedRegion) Hold(ctx context.Context, key engine.Key) (release func(), err error) {
	err = m.withLedger(ctx, func(l RegionLedger) error { release, err = l.Hold(ctx, key); return err })
	return release, err
}
