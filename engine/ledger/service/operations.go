package service

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// operation is an operation of the protocol, with the checks that it needs and the function that
// does it.
type operation struct {
	wire.Operation
	// isComplete reports whether the call has the fields that it needs; nil: it needs none.
	isComplete      func(wire.Call) bool
	isForAllRegions bool // the call names no region
	// writtenKey returns the key whose row is written; nil: the call writes no row.
	writtenKey func(wire.Call) engine.Key
	run        func(context.Context, *request, *ledger.Ledger, *wire.Answer) error
}

// operationsByName returns all operations by their names.
func operationsByName() map[string]operation {
	all := map[string]operation{}
	for _, of := range [][]operation{readOperations(), rowWriteOperations(), hostWriteOperations(), leaseOperations()} {
		for _, o := range of {
			all[o.Name] = o
		}
	}
	return all
}

func readOperations() []operation {
	return []operation{
		{Operation: wire.OpHello, isForAllRegions: true, run: func(_ context.Context, r *request, _ *ledger.Ledger, a *wire.Answer) error {
			a.Client = &wire.Client{Name: r.client.Name, Regions: r.client.Regions, Prefix: r.client.Prefix, Expires: r.client.Expires, Service: r.service.Version}
			return nil
		}},
		{Operation: wire.OpTag, isForAllRegions: true, run: func(ctx context.Context, _ *request, l *ledger.Ledger, a *wire.Answer) error {
			tag, err := l.CurrentTag(ctx)
			a.Tag = &tag
			return err
		}},
		{Operation: wire.OpServes, isForAllRegions: true, isComplete: func(c wire.Call) bool { return c.Inventory != nil }, run: func(ctx context.Context, r *request, l *ledger.Ledger, a *wire.Answer) (err error) {
			a.Serves, err = l.AcceptsInventory(ctx, *r.call.Inventory)
			return err
		}},
		{Operation: wire.OpRow, run: func(ctx context.Context, r *request, l *ledger.Ledger, a *wire.Answer) error {
			row, err := l.Row(ctx, r.call.Key)
			a.Row = &row
			return err
		}},
		{Operation: wire.OpRows, run: func(ctx context.Context, _ *request, l *ledger.Ledger, a *wire.Answer) (err error) {
			a.Rows, err = l.Rows(ctx)
			return err
		}},
		{Operation: wire.OpPending, run: func(ctx context.Context, _ *request, l *ledger.Ledger, a *wire.Answer) (err error) {
			a.Rows, err = l.PendingRows(ctx)
			return err
		}},
		{Operation: wire.OpMayWrite, writtenKey: func(c wire.Call) engine.Key { return c.Key }, run: func(context.Context, *request, *ledger.Ledger, *wire.Answer) error {
			return nil // checkKey has refused all others
		}},
	}
}

func rowWriteOperations() []operation {
	ofRow := func(c wire.Call) engine.Key { return c.Row.Key }
	ofReservation := func(c wire.Call) engine.Key { return c.Reservation.Key }
	hasRow := func(c wire.Call) bool { return c.Row != nil }
	hasReservation := func(c wire.Call) bool { return c.Reservation != nil }
	return []operation{
		{Operation: wire.OpPlace, isComplete: hasReservation, writtenKey: ofReservation, run: func(ctx context.Context, r *request, l *ledger.Ledger, a *wire.Answer) error {
			return r.answerReservation(a, func(wanted engine.Reservation) (engine.Row, bool, error) { return l.PlaceWithToken(ctx, r.id, wanted) })
		}},
		{Operation: wire.OpMove, isComplete: hasReservation, writtenKey: ofReservation, run: func(ctx context.Context, r *request, l *ledger.Ledger, a *wire.Answer) error {
			return r.answerReservation(a, func(wanted engine.Reservation) (engine.Row, bool, error) {
				return l.MoveWithToken(ctx, r.id, r.call.Attempt, wanted)
			})
		}},
		{Operation: wire.OpRenew, isComplete: hasRow, writtenKey: ofRow, run: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			return ledger.RenewAsHolder(ctx, l, r.call.Holder, *r.call.Row)
		}},
		{Operation: wire.OpBind, isComplete: hasRow, writtenKey: ofRow, run: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			return l.Bind(ctx, *r.call.Row)
		}},
		{Operation: wire.OpDrop, isComplete: hasRow, writtenKey: ofRow, run: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			return l.Drop(ctx, *r.call.Row)
		}},
		{Operation: wire.OpLeaving, writtenKey: func(c wire.Call) engine.Key { return c.Key }, run: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			return l.MarkLeaving(ctx, r.call.Key)
		}},
		{Operation: wire.OpTakeKeys, run: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			if !r.client.MayUse(r.call.From) {
				return nil // the client has no rows there
			}
			return l.TakeOverKeys(ctx, r.call.From, r.client.KeyPrefix())
		}},
	}
}

// answerReservation makes the reservation of a call, and answers with its row.
func (r *request) answerReservation(a *wire.Answer, do func(engine.Reservation) (engine.Row, bool, error)) error {
	wanted, err := r.call.Reservation.FromColumns()
	if err != nil {
		return err
	}
	row, fresh, err := do(wanted)
	a.Row, a.Fresh = &row, fresh
	return err
}

// hostWriteOperations close and open VM hosts for the whole region. The name of the client is
// part of the holder, so no client continues another client's close.
func hostWriteOperations() []operation {
	return []operation{
		{Operation: wire.OpCloseHost, isComplete: func(c wire.Call) bool { return c.Close != nil }, run: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			closing := *r.call.Close
			closing.Holder = r.client.Name + "/" + closing.Holder
			return l.CloseHost(ctx, closing)
		}},
		{Operation: wire.OpOpenHost, run: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			holder := r.call.Holder
			if holder != "" {
				holder = r.client.Name + "/" + holder
			}
			return l.OpenHost(ctx, r.call.HostKey, holder)
		}},
	}
}

// leaseOperations write and read the leases of keys. The name of the client is part of the
// session.
func leaseOperations() []operation {
	return []operation{
		{Operation: wire.OpTakeLease, isComplete: func(c wire.Call) bool { return c.Lease != nil }, writtenKey: func(c wire.Call) engine.Key { return c.Lease.Key },
			run: func(ctx context.Context, r *request, l *ledger.Ledger, a *wire.Answer) error {
				mine := *r.call.Lease
				mine.Session = r.client.Name + "/" + mine.Session
				have, err := l.LeaseTable().TakeLease(ctx, mine, r.call.Holder)
				a.Lease = &have
				return err
			}},
		{Operation: wire.OpDropLease, writtenKey: func(c wire.Call) engine.Key { return c.Key }, run: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			return l.LeaseTable().DropLease(ctx, r.call.Key, r.call.Holder)
		}},
		{Operation: wire.OpBeatLeases, isForAllRegions: true, run: func(ctx context.Context, r *request, l *ledger.Ledger, _ *wire.Answer) error {
			return l.LeaseTable().BeatLeases(ctx, r.client.Name+"/"+r.call.Session)
		}},
		{Operation: wire.OpLeases, writtenKey: func(c wire.Call) engine.Key { return engine.Key(c.Prefix) }, run: func(ctx context.Context, r *request, l *ledger.Ledger, a *wire.Answer) (err error) {
			a.Leases, err = l.LeaseTable().Leases(ctx, r.call.Prefix)
			return err
		}},
	}
}
