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

// region is the ledger of one MAAS. What it does not override needs no row of a former
// leader: leases end with their process.
type region struct {
	*ledger.Ledger
	all  *Ledger
	name string
}

var _ ledger.Rows = (*region)(nil)

// ready restores what a former leader has left in the region.
func (r *region) ready(ctx context.Context) error { return r.all.restoreRegion(ctx, r.name) }

// readyFor does the same, and for a key whose object came later.
func (r *region) readyFor(ctx context.Context, key engine.Key) error {
	if err := r.ready(ctx); err != nil || isGrowth(key) {
		return err
	}
	return r.all.learn(ctx, r.name, key)
}

// isGrowth tells that a row is what a VM grows by, which has no object. Its LXD changes
// the size at once, or not at all.
func isGrowth(key engine.Key) bool { return strings.Contains(string(key), "#") }

// heldTag is of inventories that are read while nothing may be placed. None serves, also
// later: a VM that is under way on an unknown host may be missing in it.
var heldTag = engine.Tag{Generation: "held"}

// holding is for how long nothing may be placed.
func (l *Ledger) holding() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.placing.Sub(l.Now())
}

// heldError says why nothing is placed, while that is so.
func (r *region) heldError() error {
	left := r.all.holding()
	if left <= 0 {
		return nil
	}
	return fmt.Errorf("a former manager may still be making VMs that are recorded nowhere; the next one is placed in %s: %w", left.Round(time.Second), engine.ErrBusy)
}

// Tag implements engine.Ledger.
func (r *region) Tag(ctx context.Context) (engine.Tag, error) {
	if err := r.ready(ctx); err != nil {
		return engine.Tag{}, err
	}
	if r.all.holding() > 0 {
		return heldTag, nil
	}
	return r.Ledger.Tag(ctx)
}

// Serves implements engine.Ledger.
func (r *region) Serves(ctx context.Context, inventory engine.Tag) (bool, error) {
	if err := r.ready(ctx); err != nil {
		return false, err
	}
	return r.Ledger.Serves(ctx, inventory)
}

// Row implements engine.Ledger.
func (r *region) Row(ctx context.Context, key engine.Key) (engine.Row, error) {
	if err := r.readyFor(ctx, key); err != nil {
		return engine.Row{}, err
	}
	return r.Ledger.Row(ctx, key)
}

// Rows implements engine.Ledger.
func (r *region) Rows(ctx context.Context) ([]engine.Row, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	return r.Ledger.Rows(ctx)
}

// Pending implements engine.Ledger.
func (r *region) Pending(ctx context.Context) ([]engine.Row, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	return r.Ledger.Pending(ctx)
}

// Place implements engine.Ledger. Nothing is written down: nothing is begun before Renew.
func (r *region) Place(ctx context.Context, want engine.Reservation) (engine.Row, bool, error) {
	if err := r.readyFor(ctx, want.Key); err != nil {
		return engine.Row{}, false, err
	}
	if err := r.heldError(); err != nil {
		return engine.Row{}, false, err
	}
	return r.Ledger.Place(ctx, want)
}

// Move implements engine.Ledger. A row that a former leader has left is first moved on its
// own host: where that leader's compose comes late, LXD admits the name once. It goes
// elsewhere only if that host has no room. Where the host is closed, or the ledger fails,
// it waits.
func (r *region) Move(ctx context.Context, attempt int, want engine.Reservation) (engine.Row, bool, error) {
	if err := r.readyFor(ctx, want.Key); err != nil {
		return engine.Row{}, false, err
	}
	if err := r.heldError(); err != nil {
		return engine.Row{}, false, err
	}
	if again, ok := r.onSameHost(want); ok {
		row, fresh, err := r.Ledger.Move(ctx, attempt, again)
		if err == nil {
			r.all.settle(want.Key)
		}
		if full, ok := errors.AsType[*engine.Error](err); !ok || full.Type != engine.InsufficientResources {
			return row, fresh, err
		}
	}
	return r.Ledger.Move(ctx, attempt, want)
}

