package engine

import (
	"context"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// Composition describes a VM to make.
type Composition struct {
	Hostname     string
	Cores        int   // ignored when PinnedCores are given
	PinnedCores  []int // host core numbers
	MemoryMiB    int64
	HugePages    bool
	Profile      string            // of LXD; empty: StandardProfile if it exists. For composers that can choose
	Config       map[string]string // further instance options of LXD, as in VMSpec
	Devices      map[string]Device // of LXD, beside disks and NICs, by name
	Architecture string            // "amd64/generic"
	Disks        []Disk            // the first is the root disk
	Interfaces   []NIC             // fixed addresses come later, by SetInterfaceAddress
	Zone         string            // names; empty: MAAS's default
	Pool         string
	Domain       string
	Marker       string // a tag for the root disk: it tells whose a new VM is
	// Key is the key behind the marker, and Description holds the marker line. They are for
	// composers that can store them with the VM at its birth.
	Key         Key
	Description string
	// ReportLeftover receives a description of an instance that carries the marker and stays,
	// because it may be a copy. The text fits into a sentence. Nil: nobody is told.
	ReportLeftover func(what string)
	// BeforeSend is called right before the request is sent, after all waiting. If it fails,
	// nothing is sent, and Compose returns its error.
	BeforeSend func(context.Context) error
}

// NIC is a network interface of a VM to make.
type NIC struct {
	Subnet        // the subnet that it is on
	Label  string // the caller's name for it; errors use it
	Bridge string // the bridge that it joins; empty: any on the subnet. For composers that can choose
	MAC    string // empty: the composer chooses. For composers that can
	Mode   string // of a NIC that is added in place: LinkDHCP or LinkUp. The composer only notes it
}

// Field is the path of a part of the NIC in the spec: interfaces.eth0.bridge.
func (n NIC) Field(part string) fieldpath.Path { return Interface{Name: n.Label}.Field(part) }

// Composer makes VMs on LXD hosts, and removes them.
type Composer interface {
	// CheckCanCompose returns an error if no VM can be made in this way at all. It is a
	// *Refusal, or ErrGone if the composer needs VM hosts and this MAAS has none. It changes
	// nothing.
	CheckCanCompose(ctx context.Context) error
	// Hosts lists the hosts with their inventory. The list is cached and shared. It is dropped
	// whenever this client composes or removes a VM.
	Hosts(ctx context.Context) ([]VMHost, error)
	// Compose makes a VM and returns its system id. The VM is not yet commissioned. The adapter
	// never repeats it: after an error only a look tells what exists. ErrUnclear when the reply
	// was lost, ErrInvalid for refused values (see FieldError), ErrUnavailable otherwise.
	Compose(ctx context.Context, host VMHost, c Composition) (systemID string, err error)
	// CheckInstanceReachable returns an error if the composer cannot reach the instance of a VM now, or
	// if somebody moved or renamed the instance. So a caller releases no VM that it cannot
	// delete or deploy afterwards. An absent instance is no error. Where MAAS composes, it asks
	// nothing.
	CheckInstanceReachable(ctx context.Context, m Machine) error
	// Decompose deletes the machine's record and its LXD instance. An absent machine is no
	// error. MAAS reports success even when it could not reach LXD. So call Machines.QueryPower
	// before, and look afterwards.
	Decompose(ctx context.Context, systemID string) error
	// RemoveLeftovers removes what composes of a key left that never became a machine. It
	// removes only what is certain to be that. If nothing is left, that is no error.
	// ErrUnavailable if a host that matters does not answer, and ErrBusy while a compose may
	// still run. A *Refusal, ErrConflict, for an instance that ran and whose machine is gone.
	// Where MAAS composes, it does nothing: MAAS has a machine for each instance that it shows.
	RemoveLeftovers(ctx context.Context, r Leftovers) error
	// HostOf finds the host that a VM runs on. It sets ID, Name, MachineID and HostKey at
	// least, the Project if its LXD is known, and the Tags if MAAS does not give them to VMs
	// itself. ErrConflict for a machine that runs on no host, ErrBusy if MAAS does not tell
	// yet.
	HostOf(ctx context.Context, m Machine) (VMHost, error)
	// VMs lists the VMs on these hosts, as MAAS has them now, with the HostName of each. An
	// instance that MAAS does not know has no SystemID; the composer decides whether to list
	// those. If the LXD of a host does not answer, VMs returns ErrUnavailable beside the VMs
	// that it found.
	VMs(ctx context.Context, hosts []VMHost) ([]Resident, error)
	// CompleteMachine adds what MAAS does not tell of a VM, or no longer tells: the HostName,
	// and the size that it was given last. The size is zero, without disks, if only a host
	// knows it and that host does not answer. Other unknown fields stay as they are. A machine
	// that is no VM is returned unchanged.
	CompleteMachine(ctx context.Context, m Machine) Machine
	// Resize gives a VM the cores, the memory and the disks of the Composition, in place. Disks
	// grow, and new ones come after them, with the Marker. ErrConflict if that is impossible, a
	// *RunningError if it is impossible while the VM runs, a *SpecError if it is never
	// possible.
	Resize(ctx context.Context, host VMHost, systemID string, c Composition) error
	// ConfigureInstance sets instance options and devices of LXD on a VM, in place, and removes
	// others. It does not change what the VM has already, so it may be repeated. A
	// *RunningError if that is impossible while the VM runs, a *SpecError if it is never
	// possible, ErrInvalid if LXD refuses it.
	ConfigureInstance(ctx context.Context, host VMHost, systemID string, c InstanceChange) error
	// ChangeInterfaces adds NICs to the instance of a VM, also while it runs, and removes NICs
	// that were added so. A NIC that is as wanted stays, so the call may be repeated. A
	// *RunningError if LXD refuses it while the VM runs, a *SpecError if that is impossible,
	// ErrInvalid if LXD refuses it at all. MAAS does not learn of it.
	ChangeInterfaces(ctx context.Context, host VMHost, systemID string, c InterfaceChange) error
	// SyncHost makes MAAS list the host's instances anew: vanished VMs leave MAAS, and MAAS
	// adopts and power-cycles unknown ones. A composer that can looks at one VM alone.
	SyncHost(ctx context.Context, host VMHost, systemID string) error
}

// InstanceChange says how the instance options and devices of a VM change. Others stay.
type InstanceChange struct {
	Config                        map[string]string
	Devices                       map[string]Device
	RemovedConfig, RemovedDevices []string
}

// InterfaceChange names the NICs to add to a VM in place, and those to remove.
type InterfaceChange struct {
	Key     Key // of the VM, as in Composition; the MACs of its NICs derive from it
	Added   []NIC
	Removed []string // labels
}

// AddedNIC is a NIC that was added to an instance after it was made.
type AddedNIC struct {
	Device string // of LXD, such as "eth1"
	MAC    string // lower case, never empty
	Bridge string
	Subnet string // CIDR of the wanted subnet
	Mode   string // the wanted one: LinkDHCP or LinkUp
}

// Snapshots takes and restores snapshots of VMs in their LXD, whoever composed them. It finds
// the instance by the MACs of the machine. A *Refusal, ErrConflict, if no instance has them, or
// several have.
type Snapshots interface {
	// Snapshots lists the snapshots of a VM, and what a restore needs to know of its instance.
	// ErrBusy while an LXD operation on the VM runs, such as a snapshot whose reply was lost.
	Snapshots(ctx context.Context, at LXDPlace, m Machine) (SnapshotList, error)
	// TakeSnapshot takes a snapshot without the memory of the running VM. ErrUnclear when the
	// reply was lost: then Snapshots tells. ErrConflict if there is one of that name.
	TakeSnapshot(ctx context.Context, at LXDPlace, m Machine, want SnapshotRequest) error
	// DeleteSnapshot deletes a snapshot. An absent one is no error.
	DeleteSnapshot(ctx context.Context, at LXDPlace, m Machine, name string) error
	// RestoreSnapshot gives a stopped VM the root disk, options and devices of the snapshot,
	// and the marks that the instance had before the first try. ErrBusy while it runs. May be
	// repeated.
	RestoreSnapshot(ctx context.Context, at LXDPlace, m Machine, name string, marks map[string]string) error
}

// LXDPlace says in which LXD, and in which project of it, the instance of a VM is.
type LXDPlace struct {
	Host      string // name of the VM host
	MachineID string // of the machine that the LXD runs on; empty: MAAS knows none
	Endpoint
	Fingerprint string // of the certificate that it must show; empty: none is noted
}

// SnapshotRequest describes a snapshot to take.
type SnapshotRequest struct {
	Name      string
	ExpiresAt time.Time // zero: as the options of the instance say
}

// SnapshotList is what an LXD shows of the snapshots of a VM.
type SnapshotList struct {
	Instance  string
	Marks     map[string]string // our marks in the options of the instance
	DataDisks []string          // volumes of the instance, as pool/volume, that no snapshot holds
	Snapshots []Snapshot
}

// Snapshot is a snapshot of a VM.
type Snapshot struct {
	Name      string
	CreatedAt time.Time
	OtherMACs bool // the VM then had none of the MACs by which MAAS knows it
	// LargerThanNow says what more the VM would take of its host after a restore, such as
	// "64GiB of memory, and it has 8GiB now". Empty: nothing more.
	LargerThanNow string
	// UnknownVolumes are volumes of the VM that the snapshot does not know: a restore would
	// detach them. MissingVolumes are volumes of the snapshot that the VM no longer has: a
	// restore would fail on them.
	UnknownVolumes, MissingVolumes []string
}

// Resident is a VM on a host.
type Resident struct {
	Machine
	HostKey string // VMHost.HostKey of its host
}

// Leftovers describes what composes of a key may have left where MAAS shows no machine.
type Leftovers struct {
	Key    Key
	Marker string // the tag that the composes put on what they made
	Name   string // of the instance
	// HostKeys are the hosts that the composes were sent to. They must answer; others are
	// asked, too.
	HostKeys []string
	Pools    []string // names of the storage pools that may hold its disks
	// BegunBefore is the time before which every compose has ended. Anything newer stays.
	BegunBefore time.Time
}

// Enlister makes machines of existing instances of an LXD, one by one. So MAAS learns of a VM
// where it has no VM hosts.
type Enlister interface {
	// Enlist makes a New machine, which is not commissioned. MAAS does not ask the LXD: it
	// accepts an instance that does not exist, too. The adapter never repeats it: ErrUnclear
	// when the reply was lost, and then MachinesWithMACs tells. A MAC that MAAS has already is
	// a FieldError of mac_addresses, a hostname one of hostname.
	Enlist(ctx context.Context, e Enlistment) (systemID string, err error)
	// MachinesWithMACs lists the machines that have one of these MACs, as MAAS has them now.
	// The list may be empty.
	MachinesWithMACs(ctx context.Context, macs ...string) ([]Machine, error)
	// PowerInstanceOf returns the instance by which MAAS turns a machine on and off, without
	// the credentials. ErrNotFound if the machine is absent, or is no instance of an LXD.
	PowerInstanceOf(ctx context.Context, systemID string) (Instance, error)
	// SetPowerInstance changes by which instance MAAS turns the machine on and off, and which
	// credentials MAAS shows to its LXD. Otherwise the machine keeps the credentials of its
	// enlistment. It may be repeated, and touches neither machine nor instance. ErrNotFound if
	// the machine is absent.
	SetPowerInstance(ctx context.Context, systemID string, i Instance, c Credentials) error
	// DeleteMachineRecord deletes the machine's record. An absent machine is no error.
	DeleteMachineRecord(ctx context.Context, systemID string) error
}

// Instance names an instance of an LXD, as MAAS finds it.
type Instance struct {
	Endpoint
	Name string
}

// Enlistment describes a machine to make of an instance.
type Enlistment struct {
	Hostname     string
	Architecture string   // "amd64/generic"
	MACs         []string // of all its interfaces, the boot interface first
	Instance
	// Credentials are the key pair that MAAS shows to the LXD. MAAS stores them with the
	// machine.
	Credentials
	Description string
	Zone        string // names; empty: MAAS's default
	Pool        string
	Domain      string
}
