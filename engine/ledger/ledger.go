// Package ledger stores reservations in SQL: the decision for a key, until MAAS
// shows it.
//
// Every write is keyed and may be sent twice. A write of several statements is
// one transaction. No statement that changes something returns rows. So the
// same SQL serves a file that several processes share, and a replicated
// database whose connection may break after a write was applied.
package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Ledger is the ledger of one region, which is one MAAS. It is safe for
// concurrent use, also by several processes on one file.
type Ledger struct {
	store  *store
	region string
	now    func() time.Time
}

var _ engine.Ledger = (*Ledger)(nil)

// Region returns the ledger of another MAAS in the same store. The name is any
// text that all users of that MAAS agree on. Keys of two regions are
// independent.
func (l *Ledger) Region(name string) *Ledger {
	return &Ledger{store: l.store, region: name, now: l.now}
}

// Close closes the store, for all its regions. Closing twice is no error.
func (l *Ledger) Close() error { return l.store.DB.Close() }

// newToken returns a token that no other call has.
var newToken = rand.Text

// neverShown is the shown_from of rows that no inventory shows.
const neverShown = int64(^uint64(0) >> 1)

// Row implements engine.Ledger.
func (l *Ledger) Row(ctx context.Context, key engine.Key) (engine.Row, error) {
	have := rowLookup{}
	if err := have.readFrom(ctx, l.store, l.region, key); err != nil {
		return engine.Row{}, fmt.Errorf("cannot read the ledger row of %s: %w", key, err)
	}
	return finishLookup(ctx, l, key, have)
}

// rowLookup is the result of a search for a row.
type rowLookup struct {
	scannedRow

	isMissing bool // there is no such row
}

// readFrom reads the row of a key, alone or in a transaction.
func (have *rowLookup) readFrom(ctx context.Context, from reader, region string, key engine.Key) error {
	*have = rowLookup{}
	err := from.queryRow(ctx, `SELECT `+rowColumns+` FROM reservations WHERE region = ?1 AND key = ?2`, []any{region, key}, have.scanTargets()...)
	have.isMissing = errors.Is(err, sql.ErrNoRows)
	if have.isMissing {
		return nil
	}
	return err
}

// finishLookup returns the row that was found; ErrNotFound if there is none.
func finishLookup(ctx context.Context, l *Ledger, key engine.Key, have rowLookup) (engine.Row, error) {
	if have.isMissing {
		return engine.Row{}, fmt.Errorf("no ledger row for %s: %w", key, engine.ErrNotFound)
	}
	row, err := have.decodeRow()
	if err == nil && isDatedAhead(row, l.now()) {
		row.Since, err = l.redateRowsAhead(ctx)
	}
	row.Age = rowAge(row, l.now())
	return row, err
}

// rowAge is the time since a row was dated.
func rowAge(row engine.Row, now time.Time) time.Duration { return max(0, now.Sub(row.Since)) }

// clockSlack is how far ahead of now a row may be dated. Clocks are adjusted by
// less than that all the time.
const clockSlack = 10 * time.Second

// isDatedAhead reports whether a row was dated by a clock that was set back
// since.
func isDatedAhead(row engine.Row, now time.Time) bool {
	return row.State != engine.RowBound && row.Since.After(now.Add(clockSlack))
}

// redateRowsAhead redates rows that are dated ahead to now, and returns that
// time. Otherwise the wait for them would not end: e.g. a row that was dated a
// day ahead would be young for a day.
func (l *Ledger) redateRowsAhead(ctx context.Context) (time.Time, error) {
	now := l.now().UnixMilli()
	err := l.store.exec(ctx, `
UPDATE reservations SET since_ms = ?2 WHERE region = ?1 AND state <> 'bound' AND since_ms > ?3`,
		l.region, now, now+clockSlack.Milliseconds())
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot correct the dates in the ledger: %w", err)
	}
	return time.UnixMilli(now).UTC(), nil
}

