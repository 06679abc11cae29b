package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
)

var (
	_ engine.Leases = (*Ledger)(nil)
	_ lease.Table   = leaseTable{}
)

// Hold implements engine.Leases.
func (l *Ledger) Hold(ctx context.Context, key engine.Key) (release func(), err error) {
	return l.store.keeper.Hold(ctx, l.LeaseTable(), key)
}

// ListCutOff lists the keys with a prefix whose makers died before they gave
// back their leases.
func (l *Ledger) ListCutOff(ctx context.Context, prefix string) ([]engine.Key, error) {
	return lease.ListCutOff(ctx, l.LeaseTable(), prefix)
}

// ClearCutOff records that a state names the object of a key, so that it is no
// longer cut off.
func (l *Ledger) ClearCutOff(ctx context.Context, key engine.Key) error {
	return lease.ClearCutOff(ctx, l.LeaseTable(), key)
}

// LeaseTable returns the lease table of this region, for the code that checks
// the holders.
func (l *Ledger) LeaseTable() lease.Table { return leaseTable{l.store, l.region, l.now} }

// leaseTable is the table of a region.
type leaseTable struct {
	store  *store
	region string
	now    func() time.Time
}

// stillHasLease reports whether the lease of a key still belongs to this
// holder. Without a holder there is no lease to lose. As in DropLease, the
// region does not count.
func stillHasLease(ctx context.Context, tx transaction, key engine.Key, holder string) (kept bool, err error) {
	if holder == "" {
		return true, nil
	}
	err = tx.queryRow(ctx, `SELECT EXISTS (SELECT 1 FROM leases WHERE key = ?1 AND holder = ?2) AS kept`, []any{key, holder}, &kept)
	return kept, err
}

// lostLeaseError says that a lease was lost. It is a *engine.HeldError where
// another run has it.
func (l leaseTable) lostLeaseError(ctx context.Context, key engine.Key) error {
	have, err := l.readLease(ctx, key)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return fmt.Errorf("the lease of %s was lost: another run has made it meanwhile: %w", key, engine.ErrBusy)
	case err != nil:
		return err
	}
	return &engine.HeldError{Key: key, By: have.Process.String()}
}

// takeLeaseSQL takes a lease that nobody has, or whose holder was found dead.
//
//	?1 region  ?2 key  ?3 holder  ?4 session  ?5 machine  ?6 pid  ?7 started  ?8 now  ?9 dead holder
//	?10 parent  ?11 when it was started
const takeLeaseSQL = `
INSERT INTO leases (region, key, holder, session, machine, pid, started, parent, parent_started, beat_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?10, ?11, ?8)
ON CONFLICT (region, key) DO UPDATE SET
  holder = excluded.holder, session = excluded.session, machine = excluded.machine,
  pid = excluded.pid, started = excluded.started,
  parent = excluded.parent, parent_started = excluded.parent_started, beat_ms = excluded.beat_ms
WHERE leases.holder = ?9`

// TakeLease implements lease.Table.
func (l leaseTable) TakeLease(ctx context.Context, mine lease.Lease, dead string) (lease.Lease, error) {
	p := mine.Process
	var found string
	err := l.store.runTransaction(ctx, func(ctx context.Context, tx transaction) error {
		err := tx.exec(ctx, takeLeaseSQL, l.region, mine.Key, mine.Holder, mine.Session, p.Machine, p.PID, p.Started, l.now().UnixMilli(), dead, p.Parent, p.ParentStarted)
		if err == nil {
			err = tx.queryRow(ctx, selectLeasesSQL(whereKeyIs), []any{l.region, mine.Key}, &found)
		}
		return err
	})
	if err != nil {
		return lease.Lease{}, err
	}
	return l.decodeOneLease(mine.Key, found)
}

// readLease reads a lease; ErrNotFound if nobody has it.
func (l leaseTable) readLease(ctx context.Context, key engine.Key) (lease.Lease, error) {
	var found string
	if err := l.store.queryRow(ctx, selectLeasesSQL(whereKeyIs), []any{l.region, key}, &found); err != nil {
		return lease.Lease{}, fmt.Errorf("cannot read the lease of %s: %w", key, err)
	}
	return l.decodeOneLease(key, found)
}

// decodeOneLease returns the only lease of a result; ErrNotFound if there is
// none.
func (l leaseTable) decodeOneLease(key engine.Key, found string) (lease.Lease, error) {
	have, err := l.decodeLeases(found)
	switch {
	case err != nil:
		return lease.Lease{}, err
	case len(have) == 0:
		return lease.Lease{}, fmt.Errorf("nobody has the lease of %s: %w", key, engine.ErrNotFound)
	}
	return have[0], nil
}

// Conditions for selectLeasesSQL on the text ?2.
const (
	whereKeyIs        = `key = ?2`
	whereKeyHasPrefix = `substr(key, 1, length(?2)) = ?2`
)

// selectLeasesSQL returns the query for the leases of region ?1 that meet a
// condition, sorted by key.
func selectLeasesSQL(condition string) string {
	return `
SELECT json_group_array(json_object('Key', key, 'Holder', holder, 'BeatMS', beat_ms, 'Process',
  json_object('Machine', machine, 'PID', pid, 'Started', started, 'Parent', parent, 'ParentStarted', parent_started))) AS found
FROM (SELECT * FROM leases WHERE region = ?1 AND ` + condition + ` ORDER BY key)`
}

// decodeLeases decodes the result of selectLeasesSQL.
func (l leaseTable) decodeLeases(found string) ([]lease.Lease, error) {
	var all []lease.Lease
	if err := decodeJSON(found, &all); err != nil {
		return nil, fmt.Errorf("the leases in the ledger cannot be decoded: %w", err)
	}
	for i := range all {
		all[i].Age = l.now().Sub(time.UnixMilli(all[i].BeatMS))
	}
	return all, nil
}

// DropLease implements lease.Table. The region does not count, because the
// MAAS's region may have a new name by now.
func (l leaseTable) DropLease(ctx context.Context, key engine.Key, holder string) error {
	return l.store.exec(ctx, `DELETE FROM leases WHERE key = ?1 AND holder = ?2`, key, holder)
}

// BeatLeases implements lease.Table, for all regions.
func (l leaseTable) BeatLeases(ctx context.Context, session string) error {
	return l.store.exec(ctx, `UPDATE leases SET beat_ms = ?2 WHERE session = ?1`, session, l.now().UnixMilli())
}

// Leases implements lease.Table.
func (l leaseTable) Leases(ctx context.Context, prefix string) ([]lease.Lease, error) {
	var found string
	if err := l.store.queryRow(ctx, selectLeasesSQL(whereKeyHasPrefix), []any{l.region, prefix}, &found); err != nil {
		return nil, fmt.Errorf("cannot read the leases: %w", err)
	}
	return l.decodeLeases(found)
}
