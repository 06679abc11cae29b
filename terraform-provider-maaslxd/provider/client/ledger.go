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

// MemoryLedger is the value of the provider's ledger attribute that asks for
// none on disk.
const MemoryLedger = "memory"

// ledgerHint ends what is said of a ledger that cannot be used.
const ledgerHint = `The file is chosen by ledger in the provider block, or by MAASLXD_LEDGER. ledger = "memory" does without one: ` +
	"then nothing keeps another run from reserving the same room at the same time."

// lateLedger is the ledger of one MAAS. Its file is made when something is
// first written, so that a plan leaves nothing behind.
type lateLedger struct {
	files  *Ledgers
	path   string             // as configured, or the address of a service; empty: the default; MemoryLedger: none
	access LedgerAccess       // to a service
	region string             // of a MAAS that has no mark: its address
	marks  engine.RegionMarks // of the MAAS; nil: nobody asks

	taking singleflight.Group // of the region, by its mark

	mu     sync.Mutex
	all    ledger.Regions // nil until it is open
	marked ledger.Rows    // of the MAAS's mark; nil until that is known
}

var _ engine.Ledger = (*lateLedger)(nil)

// open returns the ledger of this MAAS, and makes it if there is none. It asks MAAS for
// its mark without the lock: others need not wait for an answer that does not come.
func (l *lateLedger) open(ctx context.Context) (ledger.Rows, error) {
	all, marked, err := l.opened(ctx)
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
	return l.takeRegion(ctx, all.Region(mark), mark)
}

