package engine

import (
	"context"
	"time"
)

// RowState is how far a ledger row has come.
type RowState string

// The states of a row: reserved and perhaps being composed; known to MAAS by
// its system id; being deleted.
const (
	RowPending RowState = "pending"
	RowBound   RowState = "bound"
	RowLeaving RowState = "leaving"
)

// Need is what a VM takes of its host.
type Need struct {
	Cores     int64
	MemoryMiB int64
	// HugePagesMiB is what of the memory is backed by huge pages. Of a host that does
	// not tell of huge pages, math.MaxInt64 are free: its LXD decides.
	HugePagesMiB int64
	// DiskBytes by storage pool. "" is the host's default pool until a host
	// is chosen, and that pool's name afterwards.
	DiskBytes map[string]int64
}

// Row is one reservation in the ledger.
type Row struct {
	Key      Key
	Name     string // hostname
	HostKey  string // VMHost.HostKey of the host that is to have, or has, the VM
	Zone     string // of the host
	Group    string // VMs that are to stand apart; empty: none
	Need     Need
	Attempt  int      // 1 for the first
	Excluded []string // hosts that failed earlier attempts, sorted; never chosen again
	State    RowState
	SystemID string // empty while pending
	// Since is when this attempt was placed: a compose of it began after. Of a row
	// that is leaving and has a SystemID, it is when it began to leave. It is a time of
	// the ledger's clock: compare it with no other one.
	Since time.Time
	// Age is how long ago that was when the ledger gave the row, by the ledger's clock.
	// It does not count in what is written.
	Age time.Duration
	// Token tells the call that placed or moved the row from all others: a key
	// that was dropped and placed anew has another one.
	Token string
}

// Tag is a point in a ledger's history. An inventory of the hosts carries the
// tag that was read before MAAS was asked for it: what was bound up to then is
// in the inventory, what was bound later may be missing from it.
type Tag struct {
	Generation string // another one each time that a ledger is opened
	Sequence   int64  // grows with each Bind, Leaving and Drop, and where a Move gives up a compose
}

// InventoryTags is the part of a ledger that inventories of the hosts need.
type InventoryTags interface {
	// CurrentTag says how far the ledger has come. Read it before the inventory.
	CurrentTag(ctx context.Context) (Tag, error)
	// AcceptsInventory reports whether Place and Move take an inventory of this tag. They take none
	// from before this process opened the ledger, which may be an older copy since; none of
	// a future that a restored ledger has lost; and none from before a row without a system
	// id was given up, whose compose may have left an instance that only a newer inventory
	// shows. That others open the ledger does not matter.
	AcceptsInventory(ctx context.Context, inventory Tag) (bool, error)
}

// Candidate is a host that fits a VM as far as an inventory shows.
type Candidate struct {
	HostKey string // VMHost.HostKey
	Zone    string
	// Rank orders the candidates, the least first. Each VM on the host that
	// the inventory cannot show adds Step: zero fills one host after the other,
	// the number of candidates goes round.
	Rank, Step int64
	// Free is what the inventory says is left, over-commit included. A pool
	// that is not listed has no room.
	Free        Need
	DefaultPool string // the pool that Need.DiskBytes[""] comes from
}

// Reservation asks for room for a VM on one of several hosts.
type Reservation struct {
	Key        Key
	Name       string // hostname
	Group      string // VMs of a group spread over zones, then over hosts; empty: none
	Need       Need
	Candidates []Candidate
	Inventory  Tag      // of the inventory that the candidates come from
	Exclude    []string // hosts that failed, for Move: kept in the row
}

// Leases tell which run makes the object of a key, so that no other one takes it
// for what was left unfinished.
type Leases interface {
	// Hold takes the lease of a key until release is called, or the process ends.
	// Where a run has it that lives, the error is a *HeldError at once. One whose
	// run is dead on this machine is free; any other, after 30 s without a
	// heartbeat, which Hold waits for.
	Hold(ctx context.Context, key Key) (release func(), err error)
}

// MaxCloseLease is the longest Lease of a Close: that of a host which was removed. What
// lasts far longer was dated by a wrong clock, and counts for nothing.
const MaxCloseLease = 2 * time.Minute

