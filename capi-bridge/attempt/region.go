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

// regionLedger is the ledger of one MAAS. What it does not override needs no row of a former
// leader: leases end with their process.
type regionLedger struct {
	*ledger.Ledger
	parent *Ledger
	name   string
}

var _ ledger.RegionLedger = (*regionLedger)(nil)

// restoreRows restores what a former leader has left in the region.
func (r *regionLedger) restoreRows(ctx context.Context) error {
	return r.parent.restoreRegion(ctx, r.name)
}

// restoreRowsAndKey does the same, and for a key whose object came later.
func (r *regionLedger) restoreRowsAndKey(ctx context.Context, key engine.Key) error {
	if err := r.restoreRows(ctx); err != nil || isGrowthKey(key) {
		return err
	}
	return r.parent.restoreLateMachine(ctx, r.name, key)
}

// isGrowthKey tells that a row is what a VM grows by, which has no object. Its LXD changes
// the size at once, or not at all.
func isGrowthKey(key engine.Key) bool { return strings.Contains(string(key), "#") }

// placeDelayTag is of inventories that are read while nothing may be placed. None serves, also
// later: a VM that is under way on an unknown host may be missing in it.
var placeDelayTag = engine.Tag{Generation: "held"}

// placeDelay is for how long nothing may be placed.
func (l *Ledger) placeDelay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.placeFrom.Sub(l.Now())
}

// placeDelayError says why nothing is placed, while that is so.
func (r *regionLedger) placeDelayError() error {
	left := r.parent.placeDelay()
	if left <= 0 {
		return nil
	}
	return fmt.Errorf("a former manager may still be making VMs that are recorded nowhere; the next one is placed in %s: %w", left.Round(time.Second), engine.ErrBusy)
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

// Place implements engine.Ledger. Nothing is written down: nothing is begun before Renew.
func (r *regionLedger) Place(ctx context.Context, want engine.Reservation) (engine.Row, bool, error) {
	if err := r.restoreRowsAndKey(ctx, want.Key); err != nil {
		return engine.Row{}, false, err
	}
	if err := r.placeDelayError(); err != nil {
		return engine.Row{}, false, err
	}
	return r.Ledger.Place(ctx, want)
}

// Move implements engine.Ledger. A row that a former leader has left is first moved on its
// own host: where that leader's compose comes late, LXD admits the name once. It goes
// elsewhere only if that host has no room. Where the host is closed, or the ledger fails,
// it waits.
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

// limitToRevivedHost asks for the host that a former leader composed on, where it still is a
// candidate.
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

// forgetRevivedRow notes that nothing of a former leader is unclear for a key any more.
func (l *Ledger) forgetRevivedRow(key engine.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.revivedRows, key)
}

// Renew implements engine.Ledger. It is the last thing before MAAS is asked: the row is
// written down first, and then the manager must still lead.
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

// recordRow writes the row of a key down. What another manager has written meanwhile stays,
// and is read anew.
func (r *regionLedger) recordRow(ctx context.Context, key engine.Key) error {
	row, err := r.Ledger.Row(ctx, key)
	if err != nil {
		return err
	}
	r.parent.mu.Lock()
	its := r.parent.objects[key]
	r.parent.mu.Unlock()
	err = r.parent.updateRecord(ctx, key, func(have string) (string, error) {
		// A record with the row's token is this manager's own, whose answer was lost.
		if has, _ := parseRecord(have); have != its.record && have != ownership.NoAttempt && has.Token != row.Token {
			r.parent.forgetObject(key)
			return "", notLeadingError("another one has begun " + row.Name)
		}
		return newRecord(r.name, row).String(), nil
	})
	if errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("cannot write down what is begun for %s: %w: %w", row.Name, engine.ErrBusy, err)
	}
	return err
}

// Bind implements engine.Ledger. The system id is written down once: a VM may bear no
// mark yet, and then only its row says whose it is.
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

// MarkLeaving implements engine.Ledger. Nothing is written down: the object is being deleted.
func (r *regionLedger) MarkLeaving(ctx context.Context, key engine.Key) error {
	if err := r.restoreRowsAndKey(ctx, key); err != nil {
		return err
	}
	return r.Ledger.MarkLeaving(ctx, key)
}

// errRecordOfOtherRow: a record stays, for it is not of the row that went.
var errRecordOfOtherRow = errors.New("the record is of another row")

// Drop implements engine.Ledger. What is written down of the row goes with it. Where that
// fails, the next leader waits for a compose that was over.
func (r *regionLedger) Drop(ctx context.Context, row engine.Row) error {
	if err := r.restoreRowsAndKey(ctx, row.Key); err != nil {
		return err
	}
	if err := r.Ledger.Drop(ctx, row); err != nil || isGrowthKey(row.Key) {
		return err
	}
	if _, err := r.Ledger.Row(ctx, row.Key); !errors.Is(err, engine.ErrNotFound) {
		return err // it was another row by then
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