// listRows reads rows, corrects their dates and sets their ages.
func (l *Ledger) listRows(ctx context.Context, query string, args ...any) ([]engine.Row, error) {
	rows, err := l.store.queryLedgerRows(ctx, query, args...)
	now := l.now()
	if err == nil && slices.ContainsFunc(rows, func(row engine.Row) bool { return isDatedAhead(row, now) }) {
		now, err = l.redateRowsAhead(ctx)
	}
	for n := range rows {
		if isDatedAhead(rows[n], now) {
			rows[n].Since = now
		}
		rows[n].Age = rowAge(rows[n], now)
	}
	return rows, err
}

// Renew implements engine.Ledger.
func (l *Ledger) Renew(ctx context.Context, row engine.Row) error {
	return RenewAsHolder(ctx, l, l.store.keeper.Holder(row.Key), row)
}

// RenewAsHolder is Renew for a run that took the lease of the row's key as this
// holder; empty: it took none. A run that lost its lease renews nothing. For
// example, A reserves room and stalls, and B takes its lease: A must not
// compose beside B.
func RenewAsHolder(ctx context.Context, l *Ledger, holder string, row engine.Row) error {
	since := max(l.now().UnixMilli(), row.Since.UnixMilli()+1) // later than before, so that a write is visible
	have, kept := rowLookup{}, false
	err := l.store.runTransaction(ctx, func(ctx context.Context, tx transaction) error {
		err := tx.exec(ctx, `
UPDATE reservations SET since_ms = ?4
WHERE region = ?1 AND key = ?2 AND attempt = ?3 AND state = 'pending' AND token = ?5
  AND host_key NOT IN (SELECT host_key FROM closed_hosts WHERE region = ?1)
  AND (?6 = '' OR EXISTS (SELECT 1 FROM leases WHERE key = ?2 AND holder = ?6))`,
			l.region, row.Key, row.Attempt, since, row.Token, holder)
		if err == nil {
			kept, err = stillHasLease(ctx, tx, row.Key, holder)
		}
		if err == nil {
			err = have.readFrom(ctx, tx, l.region, row.Key)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot renew the reservation of %s: %w", row.Name, err)
	}
	if !kept {
		return (leaseTable{l.store, l.region, l.now}).lostLeaseError(ctx, row.Key)
	}
	now, err := finishLookup(ctx, l, row.Key, have)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return fmt.Errorf("the reservation of %s was dropped before it was used: %w", row.Name, engine.ErrBusy)
	case err != nil:
		return err
	case now.Token != row.Token || now.Attempt != row.Attempt || now.State != engine.RowPending:
		return fmt.Errorf("the reservation of %s was replaced by another one: %w", row.Name, engine.ErrBusy)
	case now.Since.UnixMilli() < since: // nothing was written
		return hostClosedError(row.Name)
	}
	return nil
}

// hostClosedError says why nothing may be made on a host for now.
func hostClosedError(name string) error {
	return fmt.Errorf("the VM host for %s is being removed or changed: %w", name, engine.ErrBusy)
}

const bindSQL = `
INSERT INTO reservations (region, key, name, host_key, zone, peer_group, cores, memory_mib, huge_pages_mib, disks,
  attempt, excluded, state, system_id, since_ms, token, shown_from)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?15, ?9, ?10, ?11, 'bound', ?12, ?13, ?14, (SELECT sequence + 1 FROM tag))
ON CONFLICT (region, key) DO UPDATE SET
  state      = CASE state WHEN 'leaving' THEN state ELSE 'bound' END,
  shown_from = CASE state WHEN 'leaving' THEN shown_from ELSE excluded.shown_from END,
  zone       = CASE host_key WHEN excluded.host_key THEN zone ELSE excluded.zone END,
  host_key    = excluded.host_key,
  system_id  = excluded.system_id
WHERE state = 'pending' OR system_id <> excluded.system_id OR host_key <> excluded.host_key`

// Bind implements engine.Ledger.
func (l *Ledger) Bind(ctx context.Context, row engine.Row) error {
	if row.SystemID == "" {
		return fmt.Errorf("cannot bind %s without a system id: %w", row.Key, engine.ErrInvalid)
	}
	if err := checkNeed(row.Need); err != nil {
		return fmt.Errorf("cannot bind %s: %w", row.Key, err)
	}
	have := rowLookup{}
	err := l.store.runTransaction(ctx, func(ctx context.Context, tx transaction) error {
		err := tx.exec(ctx, bindSQL, l.region, row.Key, row.Name, row.HostKey, row.Zone, row.Group,
			row.Need.Cores, row.Need.MemoryMiB, encodePools(row.Need.DiskBytes), max(1, row.Attempt), encodeList(row.Excluded),
			row.SystemID, l.now().UnixMilli(), newToken(), row.Need.HugePagesMiB)
		if err == nil {
			err = have.readFrom(ctx, tx, l.region, row.Key)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot bind %s: %w", row.Key, err)
	}
	bound, err := finishLookup(ctx, l, row.Key, have)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return fmt.Errorf("the row of %s was forgotten while it was bound: %w", row.Name, engine.ErrBusy)
	case err != nil:
		return err
	case bound.State == engine.RowLeaving:
		return fmt.Errorf("%s is being deleted: %w", row.Name, engine.ErrBusy)
	}
	return nil
}

// MarkLeaving implements engine.Ledger.
func (l *Ledger) MarkLeaving(ctx context.Context, key engine.Key) error {
	err := l.store.exec(ctx, `
UPDATE reservations SET state = 'leaving', shown_from = ?3, since_ms = CASE system_id WHEN '' THEN since_ms ELSE ?4 END
WHERE region = ?1 AND key = ?2 AND state <> 'leaving'`, l.region, key, neverShown, l.now().UnixMilli())
	if err != nil {
		return fmt.Errorf("cannot mark %s as leaving: %w", key, err)
	}
	return nil
}

// MayWrite implements engine.Ledger: a process that has the file may write all
// of it.
func (l *Ledger) MayWrite(context.Context, engine.Key) error { return nil }

// Drop implements engine.Ledger.
func (l *Ledger) Drop(ctx context.Context, row engine.Row) error {
	err := l.store.exec(ctx, `
DELETE FROM reservations
WHERE region = ?1 AND key = ?2 AND attempt = ?3 AND state = ?4 AND system_id = ?5 AND since_ms = ?6 AND token = ?7`,
		l.region, row.Key, row.Attempt, row.State, row.SystemID, row.Since.UnixMilli(), row.Token)
	if err != nil {
		return fmt.Errorf("cannot drop the row of %s: %w", row.Key, err)
	}
	return nil
}

// PendingRows implements engine.Ledger. The rows are sorted by key.
func (l *Ledger) PendingRows(ctx context.Context) ([]engine.Row, error) {
	// Rows without a system id are pending or leaving; the index finds them.
	rows, err := l.listRows(ctx, `
SELECT `+rowColumns+` FROM reservations WHERE region = ?1 AND shown_from = ?2 AND system_id = '' ORDER BY key`, l.region, neverShown)
	if err != nil {
		return nil, fmt.Errorf("cannot list the pending rows: %w", err)
	}
	return rows, nil
}

// Rows lists all rows of the region, sorted by key: pending, bound and leaving
// ones.
func (l *Ledger) Rows(ctx context.Context) ([]engine.Row, error) {
	rows, err := l.listRows(ctx, `SELECT `+rowColumns+` FROM reservations WHERE region = ?1 ORDER BY key`, l.region)
	if err != nil {
		return nil, fmt.Errorf("cannot list the ledger: %w", err)
	}
	return rows, nil
}
