package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/capi-bridge/controller/ownership"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// regionLedger is the ledger of one MAAS. The methods that it does not override
// never need a row of a former leader: leases end with their process.
type regionLedger struct {
	*ledger.Ledger
	parent *Ledger
	name   string
}

var _ ledger.RegionLedger = (*regionLedger)(nil)

// restoreRows restores the rows that a former leader has left in the region.
func (r *regionLedger) restoreRows(ctx context.Context) error {
	return r.parent.restoreRegion(ctx, r.name)
}

// restoreRowsAndKey also restores the row of a key whose object came later.
func (r *regionLedger) restoreRowsAndKey(ctx context.Context, key engine.Key) error {
	if err := r.restoreRows(ctx); err != nil || isGrowthKey(key) {
		return err
	}
	return r.parent.restoreLateMachine(ctx, r.name, key)
}

// isGrowthKey reports whether a row reserves room for a VM to grow. Such a row
// has no object. LXD changes the size at once, or not at all.
func isGrowthKey(key engine.Key) bool { return strings.Contains(string(key), "#") }

// placeDelayTag is the tag of inventories that are read while nothing may be
// placed. They are never accepted, also not later: a VM under way on an unknown
// host may be missing in them.
var placeDelayTag = engine.Tag{Generation: "held"}

// placeDelay returns for how long nothing may be placed.
func (l *Ledger) placeDelay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.placeFrom.Sub(l.Now())
}

// placeDelayError says why nothing is placed at the moment.
func (r *regionLedger) placeDelayError() error {
	left := r.parent.placeDelay()
	if left <= 0 {
		return nil
	}
	return fmt.Errorf("a former manager may still be making unrecorded VMs; the next VM is placed in %s: %w", left.Round(time.Second), engine.ErrBusy)
}

// CurrentTag implements engine.Ledger.
func (r *regionLedger) CurrentTag(ctx context.Context) (engine.Tag, error) {
	if err := r.restoreRows(ctx); err != nil {
		return engine.Tag{}, err
	}
	if r.parent.placeDelay() > 0 {
		return placeDelayTag, nil
	}
	return r.Ledger.CurrentTag(ctx)
}

// AcceptsInventory implements engine.Ledger.
func (r *regionLedger) AcceptsInventory(ctx context.Context, inventory engine.Tag) (bool, error) {
	if err := r.restoreRows(ctx); err != nil {
		return false, err
	}
	return r.Ledger.AcceptsInventory(ctx, inventory)
}

// Row implements engine.Ledger.
func (r *regionLedger) Row(ctx context.Context, key engine.Key) (engine.Row, error) {
	if err := r.restoreRowsAndKey(ctx, key); err != nil {
		return engine.Row{}, err
	}
	return r.Ledger.Row(ctx, key)
}

// Rows implements engine.Ledger.
func (r *regionLedger) Rows(ctx context.Context) ([]engine.Row, error) {
	if err := r.restoreRows(ctx); err != nil {
		return nil, err
	}
	return r.Ledger.Rows(ctx)
}

// PendingRows implements engine.Ledger.
func (r *regionLedger) PendingRows(ctx context.Context) ([]engine.Row, error) {
	if err := r.restoreRows(ctx); err != nil {
		return nil, err
	}
	return r.Ledger.PendingRows(ctx)
}

// Place implements engine.Ledger. It writes no record: nothing is begun before
// Renew.
func (r *regionLedger) Place(ctx context.Context, want engine.Reservation) (engine.Row, bool, error) {
	if err := r.restoreRowsAndKey(ctx, want.Key); err != nil {
		return engine.Row{}, false, err
	}
	if err := r.placeDelayError(); err != nil {
		return engine.Row{}, false, err
	}
	return r.Ledger.Place(ctx, want)
}

// Move implements engine.Ledger. It first moves a row of a former leader to its
// own host again. If that leader's compose comes late, LXD accepts the name
// only once. The row goes elsewhere only if that host has no room. It waits
// where the host is closed or the ledger fails.
func (r *regionLedger) Move(ctx context.Context, attempt int, want engine.Reservation) (engine.Row, bool, error) {
	if err := r.restoreRowsAndKey(ctx, want.Key); err != nil {
		return engine.Row{}, false, err
	}
	if err := r.placeDelayError(); err != nil {
		return engine.Row{}, false, err
	}
	if again, ok := r.limitToRevivedHost(want); ok {
		row, fresh, err := r.Ledger.Move(ctx, attempt, again)
		if err == nil {
			r.parent.forgetRevivedRow(want.Key)
		}
		if full, ok := errors.AsType[*engine.Error](err); !ok || full.Type != engine.InsufficientResources {
			return row, fresh, err
		}
	}
	return r.Ledger.Move(ctx, attempt, want)
}

