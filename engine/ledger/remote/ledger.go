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
	_ ledger.RegionLedger = (*Ledger)(nil)
	_ lease.Table         = leaseTable{}
)

// sendCall adds the region to a call, and sends it.
func (l *Ledger) sendCall(ctx context.Context, o wire.Operation, call wire.Call) (wire.Answer, error) {
	call.Region = l.region
	return l.client.sendCall(ctx, o, call)
}

// sendForError sends a call, and returns only its error.
func (l *Ledger) sendForError(ctx context.Context, o wire.Operation, call wire.Call) error {
	_, err := l.sendCall(ctx, o, call)
	return err
}

// sendForRow sends a call that is answered with a row.
func (l *Ledger) sendForRow(ctx context.Context, o wire.Operation, call wire.Call) (engine.Row, bool, error) {
	answer, err := l.sendCall(ctx, o, call)
	switch {
	case err != nil:
		return engine.Row{}, false, err
	case answer.Row == nil:
		return engine.Row{}, false, l.client.incompleteAnswerError(o)
	}
	return *answer.Row, answer.Fresh, nil
}

// CurrentTag implements engine.Ledger.
func (l *Ledger) CurrentTag(ctx context.Context) (engine.Tag, error) {
	answer, err := l.sendCall(ctx, wire.OpTag, wire.Call{})
	switch {
	case err != nil:
		return engine.Tag{}, err
	case answer.Tag == nil:
		return engine.Tag{}, l.client.incompleteAnswerError(wire.OpTag)
	}
	return *answer.Tag, nil
}

// AcceptsInventory implements engine.Ledger. An inventory counts from the service's opening of
// the ledger, not from this process's.
func (l *Ledger) AcceptsInventory(ctx context.Context, inventory engine.Tag) (bool, error) {
	answer, err := l.sendCall(ctx, wire.OpServes, wire.Call{Inventory: &inventory})
	return answer.Serves, err
}

// Row implements engine.Ledger.
func (l *Ledger) Row(ctx context.Context, key engine.Key) (engine.Row, error) {
	row, _, err := l.sendForRow(ctx, wire.OpRow, wire.Call{Key: key})
	return row, err
}

// Rows implements engine.Ledger.
func (l *Ledger) Rows(ctx context.Context) ([]engine.Row, error) {
	answer, err := l.sendCall(ctx, wire.OpRows, wire.Call{})
	return answer.Rows, err
}

// PendingRows implements engine.Ledger.
func (l *Ledger) PendingRows(ctx context.Context) ([]engine.Row, error) {
	answer, err := l.sendCall(ctx, wire.OpPending, wire.Call{})
	return answer.Rows, err
}

// Place implements engine.Ledger.
func (l *Ledger) Place(ctx context.Context, r engine.Reservation) (engine.Row, bool, error) {
	return l.sendForRow(ctx, wire.OpPlace, wire.Call{Reservation: wire.ToColumns(r)})
}

// Move implements engine.Ledger.
func (l *Ledger) Move(ctx context.Context, attempt int, r engine.Reservation) (engine.Row, bool, error) {
	return l.sendForRow(ctx, wire.OpMove, wire.Call{Attempt: attempt, Reservation: wire.ToColumns(r)})
}

// Renew implements engine.Ledger.
func (l *Ledger) Renew(ctx context.Context, row engine.Row) error {
	return l.sendForError(ctx, wire.OpRenew, wire.Call{Row: &row, Holder: l.client.leases.Holder(row.Key)})
}

// Bind implements engine.Ledger.
func (l *Ledger) Bind(ctx context.Context, row engine.Row) error {
	return l.sendForError(ctx, wire.OpBind, wire.Call{Row: &row})
}

// MarkLeaving implements engine.Ledger.
func (l *Ledger) MarkLeaving(ctx context.Context, key engine.Key) error {
	return l.sendForError(ctx, wire.OpLeaving, wire.Call{Key: key})
}

// MayWrite implements engine.Ledger.
func (l *Ledger) MayWrite(ctx context.Context, key engine.Key) error {
	return l.sendForError(ctx, wire.OpMayWrite, wire.Call{Key: key})
}

// Drop implements engine.Ledger.
func (l *Ledger) Drop(ctx context.Context, row engine.Row) error {
	return l.sendForError(ctx, wire.OpDrop, wire.Call{Row: &row})
}

// CloseHost implements engine.Ledger.
func (l *Ledger) CloseHost(ctx context.Context, c engine.HostCloseRequest) error {
	return l.sendForError(ctx, wire.OpCloseHost, wire.Call{Close: &c})
}

// OpenHost implements engine.Ledger.
func (l *Ledger) OpenHost(ctx context.Context, hostKey, holder string) error {
	return l.sendForError(ctx, wire.OpOpenHost, wire.Call{HostKey: hostKey, Holder: holder})
}

// TakeOverRegion moves this client's rows from another region into this one: the MAAS had
// another name before. Repeating it is safe.
func (l *Ledger) TakeOverRegion(ctx context.Context, from string) error {
	return l.sendForError(ctx, wire.OpTakeKeys, wire.Call{From: from})
}

// Hold implements engine.Leases.
func (l *Ledger) Hold(ctx context.Context, key engine.Key) (release func(), err error) {
	return l.client.leases.Hold(ctx, leaseTable{l}, key)
}

// ListCutOff lists the keys with a prefix whose makers died before they gave back their leases.
func (l *Ledger) ListCutOff(ctx context.Context, prefix string) ([]engine.Key, error) {
	return lease.ListCutOff(ctx, leaseTable{l}, prefix)
}

// ClearCutOff records that a state names the object of a key, so that it is no longer cut off.
func (l *Ledger) ClearCutOff(ctx context.Context, key engine.Key) error {
	return lease.ClearCutOff(ctx, leaseTable{l}, key)
}

// leaseTable is the lease table of a region.
type leaseTable struct{ *Ledger }

// TakeLease implements lease.Table.
func (t leaseTable) TakeLease(ctx context.Context, mine lease.Lease, dead string) (lease.Lease, error) {
	answer, err := t.sendCall(ctx, wire.OpTakeLease, wire.Call{Lease: &mine, Holder: dead})
	switch {
	case err != nil:
		return lease.Lease{}, err
	case answer.Lease == nil:
		return lease.Lease{}, t.client.incompleteAnswerError(wire.OpTakeLease)
	}
	return *answer.Lease, nil
}

// DropLease implements lease.Table.
func (t leaseTable) DropLease(ctx context.Context, key engine.Key, holder string) error {
	return t.sendForError(ctx, wire.OpDropLease, wire.Call{Key: key, Holder: holder})
}

// BeatLeases implements lease.Table.
func (t leaseTable) BeatLeases(ctx context.Context, session string) error {
	return t.sendForError(ctx, wire.OpBeatLeases, wire.Call{Session: session})
}

// Leases implements lease.Table.
func (t leaseTable) Leases(ctx context.Context, prefix string) ([]lease.Lease, error) {
	answer, err := t.sendCall(ctx, wire.OpLeases, wire.Call{Prefix: prefix})
	return answer.Leases, err
}
