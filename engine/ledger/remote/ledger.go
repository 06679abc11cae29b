package remote

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// Ledger is the ledger of one region, which is one MAAS.
type Ledger struct {
	client *Client
	region string
}

var (
	_ ledger.Rows = (*Ledger)(nil)
	_ lease.Table = table{}
)

// ask sends a call about the region.
func (l *Ledger) ask(ctx context.Context, o wire.Operation, call wire.Call) (wire.Answer, error) {
	call.Region = l.region
	return l.client.ask(ctx, o, call)
}

// do sends a call of which only the error counts.
func (l *Ledger) do(ctx context.Context, o wire.Operation, call wire.Call) error {
	_, err := l.ask(ctx, o, call)
	return err
}

// row sends a call that a row answers.
func (l *Ledger) row(ctx context.Context, o wire.Operation, call wire.Call) (engine.Row, bool, error) {
	answer, err := l.ask(ctx, o, call)
	switch {
	case err != nil:
		return engine.Row{}, false, err
	case answer.Row == nil:
		return engine.Row{}, false, l.client.incomplete(o)
	}
	return *answer.Row, answer.Fresh, nil
}

// Tag implements engine.Ledger.
func (l *Ledger) Tag(ctx context.Context) (engine.Tag, error) {
	answer, err := l.ask(ctx, wire.Tag, wire.Call{})
	switch {
	case err != nil:
		return engine.Tag{}, err
	case answer.Tag == nil:
		return engine.Tag{}, l.client.incomplete(wire.Tag)
	}
	return *answer.Tag, nil
}

// Serves implements engine.Ledger. What counts as this process's opening of the ledger is
// the service's.
func (l *Ledger) Serves(ctx context.Context, inventory engine.Tag) (bool, error) {
	answer, err := l.ask(ctx, wire.Serves, wire.Call{Inventory: &inventory})
	return answer.Serves, err
}

// Row implements engine.Ledger.
func (l *Ledger) Row(ctx context.Context, key engine.Key) (engine.Row, error) {
	row, _, err := l.row(ctx, wire.Row, wire.Call{Key: key})
	return row, err
}

// Rows implements engine.Ledger.
func (l *Ledger) Rows(ctx context.Context) ([]engine.Row, error) {
	answer, err := l.ask(ctx, wire.Rows, wire.Call{})
	return answer.Rows, err
}

// Pending implements engine.Ledger.
func (l *Ledger) Pending(ctx context.Context) ([]engine.Row, error) {
	answer, err := l.ask(ctx, wire.Pending, wire.Call{})
	return answer.Rows, err
}

// Place implements engine.Ledger.
func (l *Ledger) Place(ctx context.Context, r engine.Reservation) (engine.Row, bool, error) {
	return l.row(ctx, wire.Place, wire.Call{Reservation: wire.ToColumns(r)})
}

// Move implements engine.Ledger.
func (l *Ledger) Move(ctx context.Context, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	return l.row(ctx, wire.Move, wire.Call{Attempt: attempt, Reservation: wire.ToColumns(r)})
}

// Renew implements engine.Ledger.
func (l *Ledger) Renew(ctx context.Context, row engine.Row) error {
	return l.do(ctx, wire.Renew, wire.Call{Row: &row, Holder: l.client.leases.Holder(row.Key)})
}

// Bind implements engine.Ledger.
func (l *Ledger) Bind(ctx context.Context, row engine.Row) error {
	return l.do(ctx, wire.Bind, wire.Call{Row: &row})
}

// Leaving implements engine.Ledger.
func (l *Ledger) Leaving(ctx context.Context, key engine.Key) error {
	return l.do(ctx, wire.Leaving, wire.Call{Key: key})
}

// MayWrite implements engine.Ledger.
func (l *Ledger) MayWrite(ctx context.Context, key engine.Key) error {
	return l.do(ctx, wire.MayWrite, wire.Call{Key: key})
}

// Drop implements engine.Ledger.
func (l *Ledger) Drop(ctx context.Context, row engine.Row) error {
	return l.do(ctx, wire.Drop, wire.Call{Row: &row})
}

// CloseHost implements engine.Ledger.
func (l *Ledger) CloseHost(ctx context.Context, c engine.Close) error {
	return l.do(ctx, wire.CloseHost, wire.Call{Close: &c})
}

// OpenHost implements engine.Ledger.
func (l *Ledger) OpenHost(ctx context.Context, hostKey, holder string) error {
	return l.do(ctx, wire.OpenHost, wire.Call{HostKey: hostKey, Holder: holder})
}

// TakeRegion gives this region the rows of this client that another one has under its
// name. Repeating it is safe.
func (l *Ledger) TakeRegion(ctx context.Context, from string) error {
	return l.do(ctx, wire.TakeKeys, wire.Call{From: from})
}

// Hold implements engine.Leases.
func (l *Ledger) Hold(ctx context.Context, key engine.Key) (release func(), err error) {
	return l.client.leases.Hold(ctx, table{l}, key)
}

// CutOff lists the keys that begin so and whose makers died before they gave their
// leases back.
func (l *Ledger) CutOff(ctx context.Context, prefix string) ([]engine.Key, error) {
	return lease.CutOff(ctx, table{l}, prefix)
}

// Named notes that a state names what was made by a key: it is no longer cut off.
func (l *Ledger) Named(ctx context.Context, key engine.Key) error {
	return lease.Named(ctx, table{l}, key)
}

// table is the leases of a region.
type table struct{ *Ledger }

// TakeLease implements lease.Table.
func (t table) TakeLease(ctx context.Context, mine lease.Lease, dead string) (lease.Lease, error) {
	answer, err := t.ask(ctx, wire.TakeLease, wire.Call{Lease: &mine, Holder: dead})
	switch {
	case err != nil:
		return lease.Lease{}, err
	case answer.Lease == nil:
		return lease.Lease{}, t.client.incomplete(wire.TakeLease)
	}
	return *answer.Lease, nil
}

// DropLease implements lease.Table.
func (t table) DropLease(ctx context.Context, key engine.Key, holder string) error {
	return t.do(ctx, wire.DropLease, wire.Call{Key: key, Holder: holder})
}

// BeatLeases implements lease.Table.
func (t table) BeatLeases(ctx context.Context, session string) error {
	return t.do(ctx, wire.Beat, wire.Call{Session: session})
}

// Leases implements lease.Table.
func (t table) Leases(ctx context.Context, prefix string) ([]lease.Lease, error) {
	answer, err := t.ask(ctx, wire.Leases, wire.Call{Prefix: prefix})
	return answer.Leases, err
}
