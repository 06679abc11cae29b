package engine

import (
	"context"
	"time"
)

// RowState is the state of a ledger row.
type RowState string

// The states of a row: reserved and perhaps being composed; known to MAAS by its system id;
// being deleted.
const (
	RowPending RowState = "pending"
	RowBound   RowState = "bound"
	RowLeaving RowState = "leaving"
)

// Need is what a VM takes of its host.
type Need struct {
	Cores     int64
	MemoryMiB int64
	// HugePagesMiB is the part of the memory that is backed by huge pages. If the huge pages of
	// a host are unknown, math.MaxInt64 are free: its LXD decides.
	HugePagesMiB int64
	// DiskBytes by storage pool. The key "" means the host's default pool until a host is
	// chosen. Then the key is that pool's name.
	DiskBytes map[string]int64
}

// Row is one reservation in the ledger.
type Row struct {
	Key      Key
	Name     string // hostname
	HostKey  string // VMHost.HostKey of the host that has the VM, or will have it
	Zone     string // of the host
	Group    string // a name for VMs that spread over hosts; empty: none
	Need     Need
	Attempt  int      // 1 for the first
	Excluded []string // hosts that failed earlier attempts, sorted; never chosen again
	State    RowState
	SystemID string // empty while pending
	// Since is when this attempt was placed; its compose began later. For a leaving row with a
	// SystemID, it is when the delete began. It is a time of the ledger's clock: do not compare
	// it with another clock.
	Since time.Time
	// Age is the time since Since when the ledger returned the row, by the ledger's clock.
	// Writes ignore it.
	Age time.Duration
	// Token identifies the call that placed or moved the row. A key that was dropped and placed
	// anew has another token.
	Token string
}

// Tag is a point in a ledger's history. An inventory of the hosts carries the tag that was read
// before MAAS was asked for it. Rows bound up to that tag are in the inventory; rows bound
// later may be missing.
type Tag struct {
	Generation string // a new one each time that a ledger is opened
	Sequence   int64  // grows with each Bind, MarkLeaving and Drop, and when a Move gives up a compose
}

// InventoryTags is the part of a ledger that inventories of the hosts need.
type InventoryTags interface {
	// CurrentTag returns the ledger's current tag. Read it before the inventory.
	CurrentTag(ctx context.Context) (Tag, error)
	// AcceptsInventory reports whether Place and Move accept an inventory of this tag. They
	// refuse three kinds. First, an inventory from before this process opened the ledger: the
	// file may be an older copy now. Second, one from a future that a restored ledger has lost.
	// Third, one from before a row without a system id was given up: its compose may have left
	// an instance that only a newer inventory shows. It does not matter that others open the
	// ledger.
	AcceptsInventory(ctx context.Context, inventory Tag) (bool, error)
}

