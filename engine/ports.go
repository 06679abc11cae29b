package engine

import (
	"context"
	"time"
)

// Machine is one MAAS machine as it was last seen: a VM that MAAS knows, or
// bare metal.
type Machine struct {
	SystemID      string
	Hostname      string
	FQDN          string
	Status        Status
	StatusName    string // MAAS's own word, for people
	StatusMessage string // MAAS's own message, may be empty
	PowerState    string // "on", "off", "error", "unknown": cached by MAAS
	Locked        bool
	Owner         string // MAAS user, empty if not acquired
	Description   string
	Zone          string
	Pool          string // resource pool
	Domain        string
	Tags          []string // sorted
	HostID        int      // id of the VM host that it runs on, 0 for bare metal
	HostName      string   // name of that VM host
	Profiles      []string // LXD profiles of a VM; nil where nobody tells them
	Cores         int
	MemoryMiB     int64
	Architecture  string             // "amd64/generic"
	Disks         []MachineDisk      // physical block devices in MAAS's order: sda, sdb, …
	Interfaces    []MachineInterface // physical interfaces in MAAS's order
	Bridges       []MachineBridge    // bridges that MAAS knows, in MAAS's order
	BootInterface int                // id of the interface that it boots from, 0 if MAAS knows none
	Image         string             // what was deployed, "ubuntu/noble"; empty before
	Kernel        string             // hwe_kernel of the deployment, "ga-24.04"; empty before
	IPAddresses   []string
	// OwnerData are MAAS's workload annotations. They can be set from the
	// allocation on, and the release clears them.
	OwnerData map[string]string
}

// MachineDisk is a physical block device of a machine.
type MachineDisk struct {
	Name   string
	SizeGB int64 // decimal: 1 GB = 1000000000 bytes, as MAAS counts disks
	Pool   string
	Tags   []string
}

// MachineInterface is a physical network interface of a machine.
type MachineInterface struct {
	ID    int
	Name  string
	MAC   string // lower case
	VLAN  int    // id of the VLAN that it is attached to, 0 for none
	Links []InterfaceLink
}

// MachineBridge is a bridge that MAAS knows on a machine.
type MachineBridge struct {
	ID      int
	Name    string
	Parents []string // names of the interfaces below it
	VLAN    int      // id of its VLAN, 0 for none
	Links   []InterfaceLink
}

// InterfaceLink ties an interface to a subnet.
type InterfaceLink struct {
	Mode   string // "auto", "static", "dhcp", "link_up"
	Subnet string // CIDR, empty for link_up
	IP     string // empty until MAAS assigned one
}

// Machines reads machines and moves them through MAAS's states. Reads of
// many machines at the same moment share calls. Except for what a comment
// says, an absent machine is ErrNotFound, and repeating a call is safe.
type Machines interface {
	// Machine reads one machine. The answer is never older than this
	// client's last write to that machine.
	Machine(ctx context.Context, systemID string) (Machine, error)
	// MachinesNamed lists the machines of this hostname, none if there are none.
	MachinesNamed(ctx context.Context, hostname string) ([]Machine, error)
	// MachinesWhere lists the machines that match, as MAAS has them now. A
	// filter that MAAS knows no such thing for matches none.
	MachinesWhere(ctx context.Context, f MachineFilter) ([]Machine, error)
	// Changed returns a channel that is closed once the machine no longer
	// looks as seen (status, status message, power) or is gone. One poller
	// looks for all machines that are asked for. When ctx ends, the channel
	// is abandoned, not closed.
	Changed(ctx context.Context, seen Machine) <-chan struct{}
	// Update changes the given fields, and only those.
	Update(ctx context.Context, systemID string, u MachineUpdate) error
	// Tag puts a tag on the machine and creates the tag if MAAS has none of
	// that name.
	Tag(ctx context.Context, systemID, tag string) error
	// Untag takes a tag off; a tag that is not there is no error.
	Untag(ctx context.Context, systemID, tag string) error
	// Link gives an interface a fixed address in place of its other links, or,
	// with an empty ip, one that MAAS assigns when it deploys. ErrConflict if
	// the address is taken.
	Link(ctx context.Context, systemID string, interfaceID int, subnet Subnet, ip string) error
	// Commission starts commissioning without hardware tests.
	Commission(ctx context.Context, systemID string) error
	// Deploy installs an image. ErrConflict in a state that MAAS cannot
	// deploy from.
	Deploy(ctx context.Context, systemID string, d Deployment) error
	// Abort stops commissioning, testing or deploying. ErrConflict if there
	// is nothing to stop, ErrUnavailable while a power action is in flight.
	Abort(ctx context.Context, systemID string) error
	// Release gives the machine back; it goes on after the call has returned.
	Release(ctx context.Context, systemID string, erase Erase) error
	// Power asks the power driver, and so LXD, whether the machine is on:
	// "on", "off", or "error" when the instance is gone or LXD cannot be
	// reached.
	Power(ctx context.Context, systemID string) (string, error)
	// PowerOff turns the machine off; one that is off already is no error.
	// ErrUnavailable while another power action is in flight.
	PowerOff(ctx context.Context, systemID string) error
}