// onSameHost asks for the host that a former leader composed on, where it still is a
// candidate.
func (r *region) onSameHost(want engine.Reservation) (engine.Reservation, bool) {
	r.all.mu.Lock()
	row, ok := r.all.revived[want.Key]
	r.all.mu.Unlock()
	n := slices.IndexFunc(want.Candidates, func(c engine.Candidate) bool { return c.HostKey == row.HostKey })
	if !ok || n < 0 {
		return want, false
	}
	want.Candidates = want.Candidates[n : n+1]
	want.Exclude = slices.DeleteFunc(slices.Clone(want.Exclude), func(host string) bool { return host == row.HostKey })
	return want, true
}

// settle notes that nothing of a former leader is unclear for a key any more.
func (l *Ledger) settle(key engine.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.revived, key)
}

// Renew implements engine.Ledger. It is the last thing before MAAS is asked: the row is
// written down first, and then the manager must still lead.
func (r *region) Renew(ctx context.Context, row engine.Row) error {
	if err := r.readyFor(ctx, row.Key); err != nil {
		return err
	}
	if err := r.Ledger.Renew(ctx, row); err != nil {
		return err
	}
	if !isGrowth(row.Key) {
		if err := r.record(ctx, row.Key); err != nil {
			return err
		}
	}
	if r.all.Leads == nil {
		return nil
	}
	return r.all.Leads(ctx)
}

// record writes the row of a key down. What another manager has written meanwhile stays,
// and is read anew.
func (r *region) record(ctx context.Context, key engine.Key) error {
	row, err := r.Ledger.Row(ctx, key)
	if err != nil {
		return err
	}
	r.all.mu.Lock()
	its := r.all.objects[key]
	r.all.mu.Unlock()
	err = r.all.write(ctx, key, func(have string) (string, error) {
		// A record with the row's token is this manager's own, whose answer was lost.
		if has, _ := parseRecord(have); have != its.record && have != ownership.NoAttempt && has.Token != row.Token {
			r.all.forget(key)
			return "", notLeadingError("another one has begun " + row.Name)
		}
		return recordOf(r.name, row).String(), nil
	})
	if errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("cannot write down what is begun for %s: %w: %w", row.Name, engine.ErrBusy, err)
	}
	return err
}

// Bind implements engine.Ledger. The system id is written down once: a VM may bear no
// mark yet, and then only its row says whose it is.
func (r *region) Bind(ctx context.Context, row engine.Row) error {
	if err := r.readyFor(ctx, row.Key); err != nil {
		return err
	}
	if err := r.Ledger.Bind(ctx, row); err != nil {
		return err
	}
	r.all.settle(row.Key)
	r.all.mu.Lock()
	its, ok := r.all.objects[row.Key]
	r.all.mu.Unlock()
	if has, _ := parseRecord(its.record); !ok || has.SystemID == row.SystemID && has.Host == row.HostKey {
		return nil
	}
	return r.record(ctx, row.Key)
}

// Leaving implements engine.Ledger. Nothing is written down: the object is being deleted.
func (r *region) Leaving(ctx context.Context, key engine.Key) error {
	if err := r.readyFor(ctx, key); err != nil {
		return err
	}
	return r.Ledger.Leaving(ctx, key)
}

// errKept: a record stays, for it is not of the row that went.
var errKept = errors.New("the record is of another row")

// Drop implements engine.Ledger. What is written down of the row goes with it. Where that
// fails, the next leader waits for a compose that was over.
func (r *region) Drop(ctx context.Context, row engine.Row) error {
	if err := r.readyFor(ctx, row.Key); err != nil {
		return err
	}
	if err := r.Ledger.Drop(ctx, row); err != nil || isGrowth(row.Key) {
		return err
	}
	if _, err := r.Ledger.Row(ctx, row.Key); !errors.Is(err, engine.ErrNotFound) {
		return err // it was another row by then
	}
	r.all.settle(row.Key)
	err := r.all.write(ctx, row.Key, func(have string) (string, error) {
		if has, ok := parseRecord(have); have == ownership.NoAttempt || ok && has.Token != row.Token {
			return "", errKept
		}
		return ownership.NoAttempt, nil
	})
	if errors.Is(err, errKept) || errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrUnavailable) {
		return nil
	}
	return err
}

// TakeRegion implements ledger.Rows.
func (r *region) TakeRegion(ctx context.Context, from string) error {
	if err := errors.Join(r.all.restoreRegion(ctx, from), r.ready(ctx)); err != nil {
		return err
	}
	return r.Ledger.TakeRegion(ctx, from)
}
