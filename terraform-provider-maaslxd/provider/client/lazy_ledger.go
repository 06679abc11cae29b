package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
)

// MemoryLedger is the value of the attribute ledger for a ledger without a file.
const MemoryLedger = "memory"

// ledgerHint is the hint of an error about a ledger that cannot be used.
const ledgerHint = `ledger in the provider block, or MAASLXD_LEDGER, chooses the file. ledger = "memory" needs no file, ` +
	"but then another run may reserve the same room at the same time."

// lazyLedger is the ledger of one MAAS. The first write creates its file, so a plan leaves
// nothing behind.
type lazyLedger struct {
	files  *Ledgers
	path   string             // as configured: the address of a service, MemoryLedger, or a path; empty: the default
	access LedgerAccess       // for a service
	region string             // of a MAAS without a mark: its address
	marks  engine.RegionMarks // of the MAAS; nil: it is not asked

	regionMoves singleflight.Group // of the region, by its mark

	mu         sync.Mutex
	regions    ledger.Regions      // nil until it is open
	markedRows ledger.RegionLedger // of the MAAS's mark; nil until the mark is known
}

var _ engine.Ledger = (*lazyLedger)(nil)

// open returns the ledger of this MAAS, and creates it if there is none. It asks MAAS for its
// mark without the lock, so a MAAS that does not answer blocks nobody else.
func (l *lazyLedger) open(ctx context.Context) (ledger.RegionLedger, error) {
	all, marked, err := l.openRegions(ctx)
	switch {
	case err != nil:
		return nil, err
	case marked != nil:
		return marked, nil
	case l.marks == nil:
		return all.Region(l.region), nil
	}
	mark, err := l.marks.RegionMark(ctx)
	switch {
	case err != nil:
		return nil, err
	case mark == "":
		return all.Region(l.region), nil
	}
	return l.moveRegionToMark(ctx, all.Region(mark), mark)
}

