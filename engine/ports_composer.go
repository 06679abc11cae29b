package engine

import (
	"context"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// Composition is a VM to be made.
type Composition struct {
	Hostname     string
	Cores        int   // ignored when PinnedCores are given
	PinnedCores  []int // host core numbers
	MemoryMiB    int64
	HugePages    bool
	Profile      string            // of LXD; empty: StandardProfile where there is one. For composers that can choose
	Config       map[string]string // instance options of LXD beside those of the composer, as VMSpec has them
	Devices      map[string]Device // of LXD, beside disks and NICs, by name
	Architecture string            // "amd64/generic"
	Disks        []Disk            // the first is the root disk
	Interfaces   []NIC             // fixed addresses come later, by Link
	Zone         string            // names; empty: MAAS's default
	Pool         string
	Domain       string
	Marker       string // a tag for the root disk: tells whose the newborn is
	// Key that the marker stands for, and the description that says so. They are
	// for composers that can leave them with the VM at its birth.
	Key         Key
	Description string
	// ReportLeftover is told, in a sentence's words, of an instance that carries the marker,
	// and is left alone, as it may be a copy; nil: nobody is told.
	ReportLeftover func(what string)
	// BeforeSend is called when nothing holds the request up any more, right before
	// it is sent. If it fails, nothing is sent, and Compose returns its error.
	BeforeSend func(context.Context) error
}

// NIC is a network interface of a VM to be made.
type NIC struct {
	Subnet        // that it is on
	Label  string // the caller's name for it; errors go by it
	Bridge string // that it joins; empty: any on the subnet. For composers that can choose
	MAC    string // empty: the composer chooses. For composers that can
	Mode   string // of a NIC that is added in place: LinkDHCP or LinkUp. The composer only notes it
}

// Field is where a part of the NIC stands in the spec: interfaces.eth0.bridge.
func (n NIC) Field(part string) fieldpath.Path { return Interface{Name: n.Label}.Field(part) }

// Composer makes VMs on LXD hosts, and takes them away.
type Composer interface {
	// CheckCanCompose says why no VM can be made in this way at all: a *Refusal, ErrGone
	// where it takes VM hosts that this MAAS does not have. It changes nothing.
	CheckCanCompose(ctx context.Context) error
	// Hosts lists the hosts with their inventory. The list is cached and
	// shared; it is dropped whenever this client composes or removes a VM.
	Hosts(ctx context.Context) ([]VMHost, error)
	// Compose makes a VM and returns its system id; the VM is not yet
	// commissioned. Never repeated by the adapter: after an error only a
	// look tells what there is. ErrUnclear when the reply was lost,
	// ErrInvalid for refused values (see FieldError), ErrUnavailable
	// otherwise.
	Compose(ctx context.Context, host VMHost, c Composition) (systemID string, err error)
	// Decompose deletes the machine's record and its LXD instance. An absent
	// machine is no error. MAAS answers with success even when LXD could not
	// be reached, so ask Machines.Power before and look afterwards.
	Decompose(ctx context.Context, systemID string) error
	// RemoveLeftovers removes what composes of a key left that never became a machine, as far
	// as it is surely that. Nothing left is no error. ErrUnavailable where a host that
	// matters does not tell, ErrBusy while somebody may be at it, and a *Refusal,
	// ErrConflict, for an instance that ran and whose machine is gone. Where MAAS
	// composes it does nothing: MAAS has a machine of each instance that it shows.
	RemoveLeftovers(ctx context.Context, r Leftovers) error
	// HostOf finds the host that a VM runs on: its ID, Name, MachineID and
	// HostKey at least, the Project where its LXD is known, and the Tags where
	// MAAS does not give them to VMs itself. ErrConflict for a machine that is on
	// none, ErrBusy where MAAS does not tell yet.
	HostOf(ctx context.Context, m Machine) (VMHost, error)
	// VMs lists the VMs on these hosts, as MAAS has them now, with the HostName
	// of each. An instance that MAAS does not know has no SystemID; whether they
	// are told is the composer's. ErrUnavailable, beside those that were found,
	// where the LXD of a host does not tell.
	VMs(ctx context.Context, hosts []VMHost) ([]Resident, error)
	// CompleteMachine adds what MAAS does not tell of a VM, or not any more: the
	// HostName, and the size that it was given last, which is zero, without
	// disks, where only a host tells that does not answer. What else cannot be
	// found out stays as it is; a machine that is no VM is returned unchanged.
	CompleteMachine(ctx context.Context, m Machine) Machine
	// Resize gives a VM the cores, the memory and the disks of the Composition, in
	// place: disks grow, and new ones come after them, with the Marker. ErrConflict where that cannot be done, a *RunningError
	// where it cannot while the VM runs; a *SpecError for what never can.
	Resize(ctx context.Context, host VMHost, systemID string, c Composition) error
	// ConfigureInstance gives a VM instance options and devices of LXD, in place, and takes others
	// away. What it has already is not changed, so it may be repeated. A *RunningError
	// where that cannot be done while the VM runs; a *SpecError where it never can; ErrInvalid
	// where LXD refuses it.
	ConfigureInstance(ctx context.Context, host VMHost, systemID string, c InstanceChange) error
	// ChangeInterfaces adds NICs to the instance of a VM, also while it runs, and removes NICs that
	// were added so. A NIC that is as it is wanted stays, so it may be repeated. A *SpecError where
	// that cannot be done; ErrInvalid where LXD refuses it. MAAS learns nothing of it.
	ChangeInterfaces(ctx context.Context, host VMHost, systemID string, c InterfaceChange) error
	// SyncHost makes MAAS list the host's instances anew: vanished VMs leave MAAS,
	// unknown ones are adopted and power-cycled; or looks at one VM alone, if it can.
	SyncHost(ctx context.Context, host VMHost, systemID string) error
}

// InstanceChange is what is to become of the instance options and devices of a VM. What it
// does not name stays.
type InstanceChange struct {
	Config                        map[string]string
	Devices                       map[string]Device
	RemovedConfig, RemovedDevices []string
}

// InterfaceChange names the NICs that come to a VM in place, and those that go.
type InterfaceChange struct {
	Key     Key // of the VM, as at Composition; its NICs have MACs of their own by it
	Added   []NIC
	Removed []string // labels
}

// AddedNIC is a NIC that was added to an instance after it was made.
type AddedNIC struct {
	Device string // of LXD, as "eth1"
	MAC    string // lower case, never empty
	Bridge string
	Subnet string // CIDR of the subnet that was wanted
	Mode   string // that was wanted: LinkDHCP or LinkUp
}

// Snapshots takes snapshots of VMs in the LXD that they are in, whoever composed them, and
// restores them. The instance is found by the MACs of the machine: a *Refusal, ErrConflict,
// where none has them, or several.
type Snapshots interface {
	// Snapshots lists those of a VM, with what a restore needs to know of its instance.
	// ErrBusy while LXD is at something with it, such as a snapshot whose reply was lost.
	Snapshots(ctx context.Context, at LXDPlace, m Machine) (SnapshotList, error)
	// TakeSnapshot takes one, without the memory of what runs. ErrUnclear when the reply
	// was lost: then Snapshots tells. ErrConflict where there is one of that name.
	TakeSnapshot(ctx context.Context, at LXDPlace, m Machine, want SnapshotRequest) error
	// DeleteSnapshot deletes one. An absent one is no error.
	DeleteSnapshot(ctx context.Context, at LXDPlace, m Machine, name string) error
	// RestoreSnapshot gives a stopped VM the root disk, options and devices that it had, and
	// the marks that the instance had before the first try. ErrBusy while it runs. May be
	// repeated.
	RestoreSnapshot(ctx context.Context, at LXDPlace, m Machine, name string, marks map[string]string) error
}

// LXDPlace is the LXD, and the project of it, in which the instance of a VM is.
type LXDPlace struct {
	Host      string // name of the VM host
	MachineID string // of the machine that the LXD runs on; empty: MAAS knows none
	Endpoint
	Fingerprint string // of the certificate that it must show; empty: nobody has noted it
}

// SnapshotRequest is a snapshot to be.
type SnapshotRequest struct {
	Name      string
	ExpiresAt time.Time // zero: when the options of the instance say so
}

// SnapshotList is what an LXD shows of the snapshots of a VM.
type SnapshotList struct {
	Instance  string
	Marks     map[string]string // of ours, in the options of the instance
	DataDisks []string          // volumes of the instance, as pool/volume: no snapshot holds them
	Snapshots []Snapshot
}

// Snapshot is a snapshot of a VM.
type Snapshot struct {
	Name      string
	CreatedAt time.Time
	OtherMACs bool // the VM had none of the MACs then by which MAAS knows it
	// LargerThanNow says what the VM would take more of its host than it does, such as "64GiB of
	// memory, and it has 8GiB now"; empty: nothing.
	LargerThanNow string
	// UnknownVolumes are the volumes that the VM has and the snapshot does not know, and Gone
	// those that it has no more. A restore would detach the former, and fail on the latter.
	UnknownVolumes, MissingVolumes []string
}

// Resident is a VM on a host.
type Resident struct {
	Machine
	HostKey string // VMHost.HostKey of its host
}

// Leftovers says what composes of a key may have left where MAAS shows no machine.
type Leftovers struct {
	Key    Key
	Marker string // that the composes left with what they made
	Name   string // of the instance
	// HostKeys are of the hosts that must have answered: the composes were sent
	// there. Others are asked, too.
	HostKeys []string
	Pools    []string // names of the storage pools in which there may be disks
	// BegunBefore is since when nobody can be at it: what was begun later stays.
	BegunBefore time.Time
}

// Enlister makes machines of instances that an LXD has already, one by one: how
// MAAS comes to know a VM where it has no VM hosts.
type Enlister interface {
	// Enlist makes a New machine, which is not commissioned. MAAS does not ask
	// the LXD: an instance that is not there is accepted, too. Never repeated by
	// the adapter: ErrUnclear when the reply was lost, and then Enlisted tells.
	// A MAC that MAAS has already is a FieldError of mac_addresses, a hostname
	// one of hostname.
	Enlist(ctx context.Context, e Enlistment) (systemID string, err error)
	// MachinesWithMACs lists the machines that have one of these MACs, as MAAS has them
	// now. None if there are none.
	MachinesWithMACs(ctx context.Context, macs ...string) ([]Machine, error)
	// PowerInstanceOf says by which instance MAAS turns a machine on and off, without
	// the credentials. ErrNotFound if the machine is absent, or no instance of
	// an LXD.
	PowerInstanceOf(ctx context.Context, systemID string) (Instance, error)
	// SetPowerInstance says anew by which instance MAAS turns the machine on and off, and
	// which credentials MAAS shows to its LXD: those that the machine was enlisted
	// with stay with it otherwise. May be repeated; neither machine nor instance is
	// touched. ErrNotFound if the machine is absent.
	SetPowerInstance(ctx context.Context, systemID string, i Instance, c Credentials) error
	// DeleteMachineRecord deletes the machine's record. An absent machine is no error.
	DeleteMachineRecord(ctx context.Context, systemID string) error
}

// Instance is an instance of an LXD, as MAAS finds it.
type Instance struct {
	Endpoint
	Name string
}

// Enlistment is a machine to be, made of an instance.
type Enlistment struct {
	Hostname     string
	Architecture string   // "amd64/generic"
	MACs         []string // of all its interfaces, the one that it boots from first
	Instance
	// Credentials by which MAAS is known to the LXD. MAAS keeps them with the
	// machine.
	Credentials
	Description string
	Zone        string // names; empty: MAAS's default
	Pool        string
	Domain      string
}