// takeRegion gives the MAAS's mark what was noted by its address before, and returns the
// ledger of that mark. Two addresses of one MAAS are one region. Who comes while another
// one does it waits for him, for as long as his own ctx says.
func (l *lateLedger) takeRegion(ctx context.Context, rows ledger.Rows, mark string) (ledger.Rows, error) {
	taken := l.taking.DoChan(mark, func() (any, error) {
		if _, marked, err := l.opened(ctx); err != nil || marked != nil {
			return nil, err // somebody did it a moment ago
		}
		if err := rows.TakeRegion(context.WithoutCancel(ctx), l.region); err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.marked = rows
		return nil, nil
	})
	select {
	case t := <-taken:
		return rows, t.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// opened returns the ledger of all regions, and that of this MAAS if its mark is known.
func (l *lateLedger) opened(ctx context.Context) (all ledger.Regions, marked ledger.Rows, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err = l.openAll(ctx)
	return all, l.marked, err
}

// first sees that the MAAS has a mark before something is reserved in it, or a host is
// closed. A user who may make no tag goes on without one.
func (l *lateLedger) first(ctx context.Context) error {
	if l.marks == nil || l.path == MemoryLedger {
		return nil
	}
	if _, err := l.marks.MakeRegionMark(ctx); err != nil && !errors.Is(err, engine.ErrForbidden) {
		return err
	}
	return nil
}

// openAll returns the ledger of all regions. The caller holds mu.
func (l *lateLedger) openAll(ctx context.Context) (ledger.Regions, error) {
	if l.all != nil {
		return l.all, nil
	}
	if l.path == MemoryLedger {
		l.all = ledger.Local{Ledger: ledger.NewMemory(nil)}
		return l.all, nil
	}
	var opened ledger.Regions
	if l.isService() {
		service, err := l.files.connect(l.config())
		if err != nil {
			return nil, err
		}
		opened = service
	} else {
		file, err := l.file()
		if err != nil {
			return nil, err
		}
		if opened, err = l.files.open(ctx, file); err != nil {
			return nil, err
		}
	}
	l.all = opened
	return opened, nil
}

// existing returns the ledger if there is one already, else nil. Who only
// reads needs no other.
func (l *lateLedger) existing(ctx context.Context) (ledger.Rows, error) {
	if !l.exists() {
		return nil, nil
	}
	return l.open(ctx)
}

// ledgerOfMark returns the ledger of the MAAS with a mark, without asking MAAS for it, if
// there is a ledger already. An empty mark is not known, and asked for.
func (l *lateLedger) ledgerOfMark(ctx context.Context, mark string) (ledger.Rows, error) {
	if mark == "" || l.path == MemoryLedger || !l.exists() {
		return l.existing(ctx)
	}
	all, _, err := l.opened(ctx)
	if err != nil {
		return nil, err
	}
	return all.Region(mark), nil
}

// exists tells whether there is a ledger.
func (l *lateLedger) exists() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hasFile() || l.all != nil {
		return true
	}
	file, err := l.file()
	if err != nil {
		return false // where no ledger can be, there is none
	}
	_, err = os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// file is the absolute path of the ledger.
func (l *lateLedger) file() (string, error) {
	if l.path == "" {
		return ledger.DefaultPath()
	}
	return filepath.Abs(l.path)
}

// check tells at once what is wrong with a ledger that exists.
func (l *lateLedger) check(ctx context.Context) error {
	if !l.exists() {
		return nil
	}
	all, _, err := l.opened(ctx)
	if service, ok := all.(*remote.Client); ok && err == nil {
		return checkService(ctx, service)
	}
	return l.about(err)
}

var _ engine.Leases = (*lateLedger)(nil)

// errNoTag: the hosts were listed before there was a ledger. The next list is
// a better one.
var errNoTag = fmt.Errorf("the inventory of the hosts is older than the ledger: %w", engine.ErrBusy)

// Tag implements engine.Ledger. A ledger that is not there has no tag, and an
// inventory without one places nothing: create opens the ledger first. All regions
// have one tag, so that MAAS need not be asked for its mark.
func (l *lateLedger) Tag(ctx context.Context) (engine.Tag, error) {
	if !l.exists() {
		return engine.Tag{}, nil
	}
	all, _, err := l.opened(ctx)
	if err != nil {
		return engine.Tag{}, l.about(err)
	}
	tag, err := all.Region(l.region).Tag(ctx)
	return tag, l.about(err)
}

// Serves implements engine.Ledger. Before there is a ledger, a list of the hosts serves
// those who only read; afterwards it is read anew.
func (l *lateLedger) Serves(ctx context.Context, inventory engine.Tag) (bool, error) {
	if !l.exists() {
		return true, nil
	}
	all, _, err := l.opened(ctx)
	if err != nil {
		return false, l.about(err)
	}
	serves, err := all.Region(l.region).Serves(ctx, inventory)
	return serves, l.about(err)
}

// Pending implements engine.Ledger.
func (l *lateLedger) Pending(ctx context.Context) ([]engine.Row, error) {
	rows, err := l.existing(ctx)
	if rows == nil || err != nil {
		return nil, l.about(err)
	}
	pending, err := rows.Pending(ctx)
	return pending, l.about(err)
}

// Rows implements engine.Ledger.
func (l *lateLedger) Rows(ctx context.Context) ([]engine.Row, error) {
	rows, err := l.existing(ctx)
	if rows == nil || err != nil {
		return nil, l.about(err)
	}
	all, err := rows.Rows(ctx)
	return all, l.about(err)
}

// Row implements engine.Ledger.
func (l *lateLedger) Row(ctx context.Context, key engine.Key) (engine.Row, error) {
	rows, err := l.existing(ctx)
	switch {
	case err != nil:
		return engine.Row{}, l.about(err)
	case rows == nil:
		return engine.Row{}, fmt.Errorf("there is no ledger yet: %w", engine.ErrNotFound)
	}
	row, err := rows.Row(ctx, key)
	return row, l.about(err)
}

// Renew implements engine.Ledger.
func (l *lateLedger) Renew(ctx context.Context, row engine.Row) error {
	return l.do(ctx, func(rows ledger.Rows) error { return rows.Renew(ctx, row) })
}

// Place implements engine.Ledger.
func (l *lateLedger) Place(ctx context.Context, r engine.Reservation) (row engine.Row, fresh bool, err error) {
	if r.Inventory.Generation == "" {
		return engine.Row{}, false, errNoTag
	}
	if err := l.first(ctx); err != nil {
		return engine.Row{}, false, err
	}
	err = l.do(ctx, func(rows ledger.Rows) error { row, fresh, err = rows.Place(ctx, r); return err })
	return row, fresh, err
}

// Move implements engine.Ledger.
func (l *lateLedger) Move(ctx context.Context, attempt int, r engine.Reservation) (row engine.Row, fresh bool, err error) {
	if r.Inventory.Generation == "" {
		return engine.Row{}, false, errNoTag
	}
	if err := l.first(ctx); err != nil {
		return engine.Row{}, false, err
	}
	err = l.do(ctx, func(rows ledger.Rows) error { row, fresh, err = rows.Move(ctx, attempt, r); return err })
	return row, fresh, err
}

// Bind implements engine.Ledger.
func (l *lateLedger) Bind(ctx context.Context, row engine.Row) error {
	if err := l.first(ctx); err != nil {
		return err
	}
	return l.do(ctx, func(rows ledger.Rows) error { return rows.Bind(ctx, row) })
}

// Leaving implements engine.Ledger.
func (l *lateLedger) Leaving(ctx context.Context, key engine.Key) error {
	return l.do(ctx, func(rows ledger.Rows) error { return rows.Leaving(ctx, key) })
}

// MayWrite implements engine.Ledger.
func (l *lateLedger) MayWrite(ctx context.Context, key engine.Key) error {
	return l.do(ctx, func(rows ledger.Rows) error { return rows.MayWrite(ctx, key) })
}

// Drop implements engine.Ledger.
func (l *lateLedger) Drop(ctx context.Context, row engine.Row) error {
	return l.do(ctx, func(rows ledger.Rows) error { return rows.Drop(ctx, row) })
}

// Hold implements engine.Leases. It makes no mark: of a wish that is refused afterwards
// nothing is left in MAAS.
func (l *lateLedger) Hold(ctx context.Context, key engine.Key) (release func(), err error) {
	err = l.do(ctx, func(rows ledger.Rows) error { release, err = rows.Hold(ctx, key); return err })
	return release, err
}

// CloseHost implements engine.Ledger.
func (l *lateLedger) CloseHost(ctx context.Context, c engine.Close) error {
	if err := l.first(ctx); err != nil {
		return err
	}
	return l.do(ctx, func(rows ledger.Rows) error { return rows.CloseHost(ctx, c) })
}

// OpenHost implements engine.Ledger. Where there is no ledger, nothing is closed.
func (l *lateLedger) OpenHost(ctx context.Context, hostKey, holder string) error {
	rows, err := l.existing(ctx)
	if rows == nil || err != nil {
		return l.about(err)
	}
	return l.about(rows.OpenHost(ctx, hostKey, holder))
}

func (l *lateLedger) do(ctx context.Context, act func(ledger.Rows) error) error {
	rows, err := l.open(ctx)
	if err != nil {
		return l.about(err)
	}
	return l.about(act(rows))
}