// limitToRevivedHost limits the candidates to the host that a former leader
// composed on, if it still is one.
func (r *regionLedger) limitToRevivedHost(want engine.Reservation) (engine.Reservation, bool) {
	r.parent.mu.Lock()
	row, ok := r.parent.revivedRows[want.Key]
	r.parent.mu.Unlock()
	n := slices.IndexFunc(want.Candidates, func(c engine.Candidate) bool { return c.HostKey == row.HostKey })
	if !ok || n < 0 {
		return want, false
	}
	want.Candidates = want.Candidates[n : n+1]
	want.Exclude = slices.DeleteFunc(slices.Clone(want.Exclude), func(host string) bool { return host == row.HostKey })
	return want, true
}

// forgetRevivedRow notes that no compose of a former leader is unclear for this
// key any more.
func (l *Ledger) forgetRevivedRow(key engine.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.revivedRows, key)
}

// Renew implements engine.Ledger. It is the last step before MAAS is asked.
// First it writes the record. Then it checks that this manager still leads.
func (r *regionLedger) Renew(ctx context.Context, row engine.Row) error {
	if err := r.restoreRowsAndKey(ctx, row.Key); err != nil {
		return err
	}
	if err := r.Ledger.Renew(ctx, row); err != nil {
		return err
	}
	if !isGrowthKey(row.Key) {
		if err := r.recordRow(ctx, row.Key); err != nil {
			return err
		}
	}
	if r.parent.CheckLeader == nil {
		return nil
	}
	return r.parent.CheckLeader(ctx)
}

// recordRow writes the record of a key's row. If another manager has written
// one meanwhile, that one stays and is read again.
func (r *regionLedger) recordRow(ctx context.Context, key engine.Key) error {
	row, err := r.Ledger.Row(ctx, key)
	if err != nil {
		return err
	}
	r.parent.mu.Lock()
	its := r.parent.objects[key]
	r.parent.mu.Unlock()
	err = r.parent.updateRecord(ctx, key, func(have string) (string, error) {
		// A record with the row's token is this manager's own; the reply of its
		// write was lost.
		if has, _ := parseRecord(have); have != its.record && have != ownership.NoAttempt && has.Token != row.Token {
			r.parent.forgetObject(key)
			return "", notLeadingError("another manager has begun " + row.Name)
		}
		return newRecord(r.name, row).String(), nil
	})
	if errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("cannot record the attempt for %s: %w: %w", row.Name, engine.ErrBusy, err)
	}
	return err
}

// Bind implements engine.Ledger. It records the system id once. A VM may have
// no mark yet, and then only its row says whose it is.
func (r *regionLedger) Bind(ctx context.Context, row engine.Row) error {
	if err := r.restoreRowsAndKey(ctx, row.Key); err != nil {
		return err
	}
	if err := r.Ledger.Bind(ctx, row); err != nil {
		return err
	}
	r.parent.forgetRevivedRow(row.Key)
	r.parent.mu.Lock()
	its, ok := r.parent.objects[row.Key]
	r.parent.mu.Unlock()
	if has, _ := parseRecord(its.record); !ok || has.SystemID == row.SystemID && has.Host == row.HostKey {
		return nil
	}
	return r.recordRow(ctx, row.Key)
}

// MarkLeaving implements engine.Ledger. It writes no record: the object is
// being deleted.
func (r *regionLedger) MarkLeaving(ctx context.Context, key engine.Key) error {
	if err := r.restoreRowsAndKey(ctx, key); err != nil {
		return err
	}
	return r.Ledger.MarkLeaving(ctx, key)
}

// errRecordOfOtherRow keeps a record that belongs to another row than the
// dropped one.
var errRecordOfOtherRow = errors.New("the record is of another row")

// Drop implements engine.Ledger. It also removes the row's record. If that
// fails, the next leader waits for a compose that is already over.
func (r *regionLedger) Drop(ctx context.Context, row engine.Row) error {
	if err := r.restoreRowsAndKey(ctx, row.Key); err != nil {
		return err
	}
	if err := r.Ledger.Drop(ctx, row); err != nil || isGrowthKey(row.Key) {
		return err
	}
	if _, err := r.Ledger.Row(ctx, row.Key); !errors.Is(err, engine.ErrNotFound) {
		return err // the key has another row by now
	}
	r.parent.forgetRevivedRow(row.Key)
	err := r.parent.updateRecord(ctx, row.Key, func(have string) (string, error) {
		if has, ok := parseRecord(have); have == ownership.NoAttempt || ok && has.Token != row.Token {
			return "", errRecordOfOtherRow
		}
		return ownership.NoAttempt, nil
	})
	if errors.Is(err, errRecordOfOtherRow) || errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrUnavailable) {
		return nil
	}
	return err
}

// TakeOverRegion implements ledger.Rows.
func (r *regionLedger) TakeOverRegion(ctx context.Context, from string) error {
	if err := errors.Join(r.parent.restoreRegion(ctx, from), r.restoreRows(ctx)); err != nil {
		return err
	}
	return r.Ledger.TakeOverRegion(ctx, from)
}