// MachineFilter says which machines to list; what is empty matches all.
type MachineFilter struct {
	Status Status // the zero value, New, matches all
	Zone   string
	Pool   string
	Tags   []string // all of them
	Agent  string   // what Allocate left with them
	Hosts  []string // names of VM hosts: the VMs on them
}

// MachineUpdate lists what Update changes; nil leaves a field alone.
type MachineUpdate struct {
	Hostname    *string
	Description *string
	Zone        *string
	Pool        *string
	Domain      *string
}

// Deployment says what to install.
type Deployment struct {
	Image     string // "ubuntu/noble" or a name as in MAAS's boot resources; empty: MAAS's default
	Kernel    string // hwe_kernel; empty: MAAS's default
	UserData  []byte // plain, not base64
	Ephemeral bool   // run from memory
}

// VMHost is an LXD server on which VMs can be made.
type VMHost struct {
	ID               int // MAAS's number of the VM host; 0 where it has none
	Name             string
	Version          string // LXD's version; empty means that it was never reached
	Zone             string
	Pool             string
	Tags             []string
	Cores            Amount
	MemoryMiB        Amount
	CPUOvercommit    float64
	MemoryOvercommit float64
	StoragePools     []StoragePool
	Architectures    []string // "amd64/generic"
	// Project of LXD that VMs are made in; empty: MAAS knows, and Registrar tells.
	Project string
	// Profiles of LXD that VMs of the project may have, sorted; nil where MAAS
	// makes the VMs, and where nothing was reached.
	Profiles []string
	// HostKey is what a ledger and placement call the host, whoever composes on
	// it: the system id of its machine, and more where that machine has several
	// VM hosts, of a project each. Never empty.
	HostKey string
	// MachineID is the system id of the machine that its LXD runs on, empty as
	// long as MAAS never reached it.
	MachineID string
	// ServerFingerprint is that of the certificate which its LXD showed; empty
	// where MAAS makes the VMs, and where nothing was reached.
	ServerFingerprint string
	// Err is why no VM can be made on it now; nil: nothing is known to be in the
	// way. IsTerminal tells whether it may pass.
	Err error
	// Inventory is the ledger's tag as it was before this was read.
	Inventory Tag
}

// Amount is a resource of a host. Used counts the VMs that MAAS knows.
type Amount struct{ Total, Used int64 }

// left is what an over-commit ratio leaves; negative if more is used.
func (a Amount) left(ratio float64) int64 { return int64(float64(a.Total)*ratio) - a.Used }

// StoragePool is an LXD storage pool of a host. Sizes are in bytes.
type StoragePool struct {
	Name           string
	Driver         string // "zfs", "dir", …
	TotalBytes     int64
	AvailableBytes int64
	Default        bool
}

// FieldError is implemented by errors in which MAAS names the fields that it
// refused. Keys are MAAS's parameter names.
type FieldError interface {
	error
	Fields() map[string][]string
}

// Names lists what MAAS calls by name. Lists are cached, shared and sorted.
type Names interface {
	Zones(ctx context.Context) ([]string, error)
	Pools(ctx context.Context) ([]string, error)
	Domains(ctx context.Context) ([]string, error)
	Subnets(ctx context.Context) ([]Subnet, error)
	Addresses
	// Refresh drops all cached lists that are older than a second, hosts and
	// images too: someone may just have made what is missing from them.
	Refresh()
}

// Subnet is a subnet that MAAS knows.
type Subnet struct {
	ID   int
	Name string
	CIDR string // "10.77.0.0/24"
	VLAN int    // id of its VLAN
	VID  int    // tag of its VLAN, 0 for the untagged one
	DHCP bool   // MAAS serves DHCP on its VLAN
}

