// Package ledger keeps reservations on SQL: what was decided for a key, until
// MAAS shows it.
//
// Every write is one statement, keyed, and may be sent twice. None returns
// rows, and no transaction stays open between two statements, so that the same
// SQL serves a file that several processes share and a replicated database
// whose connection may break after a statement was applied.
package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
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
// text that all users of that MAAS agree on. Keys of two regions have nothing
// to do with each other.
func (l *Ledger) Region(name string) *Ledger {
	return &Ledger{store: l.store, region: name, now: l.now}
}

// Close gives up the store, for all of its regions. Closing twice is no error.
func (l *Ledger) Close() error { return l.store.db.Close() }

// newToken tells one call from all others.
var newToken = rand.Text

// never is the shown_from of rows that no inventory shows.
const never = int64(^uint64(0) >> 1)

// Tag implements engine.Ledger.
func (l *Ledger) Tag(ctx context.Context) (tag engine.Tag, err error) {
	err = l.store.row(ctx, `SELECT generation, sequence, floor FROM tag`, nil, &tag.Generation, &tag.Sequence, &tag.Floor)
	if err != nil {
		return engine.Tag{}, fmt.Errorf("cannot read the ledger's tag: %w", err)
	}
	return tag, nil
}

// Row implements engine.Ledger.
func (l *Ledger) Row(ctx context.Context, key engine.Key) (engine.Row, error) {
	row, _, err := l.find(ctx, key)
	return row, err
}

// find also returns the token of the call that placed or moved the row.
func (l *Ledger) find(ctx context.Context, key engine.Key) (engine.Row, string, error) {
	var token string
	s := scan{}
	err := l.store.row(ctx, `SELECT `+columns+`, token FROM reservations WHERE region = ?1 AND key = ?2`,
		[]any{l.region, key}, append(s.targets(), &token)...)
	if errors.Is(err, sql.ErrNoRows) {
		return engine.Row{}, "", fmt.Errorf("no ledger row for %s: %w", key, engine.ErrNotFound)
	}
	if err != nil {
		return engine.Row{}, "", fmt.Errorf("cannot read the ledger row of %s: %w", key, err)
	}
	row, err := s.done()
	return row, token, err
}

// Renew implements engine.Ledger.
func (l *Ledger) Renew(ctx context.Context, row engine.Row) error {
	err := l.store.exec(ctx, `
UPDATE reservations SET since_ms = ?4
WHERE region = ?1 AND key = ?2 AND attempt = ?3 AND state = 'pending'`, l.region, row.Key, row.Attempt, l.now().UnixMilli())
	if err != nil {
		return fmt.Errorf("cannot renew the reservation of %s: %w", row.Name, err)
	}
	now, err := l.Row(ctx, row.Key)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return fmt.Errorf("the reservation of %s was dropped before it was used: %w", row.Name, engine.ErrBusy)
	case err != nil:
		return err
	case now.Attempt != row.Attempt || now.State != engine.RowPending:
		return fmt.Errorf("the reservation of %s is another one by now: %w", row.Name, engine.ErrBusy)
	}
	return nil
}

const bind = `
INSERT INTO reservations (region, key, name, host_key, zone, peer_group, cores, memory_mib, disks,
  attempt, excluded, state, system_id, since_ms, token, shown_from)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'bound', ?12, ?13, ?14, (SELECT sequence + 1 FROM tag))
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
	err := l.store.exec(ctx, bind, l.region, row.Key, row.Name, row.HostKey, row.Zone, row.Group,
		row.Need.Cores, row.Need.MemoryMiB, object(row.Need.DiskBytes), max(1, row.Attempt), list(row.Excluded),
		row.SystemID, l.now().UnixMilli(), newToken())
	if err != nil {
		return fmt.Errorf("cannot bind %s: %w", row.Key, err)
	}
	bound, err := l.Row(ctx, row.Key)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return fmt.Errorf("%s was forgotten while it was bound: %w", row.Name, engine.ErrBusy)
	case err != nil:
		return err
	case bound.State == engine.RowLeaving:
		return fmt.Errorf("%s is being deleted: %w", row.Name, engine.ErrBusy)
	}
	return nil
}

// Leaving implements engine.Ledger.
func (l *Ledger) Leaving(ctx context.Context, key engine.Key) error {
	err := l.store.exec(ctx, `
UPDATE reservations SET state = 'leaving', shown_from = ?3
WHERE region = ?1 AND key = ?2 AND state <> 'leaving'`, l.region, key, never)
	if err != nil {
		return fmt.Errorf("cannot mark %s as leaving: %w", key, err)
	}
	return nil
}

// Forget implements engine.Ledger.
func (l *Ledger) Forget(ctx context.Context, key engine.Key) error {
	if err := l.store.exec(ctx, `DELETE FROM reservations WHERE region = ?1 AND key = ?2`, l.region, key); err != nil {
		return fmt.Errorf("cannot forget %s: %w", key, err)
	}
	return nil
}

// Drop implements engine.Ledger.
func (l *Ledger) Drop(ctx context.Context, row engine.Row) error {
	err := l.store.exec(ctx, `
DELETE FROM reservations
WHERE region = ?1 AND key = ?2 AND attempt = ?3 AND state = ?4 AND system_id = ?5 AND since_ms = ?6`,
		l.region, row.Key, row.Attempt, row.State, row.SystemID, row.Since.UnixMilli())
	if err != nil {
		return fmt.Errorf("cannot drop the row of %s: %w", row.Key, err)
	}
	return nil
}

// Pending implements engine.Ledger. The rows are sorted by key.
func (l *Ledger) Pending(ctx context.Context) ([]engine.Row, error) {
	// What has no system id is pending or leaving, which the index finds.
	rows, err := l.store.rows(ctx, `
SELECT `+columns+` FROM reservations WHERE region = ?1 AND shown_from = ?2 AND system_id = '' ORDER BY key`, l.region, never)
	if err != nil {
		return nil, fmt.Errorf("cannot list what is pending: %w", err)
	}
	return rows, nil
}

// Rows lists all rows of the region, sorted by key: what is reserved, known or
// leaving.
func (l *Ledger) Rows(ctx context.Context) ([]engine.Row, error) {
	rows, err := l.store.rows(ctx, `SELECT `+columns+` FROM reservations WHERE region = ?1 ORDER BY key`, l.region)
	if err != nil {
		return nil, fmt.Errorf("cannot list the ledger: %w", err)
	}
	return rows, nil
}