// HostCloseRequest is a host that is to be closed.
type HostCloseRequest struct {
	HostKey string
	Holder  string        // one for all closes of a process in one MAAS
	Lease   time.Duration // how long the close counts, at most MaxCloseLease
	Window  time.Duration // how long the compose of a row may be under way: older ones do not count
	Except  Key           // whose row does not count either
}

// NoLedger is what there is of a ledger where nothing is placed. Its tag is empty, and
// every inventory serves.
type NoLedger struct{}

var _ InventoryTags = NoLedger{}

// CurrentTag implements InventoryTags.
func (NoLedger) CurrentTag(context.Context) (Tag, error) { return Tag{}, nil }

// AcceptsInventory implements InventoryTags.
func (NoLedger) AcceptsInventory(context.Context, Tag) (bool, error) { return true, nil }

// Ledger keeps what was decided until MAAS shows it, and so what an inventory
// of the hosts cannot show yet. Every write is keyed and may be sent twice.
// Room is counted twice rather than not at all: a row is part of an inventory
// only if it was bound at or before the inventory's tag, and is not leaving.
type Ledger interface {
	InventoryTags
	// Row returns the row of a key, ErrNotFound if there is none.
	Row(ctx context.Context, key Key) (Row, error)
	// Place reserves one of the candidates for a key: where the fewest of its
	// group are in the zone, then on the host, then by rank. If the key has a
	// row already, that row is returned unchanged; fresh is true only for the
	// one call that made the row.
	//
	// ErrBusy if others' reservations take the room, or the inventory does not
	// serve (see Serves): read the inventory anew before the next try.
	// An *Error InsufficientResources if no candidate has the room anyway.
	Place(ctx context.Context, r Reservation) (row Row, fresh bool, err error)
	// Move begins an attempt, which must be higher than the row's, on a host
	// that is not excluded; a row that has come that far is returned
	// unchanged. What the former attempt reserved is given up, so nothing of
	// it may be left on its host. Errors as for Place, ErrNotFound if there is
	// no row, ErrBusy if it is leaving.
	Move(ctx context.Context, attempt int, r Reservation) (row Row, fresh bool, err error)
	// Renew notes that the compose of a pending row begins only now, in Since.
	// ErrBusy if the row is no longer the attempt that it was, and a *HeldError if
	// another run has taken the lease that this one held: then nothing may be
	// composed for it.
	Renew(ctx context.Context, row Row) error
	// Bind notes the SystemID that the VM got, and the host that it is on. It
	// creates the row as given if there is none, which is how a VM found by
	// its marker gets back into an empty ledger; otherwise only Key, HostKey,
	// Zone and SystemID count. A row that is leaving notes the system id, goes
	// on leaving, and the answer is ErrBusy.
	Bind(ctx context.Context, row Row) error
	// MarkLeaving marks the row as being deleted: its room stays taken until
	// Drop. No row is no error.
	MarkLeaving(ctx context.Context, key Key) error
	// MayWrite is nil where this user may write the row of a key, which need not be
	// there. ErrForbidden if it is another owner's: then nothing may be done for it.
	MayWrite(ctx context.Context, key Key) error
	// Drop removes a row that is still as it was read, whoever's it is.
	Drop(ctx context.Context, row Row) error
	// CloseHost closes a host: until OpenHost, Place, Move and Renew refuse it with
	// ErrBusy. A close whose lease is over is opened by the next Tag or Serves. It is
	// one conditional write, which succeeds only if nothing may be composed there. The same holder closes it
	// again to prolong its lease. ErrBusy if a VM may be composed there, or another
	// holder has closed it.
	CloseHost(ctx context.Context, c HostCloseRequest) error
	// OpenHost ends a holder's close; with no holder, anybody's. What is not closed
	// is no error. Inventories from before serve no more.
	OpenHost(ctx context.Context, hostKey, holder string) error
	// PendingRows lists the rows without a system id, of all keys: what MAAS may be
	// composing.
	PendingRows(ctx context.Context) ([]Row, error)
	// Rows lists all rows, sorted by key.
	Rows(ctx context.Context) ([]Row, error)
}