// moveRegionToMark moves the rows that were stored under the MAAS's address to its mark, and
// returns the ledger of that mark. So two addresses of one MAAS are one region. If another
// caller does that already, it waits for it, until its own ctx ends.
func (l *lazyLedger) moveRegionToMark(ctx context.Context, rows ledger.RegionLedger, mark string) (ledger.RegionLedger, error) {
	taken := l.regionMoves.DoChan(mark, func() (any, error) {
		if _, marked, err := l.openRegions(ctx); err != nil || marked != nil {
			return nil, err // another caller has just done it
		}
		if err := rows.TakeOverRegion(context.WithoutCancel(ctx), l.region); err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.markedRows = rows
		return nil, nil
	})
	select {
	case t := <-taken:
		return rows, t.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// openRegions returns the ledger of all regions. It also returns that of this MAAS if its mark
// is known.
func (l *lazyLedger) openRegions(ctx context.Context) (all ledger.Regions, marked ledger.RegionLedger, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err = l.openRegionsLocked(ctx)
	return all, l.markedRows, err
}

// ensureRegionMark gives the MAAS a mark before a reservation or the closing of a host. A user
// who may not create a tag continues without a mark.
func (l *lazyLedger) ensureRegionMark(ctx context.Context) error {
	if l.marks == nil || l.path == MemoryLedger {
		return nil
	}
	if _, err := l.marks.MakeRegionMark(ctx); err != nil && !errors.Is(err, engine.ErrForbidden) {
		return err
	}
	return nil
}

// openRegionsLocked returns the ledger of all regions. The caller must hold mu.
func (l *lazyLedger) openRegionsLocked(ctx context.Context) (ledger.Regions, error) {
	if l.regions != nil {
		return l.regions, nil
	}
	if l.path == MemoryLedger {
		l.regions = ledger.LocalRegions{Ledger: ledger.NewMemory(nil)}
		return l.regions, nil
	}
	var opened ledger.Regions
	if l.isService() {
		service, err := l.files.connectService(l.serviceConfig())
		if err != nil {
			return nil, err
		}
		opened = service
	} else {
		file, err := l.filePath()
		if err != nil {
			return nil, err
		}
		if opened, err = l.files.openFile(ctx, file); err != nil {
			return nil, err
		}
	}
	l.regions = opened
	return opened, nil
}

// openExisting returns the ledger if it exists already, else nil. That is enough for readers.
func (l *lazyLedger) openExisting(ctx context.Context) (ledger.RegionLedger, error) {
	if !l.isCreated() {
		return nil, nil
	}
	return l.open(ctx)
}

// openExistingOfMark returns the existing ledger of the MAAS with a mark, without asking MAAS
// for the mark. If the mark is empty, it asks.
func (l *lazyLedger) openExistingOfMark(ctx context.Context, mark string) (ledger.RegionLedger, error) {
	if mark == "" || l.path == MemoryLedger || !l.isCreated() {
		return l.openExisting(ctx)
	}
	all, _, err := l.openRegions(ctx)
	if err != nil {
		return nil, err
	}
	return all.Region(mark), nil
}

// isCreated tells whether the ledger exists.
func (l *lazyLedger) isCreated() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hasFile() || l.regions != nil {
		return true
	}
	file, err := l.filePath()
	if err != nil {
		return false // without a place for a file, there is no ledger
	}
	_, err = os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// filePath is the absolute path of the ledger.
func (l *lazyLedger) filePath() (string, error) {
	if l.path == "" {
		return ledger.DefaultPath()
	}
	return filepath.Abs(l.path)
}

// checkExisting returns an error at once if an existing ledger cannot be used.
func (l *lazyLedger) checkExisting(ctx context.Context) error {
	if !l.isCreated() {
		return nil
	}
	all, _, err := l.openRegions(ctx)
	if service, ok := all.(*remote.Client); ok && err == nil {
		return checkService(ctx, service)
	}
	return l.withLedgerHint(err)
}

var _ engine.Leases = (*lazyLedger)(nil)

// errStaleInventory means that the hosts were listed before the ledger existed. Another list
// solves that.
var errStaleInventory = fmt.Errorf("the inventory of the hosts is older than the ledger: %w", engine.ErrBusy)

// CurrentTag implements engine.Ledger. Without a ledger there is no tag, and an inventory
// without a tag places nothing, because create opens the ledger first. All regions share one
// tag, so that it needs no call for MAAS's mark.
func (l *lazyLedger) CurrentTag(ctx context.Context) (engine.Tag, error) {
	if !l.isCreated() {
		return engine.Tag{}, nil
	}
	all, _, err := l.openRegions(ctx)
	if err != nil {
		return engine.Tag{}, l.withLedgerHint(err)
	}
	tag, err := all.Region(l.region).CurrentTag(ctx)
	return tag, l.withLedgerHint(err)
}

// AcceptsInventory implements engine.Ledger. Before the ledger exists, readers may use any
// list of the hosts. Afterwards they must list the hosts again.
func (l *lazyLedger) AcceptsInventory(ctx context.Context, inventory engine.Tag) (bool, error) {
	if !l.isCreated() {
		return true, nil
	}
	all, _, err := l.openRegions(ctx)
	if err != nil {
		return false, l.withLedgerHint(err)
	}
	serves, err := all.Region(l.region).AcceptsInventory(ctx, inventory)
	return serves, l.withLedgerHint(err)
}

// PendingRows implements engine.Ledger.
func (l *lazyLedger) PendingRows(ctx context.Context) ([]engine.Row, error) {
	rows, err := l.openExisting(ctx)
	if rows == nil || err != nil {
		return nil, l.withLedgerHint(err)
	}
	pending, err := rows.PendingRows(ctx)
	return pending, l.withLedgerHint(err)
}

// Rows implements engine.Ledger.
func (l *lazyLedger) Rows(ctx context.Context) ([]engine.Row, error) {
	rows, err := l.openExisting(ctx)
	if rows == nil || err != nil {
		return nil, l.withLedgerHint(err)
	}
	all, err := rows.Rows(ctx)
	return all, l.withLedgerHint(err)
}

// Row implements engine.Ledger.
func (l *lazyLedger) Row(ctx context.Context, key engine.Key) (engine.Row, error) {
	rows, err := l.openExisting(ctx)
	switch {
	case err != nil:
		return engine.Row{}, l.withLedgerHint(err)
	case rows == nil:
		return engine.Row{}, fmt.Errorf("there is no ledger yet: %w", engine.ErrNotFound)
	}
	row, err := rows.Row(ctx, key)
	return row, l.withLedgerHint(err)
}

// Renew implements engine.Ledger.
func (l *lazyLedger) Renew(ctx context.Context, row engine.Row) error {
	return l.withOpenLedger(ctx, func(rows ledger.RegionLedger) error { return rows.Renew(ctx, row) })
}

// Place implements engine.Ledger.
func (l *lazyLedger) Place(ctx context.Context, r engine.Reservation) (row engine.Row, fresh bool, err error) {
	if r.Inventory.Generation == "" {
		return engine.Row{}, false, errStaleInventory
	}
	if err := l.ensureRegionMark(ctx); err != nil {
		return engine.Row{}, false, err
	}
	err = l.withOpenLedger(ctx, func(rows ledger.RegionLedger) error { row, fresh, err = rows.Place(ctx, r); return err })
	return row, fresh, err
}

// Move implements engine.Ledger.
func (l *lazyLedger) Move(ctx context.Context, attempt int, r engine.Reservation) (row engine.Row, fresh bool, err error) {
	if r.Inventory.Generation == "" {
		return engine.Row{}, false, errStaleInventory
	}
	if err := l.ensureRegionMark(ctx); err != nil {
		return engine.Row{}, false, err
	}
	err = l.withOpenLedger(ctx, func(rows ledger.RegionLedger) error { row, fresh, err = rows.Move(ctx, attempt, r); return err })
	return row, fresh, err
}

// Bind implements engine.Ledger.
func (l *lazyLedger) Bind(ctx context.Context, row engine.Row) error {
	if err := l.ensureRegionMark(ctx); err != nil {
		return err
	}
	return l.withOpenLedger(ctx, func(rows ledger.RegionLedger) error { return rows.Bind(ctx, row) })
}

// MarkLeaving implements engine.Ledger.
func (l *lazyLedger) MarkLeaving(ctx context.Context, key engine.Key) error {
	return l.withOpenLedger(ctx, func(rows ledger.RegionLedger) error { return rows.MarkLeaving(ctx, key) })
}

// MayWrite implements engine.Ledger.
func (l *lazyLedger) MayWrite(ctx context.Context, key engine.Key) error {
	return l.withOpenLedger(ctx, func(rows ledger.RegionLedger) error { return rows.MayWrite(ctx, key) })
}

// Drop implements engine.Ledger.
func (l *lazyLedger) Drop(ctx context.Context, row engine.Row) error {
	return l.withOpenLedger(ctx, func(rows ledger.RegionLedger) error { return rows.Drop(ctx, row) })
}

// Hold implements engine.Leases. It creates no mark, so a request that is refused later leaves
// nothing in MAAS.
func (l *lazyLedger) Hold(ctx context.Context, key engine.Key) (release func(), err error) {
	err = l.withOpenLedger(ctx, func(rows ledger.RegionLedger) error { release, err = rows.Hold(ctx, key); return err })
	return release, err
}

// CloseHost implements engine.Ledger.
func (l *lazyLedger) CloseHost(ctx context.Context, c engine.HostCloseRequest) error {
	if err := l.ensureRegionMark(ctx); err != nil {
		return err
	}
	return l.withOpenLedger(ctx, func(rows ledger.RegionLedger) error { return rows.CloseHost(ctx, c) })
}

// OpenHost implements engine.Ledger. Without a ledger, no host is closed.
func (l *lazyLedger) OpenHost(ctx context.Context, hostKey, holder string) error {
	rows, err := l.openExisting(ctx)
	if rows == nil || err != nil {
		return l.withLedgerHint(err)
	}
	return l.withLedgerHint(rows.OpenHost(ctx, hostKey, holder))
}

func (l *lazyLedger) withOpenLedger(ctx context.Context, act func(ledger.RegionLedger) error) error {
	rows, err := l.open(ctx)
	if err != nil {
		return l.withLedgerHint(err)
	}
	return l.withLedgerHint(act(rows))
}