// Candidate is a host that fits a VM as far as an inventory shows.
type Candidate struct {
	HostKey string // VMHost.HostKey
	Zone    string
	// Rank orders the candidates, the least first. Each VM on the host that the inventory
	// cannot show adds Step. With Step 0, one host is filled after the other. With the number
	// of candidates as Step, the hosts take turns.
	Rank, Step int64
	// Free is what the inventory says is left, over-commit included. A pool that is not listed
	// has no room.
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

// Leases say which run is making the object of a key. So no other run takes its unfinished work
// for abandoned work.
type Leases interface {
	// Hold takes the lease of a key until release is called, or the process ends. If a living
	// run has it, the error is a *HeldError at once. The lease of a run that died on this
	// machine is free. Any other is free after 30 s without a heartbeat, and Hold waits for
	// that.
	Hold(ctx context.Context, key Key) (release func(), err error)
}

// MaxCloseLease is the longest Lease of a close: that of a removed host. A close that lasts far
// longer was dated by a wrong clock, and is ignored.
const MaxCloseLease = 2 * time.Minute

// HostCloseRequest describes a host to close.
type HostCloseRequest struct {
	HostKey string
	Holder  string        // one for all closes of a process in one MAAS
	Lease   time.Duration // how long the close counts, at most MaxCloseLease
	Window  time.Duration // how long the compose of a row may run: older rows do not count
	Except  Key           // the key whose row does not count either
}

// NoLedger stands in for a ledger where nothing is placed. Its tag is empty, and it accepts
// every inventory.
type NoLedger struct{}

var _ InventoryTags = NoLedger{}

// CurrentTag implements InventoryTags.
func (NoLedger) CurrentTag(context.Context) (Tag, error) { return Tag{}, nil }

// AcceptsInventory implements InventoryTags.
func (NoLedger) AcceptsInventory(context.Context, Tag) (bool, error) { return true, nil }

// Ledger keeps decisions until MAAS shows their results, and so what an inventory of the hosts
// cannot show yet. Every write is keyed and may be sent twice. The ledger rather counts room
// twice than not at all. A row counts as part of an inventory only if it was bound at or before
// the inventory's tag, and is not leaving.
type Ledger interface {
	InventoryTags
	// Row returns the row of a key, ErrNotFound if there is none.
	Row(ctx context.Context, key Key) (Row, error)
	// Place reserves one of the candidates for a key. It prefers the zone with the fewest
	// members of the group, then the host with the fewest, then the rank. If the key has a row
	// already, that row is returned unchanged. fresh is true only for the one call that made
	// the row.
	//
	// ErrBusy if others' reservations take the room, or if the inventory is not accepted (see
	// AcceptsInventory): read the inventory anew before the next try. An *Error
	// InsufficientResources if no candidate has the room in any case.
	Place(ctx context.Context, r Reservation) (row Row, fresh bool, err error)
	// Move begins an attempt on a host that is not excluded. The attempt must be higher than
	// the row's; a row that has reached it is returned unchanged. Move gives up the former
	// reservation, so nothing of that attempt may be left on its host. Errors as for Place,
	// ErrNotFound if there is no row, ErrBusy if it is leaving.
	Move(ctx context.Context, attempt int, r Reservation) (row Row, fresh bool, err error)
	// Renew notes in Since that the compose of a pending row begins only now. ErrBusy if the
	// row has moved to another attempt. A *HeldError if another run has taken the lease that
	// this run held: then nothing may be composed for the row.
	Renew(ctx context.Context, row Row) error
	// Bind notes the SystemID of the VM, and its host. If there is no row, Bind creates it as
	// given: so a VM that was found by its marker gets back into an empty ledger. If there is
	// one, only Key, HostKey, Zone and SystemID count. A leaving row notes the system id and
	// stays leaving, and the answer is ErrBusy.
	Bind(ctx context.Context, row Row) error
	// MarkLeaving marks the row as being deleted: its room stays taken until Drop. An absent
	// row is no error.
	MarkLeaving(ctx context.Context, key Key) error
	// MayWrite is nil if this user may write the row of a key; the row need not exist.
	// ErrForbidden if the row is another owner's: then do nothing for it.
	MayWrite(ctx context.Context, key Key) error
	// Drop removes a row if it is unchanged since it was read, whoever its owner is.
	Drop(ctx context.Context, row Row) error
	// CloseHost closes a host: until OpenHost, Place, Move and Renew refuse it with ErrBusy.
	// The next CurrentTag or AcceptsInventory opens a close whose lease is over. CloseHost is
	// one conditional write: it succeeds only if no compose may run there. The same holder
	// closes it again to prolong its lease. ErrBusy if a compose may run there, or another
	// holder has closed it.
	CloseHost(ctx context.Context, c HostCloseRequest) error
	// OpenHost ends a holder's close, or with an empty holder anybody's. An open host is no
	// error. Older inventories are no longer accepted.
	OpenHost(ctx context.Context, hostKey, holder string) error
	// PendingRows lists the rows without a system id, of all keys: MAAS may be composing them.
	PendingRows(ctx context.Context) ([]Row, error)
	// Rows lists all rows, sorted by key.
	Rows(ctx context.Context) ([]Row, error)
}
