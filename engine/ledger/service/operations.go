package service

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// operation is a call of the port, and what the client must have the right to.
type operation struct {
	wire.Operation
	// complete tells whether the call has what it is about; nil: each has.
	complete func(wire.Call) bool
	everyone bool // it touches no region
	// key is the key whose row is written; nil: it writes none of a key.
	key   func(wire.Call) engine.Key
	serve func(context.Context, *request, *ledger.Ledger, *wire.Answer) error
}

// operations are all of them, by name.
func operations() map[string]operation {
	all := map[string]operation{}
	for _, of := range [][]operation{reads(), writesOfRows(), writesOfHosts(), ofLeases()} {
		for _, o := range of {
			all[o.Name] = o
		}
	}
	return all
}

func reads() []operation {
	return []operation{
		{Operation: wire.Hello, everyone: true, serve: func(_ context.Context, r *request, _ *ledger.Ledger, a *wire.Answer) error {
			a.Client = &wire.Client{Name: r.client.Name, Regions: r.client.Regions, Prefix: r.client.Prefix, Expires: r.client.Expires, Service: r.service.Version}
			return nil
		}},
		{Operation: wire.Tag, everyone: true, serve: func(ctx context.Context, _ *request, l *ledger.Ledger, a *wire.Answer) error {
			tag, err := l.Tag(ctx)
			a.Tag = &tag
			return err
		}},
		{Operation: wire.Serves, everyone: true, complete: func(c wire.Call) bool { return c.Inventory != nil }, serve: func(ctx context.Context, r *request, l *ledger.Ledger, a *wire.Answer) (err error) {
			a.Serves, err = l.Serves(ctx, *r.call.Inventory)
			return err
		}},
		{Operation: wire.Row, serve: func(ctx context.Context, r *request, l *ledger.Ledger, a *wire.Answer) error {
			row, err := l.Row(ctx, r.call.Key)
			a.Row = &row
			return err
		}},
		{Operation: wire.Rows, serve: func(ctx context.Context, _ *request, l *ledger.Ledger, a *wire.Answer) (err error) {
			a.Rows, err = l.Rows(ctx)
			return err
		}},
		{Operation: wire.Pending, serve: func(ctx context.Context, _ *request, l *ledger.Ledger, a *wire.Answer) (err error) {
			a.Rows, err = l.Pending(ctx)
			return err
		}},
		{Operation: wire.MayWrite, key: func(c wire.Call) engine.Key { return c.Key }, serve: func(context.Context, *request, *ledger.Ledger, *wire.Answer) error {
			return nil // else it would have been refused
		}},
	}
}

func writesOfRows() []operation {
	ofRow := func(c wire.Call) engine.Key { return c.Row.Key }
	ofReservation := func(c wire.Call) engine.Key { return c.Reservation.Key }
	hasRow := func(c wire.Call) bool { return c.Row != nil }
	hasReservation := func(c wire.Call) bool { return c.Reservation != nil }
	return []operation{
		{Operation: wire.Place, complete: hasReservation, key: ofReservation, serve: func(ctx context.Context, r *request, l *ledger.Ledger, a *wire.Answer) error {
			return r.reserve(a, func(wanted engine.Reservation) (engine.Row, bool, error) { return l.PlaceOnce(ctx, r.id, wanted) })
		}},
		{Operation: wire.Move, complete: hasReservation, key: ofReservation, serve: func(ctx context.Context, r *request, l *ledger.Ledger, a *wire.Answer) error {
			return r.reserve(a, func(wanted engine.Reservation) (engine.Row, bool, error) {
				return l.MoveOnce(ctx, r.id, r.call.Attempt, wanted)
			})
		}},
		{Operation: wire.Renew, complete: hasRow, key: ofRow, serve: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			return ledger.RenewAs(ctx, l, r.call.Holder, *r.call.Row)
		}},
		{Operation: wire.Bind, complete: hasRow, key: ofRow, serve: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			return l.Bind(ctx, *r.call.Row)
		}},
		{Operation: wire.Drop, complete: hasRow, key: ofRow, serve: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			return l.Drop(ctx, *r.call.Row)
		}},
		{Operation: wire.Leaving, key: func(c wire.Call) engine.Key { return c.Key }, serve: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			return l.Leaving(ctx, r.call.Key)
		}},
		{Operation: wire.TakeKeys, serve: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			if !r.client.MayUse(r.call.From) {
				return nil // it has nothing there
			}
			return l.TakeKeys(ctx, r.call.From, r.client.KeyPrefix())
		}},
	}
}

// reserve answers with the row that the call's reservation has got.
func (r *request) reserve(a *wire.Answer, do func(engine.Reservation) (engine.Row, bool, error)) error {
	wanted, err := r.call.Reservation.FromColumns()
	if err != nil {
		return err
	}
	row, fresh, err := do(wanted)
	a.Row, a.Fresh = &row, fresh
	return err
}

// writesOfHosts close and open VM hosts, which are the whole region's. A holder is one
// of its client: nobody goes on with another one's close.
func writesOfHosts() []operation {
	return []operation{
		{Operation: wire.CloseHost, complete: func(c wire.Call) bool { return c.Close != nil }, serve: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			closing := *r.call.Close
			closing.Holder = r.client.Name + "/" + closing.Holder
			return l.CloseHost(ctx, closing)
		}},
		{Operation: wire.OpenHost, serve: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			holder := r.call.Holder
			if holder != "" {
				holder = r.client.Name + "/" + holder
			}
			return l.OpenHost(ctx, r.call.HostKey, holder)
		}},
	}
}

// ofLeases are about who makes the object of a key. A session is one of its client, too.
func ofLeases() []operation {
	return []operation{
		{Operation: wire.TakeLease, complete: func(c wire.Call) bool { return c.Lease != nil }, key: func(c wire.Call) engine.Key { return c.Lease.Key },
			serve: func(ctx context.Context, r *request, l *ledger.Ledger, a *wire.Answer) error {
				mine := *r.call.Lease
				mine.Session = r.client.Name + "/" + mine.Session
				have, err := l.LeaseTable().TakeLease(ctx, mine, r.call.Holder)
				a.Lease = &have
				return err
			}},
		{Operation: wire.DropLease, key: func(c wire.Call) engine.Key { return c.Key }, serve: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			return l.LeaseTable().DropLease(ctx, r.call.Key, r.call.Holder)
		}},
		{Operation: wire.Beat, everyone: true, serve: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			return l.LeaseTable().BeatLeases(ctx, r.client.Name+"/"+r.call.Session)
		}},
		{Operation: wire.Leases, key: func(c wire.Call) engine.Key { return engine.Key(c.Prefix) }, serve: func(ctx context.Context, r *request, l *ledger.Ledger, a *wire.Answer) (err error) {
			a.Leases, err = l.LeaseTable().Leases(ctx, r.call.Prefix)
			return err
		}},
	}
}