// Catalog says what this MAAS has and can do.
type Catalog interface {
	// Images lists the images that MAAS has, sorted by name.
	Images(ctx context.Context) ([]Image, error)
	// Capabilities probes once what this MAAS is.
	Capabilities(ctx context.Context) (Capabilities, error)
}

// Image is what MAAS can install.
type Image struct {
	Name          string   // "ubuntu/noble"
	Architectures []string // "amd64", sorted
}

// Capabilities is what a probe of MAAS found.
type Capabilities struct {
	Version  string // "3.4.10"
	VMHosts  bool   // false: VM hosts answer 410 Gone
	Username string
	Admin    bool // composing needs an administrator's key
}

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
	SystemID string    // empty while pending
	Since    time.Time // when this attempt was placed: a compose of it began after
}

// Tag is a point in a ledger's history. An inventory of the hosts carries the
// tag that was read before MAAS was asked for it: what was bound up to then is
// in the inventory, what was bound later may be missing from it.
type Tag struct {
	Generation string // another one each time that a ledger is opened
	Sequence   int64  // grows with each Bind, Leaving and Forget, and where a Move gives up a compose
	// Floor is the least Sequence of an inventory that serves by then. An
	// inventory's own tag needs none.
	Floor int64
}

// Serves reports whether an inventory of this tag is new enough for a ledger
// that has come to another one.
func (t Tag) Serves(now Tag) bool {
	return t.Generation == now.Generation && now.Floor <= t.Sequence && t.Sequence <= now.Sequence
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

// Ledger keeps what was decided until MAAS shows it, and so what an inventory
// of the hosts cannot show yet. Every write is keyed and may be sent twice.
// Room is counted twice rather than not at all: a row is part of an inventory
// only if it was bound at or before the inventory's tag, and is not leaving.
type Ledger interface {
	// Tag says how far the ledger has come. Read it before the inventory.
	Tag(ctx context.Context) (Tag, error)
	// Row returns the row of a key, ErrNotFound if there is none.
	Row(ctx context.Context, key Key) (Row, error)
	// Place reserves one of the candidates for a key: where the fewest of its
	// group are in the zone, then on the host, then by rank. If the key has a
	// row already, that row is returned unchanged; fresh is true only for the
	// one call that made the row.
	//
	// ErrBusy if others' reservations take the room, or the inventory is too
	// old, because the ledger was opened anew since, by whomever, or a row
	// without a system id was given up, whose compose may have left an instance
	// that only a newer inventory shows: read the inventory anew before the next
	// try.
	// An *Error InsufficientResources if no candidate has the room anyway.
	Place(ctx context.Context, r Reservation) (row Row, fresh bool, err error)
	// Move begins an attempt, which must be higher than the row's, on a host
	// that is not excluded; a row that has come that far is returned
	// unchanged. What the former attempt reserved is given up, so nothing of
	// it may be left on its host. Errors as for Place, ErrNotFound if there is
	// no row, ErrBusy if it is leaving.
	Move(ctx context.Context, attempt int, r Reservation) (row Row, fresh bool, err error)
	// Renew notes that the compose of a pending row begins only now, in Since.
	// ErrBusy if the row is no longer the attempt that it was: then nothing may
	// be composed for it.
	Renew(ctx context.Context, row Row) error
	// Bind notes the SystemID that the VM got, and the host that it is on. It
	// creates the row as given if there is none, which is how a VM found by
	// its marker gets back into an empty ledger; otherwise only Key, HostKey,
	// Zone and SystemID count. A row that is leaving notes the system id, goes
	// on leaving, and the answer is ErrBusy.
	Bind(ctx context.Context, row Row) error
	// Leaving marks the row as being deleted: its room stays taken until
	// Forget. No row is no error.
	Leaving(ctx context.Context, key Key) error
	// Forget removes the row, once nothing of the VM is left. No row is no
	// error.
	Forget(ctx context.Context, key Key) error
	// Drop removes a row that is still as it was read, whoever's it is.
	Drop(ctx context.Context, row Row) error
	// Pending lists the rows without a system id, of all keys: what MAAS may be
	// composing.
	Pending(ctx context.Context) ([]Row, error)
	// Rows lists all rows, sorted by key.
	Rows(ctx context.Context) ([]Row, error)
}
