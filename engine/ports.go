package engine

import (
	"context"
	"slices"

	"github.com/maaslxd/maaslxd/engine/placement"
)

// Machine is one MAAS machine as it was last seen: a VM that MAAS knows, or bare metal.
type Machine struct {
	SystemID      string
	Hostname      string
	FQDN          string
	Status        Status
	StatusName    string // MAAS's own word, for people
	StatusMessage string // MAAS's own message, may be empty
	PowerState    string // "on", "off", "error", "unknown": cached by MAAS
	PowerType     string // "lxd", "ipmi", …; empty: MAAS made the record itself, for a VM host
	Locked        bool
	Owner         string // MAAS user, empty if not acquired
	Description   string
	Zone          string
	Pool          string // resource pool
	Domain        string
	Tags          []string // sorted
	HostID        int      // id of the VM host that it runs on, 0 for bare metal
	HostName      string   // name of that VM host
	Profiles      []string // LXD profiles of a VM; nil: unknown
	// Config and Devices of a VM's instance, as far as a VMSpec may name them. Nil means
	// unknown.
	Config  map[string]string
	Devices map[string]Device
	// AddedNICs are the NICs that were added to a VM's instance after it was made, by their
	// labels. Nil means unknown: MAAS made the VM, or its LXD does not answer.
	AddedNICs map[string]AddedNIC
	// InstanceMissing means that no LXD of the VM hosts has the instance of this VM, and that
	// all of them answered. It is false where MAAS makes the VMs, as nobody can tell.
	InstanceMissing bool
	Cores           int
	MemoryMiB       int64
	HugePages       bool               // the memory is backed by huge pages; false: not, or unknown
	Architecture    string             // "amd64/generic"
	Disks           []MachineDisk      // physical block devices in MAAS's order: sda, sdb, …
	Interfaces      []MachineInterface // physical interfaces in MAAS's order
	Bridges         []MachineBridge    // bridges that MAAS knows, in MAAS's order
	Children        []ChildInterface   // bonds, VLAN interfaces and bridges, in MAAS's order
	Gateways        []string           // addresses of its default gateways; none: MAAS chooses
	BootInterface   int                // id of the interface that it boots from, 0 if MAAS knows none
	BootDisk        int                // id of the disk that it boots from, 0 if MAAS knows none
	Image           string             // what was deployed, "ubuntu/noble"; empty before
	Kernel          string             // hwe_kernel of the deployment, "ga-24.04"; empty before
	Ephemeral       bool               // the deployed system runs from memory
	HardwareSync    bool               // the deployed system reports its hardware to MAAS
	SwapBytes       *int64             // swap that deployments make; nil: what curtin suggests
	IPAddresses     []string
	// OwnerData are MAAS's workload annotations. They can be set from the allocation on; a
	// release clears them.
	OwnerData map[string]string
	// Err is set in lists of machines if MAAS's record could not be read as a whole. Then only
	// SystemID and Hostname count. Machine and MachinesNamed return it as their own error.
	Err error
}

// MachineDisk is a physical block device of a machine.
type MachineDisk struct {
	ID     int // MAAS's number of the block device
	Name   string
	SizeGB int64 // decimal: 1 GB = 1000000000 bytes, as MAAS counts disks
	Bytes  int64 // the exact size; 0: only SizeGB is known
	Pool   string
	Tags   []string
}

// MachineInterface is a physical network interface of a machine.
type MachineInterface struct {
	ID     int
	Name   string
	MAC    string // lower case
	VLAN   int    // id of the VLAN that it is attached to, 0 for none
	Fabric string // name of the VLAN's fabric, empty for none
	MTU    int    // 0: the VLAN's
	Bridge string // bridge of the VM host that a VM's interface joins; empty: unknown, or bare metal
	Links  []InterfaceLink
}

// ChildInterface is an interface that is made of other interfaces, its parents, as MAAS calls
// them.
type ChildInterface struct {
	ID      int
	Kind    ChildKind
	Name    string
	Parents []string // names of the interfaces below it
	VLAN    int      // id of its VLAN, 0 for none
	VID     int      // tag of its VLAN
	Fabric  string   // name of the VLAN's fabric, empty for none
	MTU     int      // 0: the VLAN's
	Bond    BondMode // of a bond
	Links   []InterfaceLink
}

// ChildKind is the kind of a child interface, in MAAS's words.
type ChildKind string

// The kinds.
const (
	ChildBond   ChildKind = "bond"
	ChildVLAN   ChildKind = "vlan"
	ChildBridge ChildKind = "bridge"
)

// BondMode says how a bond uses its interfaces, in the words of MAAS and Linux.
type BondMode struct {
	Mode       string // "802.3ad"; empty: MAAS's default, balance-rr
	LACPRate   string // "fast" or "slow"; empty: MAAS's default, fast
	HashPolicy string // "layer3+4"; empty: MAAS's default, layer2
}

// MachineBridge is a bridge that MAAS knows on a machine.
type MachineBridge struct {
	ID      int
	Name    string
	Parents []string // names of the interfaces below it
	VLAN    int      // id of its VLAN, 0 for none
	Links   []InterfaceLink
}

// IsOn tells whether VMs on the bridge are on a subnet: that of its VLAN, or one that it is linked to.
// A bridge without an address is on all subnets of its VLAN.
func (b MachineBridge) IsOn(s Subnet) bool {
	return b.VLAN != 0 && b.VLAN == s.VLAN || s.IsLinkedBy(b.Links)
}

// IsLinkedBy tells whether one of the links is to the subnet.
func (s Subnet) IsLinkedBy(links []InterfaceLink) bool {
	return slices.ContainsFunc(links, func(l InterfaceLink) bool { return l.Subnet == s.CIDR })
}

// InterfaceLink ties an interface to a subnet.
type InterfaceLink struct {
	Mode   string // "auto", "static", "dhcp", "link_up"
	Subnet string // CIDR, empty for link_up
	IP     string // empty until MAAS assigned one
}

// LinkRequest describes a link to make.
type LinkRequest struct {
	Mode   string // "auto", "static", "dhcp", "link_up"
	Subnet Subnet // zero for link_up
	IP     string // of a static link
	// DefaultGateway makes the subnet's gateway the default gateway of the machine. It is for
	// auto and static.
	DefaultGateway bool
	// KeepOthers keeps the other links of the interface.
	KeepOthers bool
}

// Machines reads machines and moves them through MAAS's states. Reads of many machines at the
// same moment share calls. Unless a comment says otherwise, an absent machine is ErrNotFound,
// and repeating a call is safe.
type Machines interface {
	// Machine reads one machine. The answer is never older than this client's last write to
	// that machine.
	Machine(ctx context.Context, systemID string) (Machine, error)
	// MachinesNamed lists the machines with this hostname; the list may be empty.
	MachinesNamed(ctx context.Context, hostname string) ([]Machine, error)
	// MachinesWhere lists the machines that match, as MAAS has them now. A filter that names
	// something unknown to MAAS matches none.
	MachinesWhere(ctx context.Context, f MachineFilter) ([]Machine, error)
	// WatchChange returns a channel that is closed once the machine no longer looks as seen
	// (status, status message, power), or is gone. One poller looks for all watched machines.
	// When ctx ends, the channel is abandoned, not closed.
	WatchChange(ctx context.Context, seen Machine) <-chan struct{}
	// Update changes the given fields only.
	Update(ctx context.Context, systemID string, u MachineUpdate) error
	// Tag puts a tag on the machine. It creates the tag if MAAS has none of that name.
	Tag(ctx context.Context, systemID, tag string) error
	// Untag takes a tag off the machine. An absent tag is no error.
	Untag(ctx context.Context, systemID, tag string) error
	// SetInterfaceAddress gives an interface a fixed address in place of its other links. With
	// an empty ip, MAAS assigns an address when it deploys. ErrConflict if the address is
	// taken.
	SetInterfaceAddress(ctx context.Context, systemID string, interfaceID int, subnet Subnet, ip string) error
	// LinkInterface links an interface to a subnet, in place of its other links unless
	// l.KeepOthers. ErrConflict if the address is taken.
	LinkInterface(ctx context.Context, systemID string, interfaceID int, l LinkRequest) error
	// Commission starts commissioning without hardware tests.
	Commission(ctx context.Context, systemID string) error
	// Deploy installs an image. ErrConflict in a state that MAAS cannot deploy from.
	Deploy(ctx context.Context, systemID string, d Deployment) error
	// Abort stops commissioning, testing or deploying. ErrConflict if there is nothing to stop,
	// ErrUnavailable while another power action runs.
	Abort(ctx context.Context, systemID string) error
	// EnterRescueMode begins to boot the machine into MAAS's rescue environment, whatever its
	// power is now. ErrConflict in a state that does not allow it, also if the machine is in
	// rescue mode already. ErrUnavailable while another power action runs.
	EnterRescueMode(ctx context.Context, systemID string) error
	// ExitRescueMode begins to lead the machine out of rescue mode. ErrConflict if it is not in
	// it, ErrUnavailable while another power action runs.
	ExitRescueMode(ctx context.Context, systemID string) error
	// Release gives the machine back. MAAS continues after the call has returned.
	Release(ctx context.Context, systemID string, erase Erase) error
	// Lock keeps everybody from changing and deleting the machine. ErrConflict in a state other
	// than Deployed and Deploying: MAAS locks no others.
	Lock(ctx context.Context, systemID string) error
	// Unlock removes the lock.
	Unlock(ctx context.Context, systemID string) error
	// QueryPower asks the power driver, and so LXD, whether the machine is on. It returns "on"
	// or "off", or "error" if the instance is gone or LXD cannot be reached.
	QueryPower(ctx context.Context, systemID string) (string, error)
	// PowerOff turns the machine off; a machine that is off already is no error. ErrUnavailable
	// while another power action runs.
	PowerOff(ctx context.Context, systemID string) error
	// PowerOn turns an acquired machine on; a machine that is on already is no error. MAAS
	// deploys an Allocated machine that is turned on. ErrConflict for a machine that nobody has
	// acquired, ErrUnavailable while another power action runs.
	PowerOn(ctx context.Context, systemID string) error
}

// MachineFilter says which machines to list. An empty field matches all.
type MachineFilter struct {
	Status Status // the zero value, New, matches all
	Zone   string
	Pool   string
	Tags   []string // all of them
	Agent  string   // the agent name that Allocate left with them
	Hosts  []string // names of VM hosts: the VMs on them
	MAC    string   // of one of its interfaces, in lower case
}

// MachineUpdate lists what Update changes. Nil leaves a field alone.
type MachineUpdate struct {
	Hostname    *string
	Description *string
	Zone        *string
	Pool        *string
	Domain      *string
	SwapBytes   *int64 // 0: deployments make no swap
}

// VMHost is an LXD server on which VMs can be made.
type VMHost struct {
	ID               int // MAAS's number of the VM host; 0 where it has none
	Name             string
	Version          string // LXD's version; empty: MAAS never reached it
	Zone             string
	Pool             string
	Tags             []string
	Cores            Amount
	MemoryMiB        Amount
	CPUOvercommit    float64
	MemoryOvercommit float64
	// HugePagesMiB is the memory that is set aside as huge pages. Zero means none, or unknown,
	// as where MAAS makes the VMs.
	HugePagesMiB  Amount
	StoragePools  []StoragePool
	Architectures []string // "amd64/generic"; its own first, in which LXD makes VMs
	// Project is the LXD project that VMs are made in. Empty: MAAS knows it, and Registrar
	// tells it.
	Project string
	// Profiles are the LXD profiles that VMs of the project may have, sorted. Nil where MAAS
	// makes the VMs, and where the LXD was not reached.
	Profiles []string
	// HasBootMode means that this LXD has the option boot.mode instead of security.secureboot.
	HasBootMode bool
	// HostKey is the name of the host in a ledger and in placement, whoever composes on it. It
	// is the system id of its machine, and more if that machine has several VM hosts, each of
	// another project. It is never empty.
	HostKey string
	// MachineID is the system id of the machine that its LXD runs on. It is empty until MAAS
	// reaches the LXD.
	MachineID string
	// ServerFingerprint is the fingerprint of the certificate that its LXD showed. It is empty
	// where MAAS makes the VMs, and where the LXD was not reached.
	ServerFingerprint string
	// Err says why no VM can be made on it now. Nil: no obstacle is known. IsTerminal tells
	// whether the obstacle may pass.
	Err error
	// Inventory is the ledger's tag from before this was read.
	Inventory Tag
}

// Amount is a resource of a host. Used counts the VMs that MAAS knows.
type Amount struct{ Total, Used int64 }

// FreeAtRatio is what an over-commit ratio leaves free; it is never negative.
func (a Amount) FreeAtRatio(ratio float64) int64 { return placement.Amount(a).FreeAtRatio(ratio) }

// StoragePool is an LXD storage pool of a host. Sizes are in bytes.
type StoragePool struct {
	Name           string
	Driver         string // "zfs", "dir", …
	TotalBytes     int64
	AvailableBytes int64
	Default        bool
}

// FieldError is an error in which MAAS names the fields that it refused. Keys are MAAS's
// parameter names.
type FieldError interface {
	error
	Fields() map[string][]string
}

// Names lists the objects that MAAS knows by name. Lists are cached, shared and sorted.
type Names interface {
	Zones(ctx context.Context) ([]string, error)
	Pools(ctx context.Context) ([]string, error)
	Domains(ctx context.Context) ([]string, error)
	Subnets(ctx context.Context) ([]Subnet, error)
	Addresses
	// Refresh drops those of the named lists that are older than a second; with no name, all of
	// them. Someone may just have made the missing object.
	Refresh(lists ...List)
}

// List names a cached list.
type List string

// The lists that Names.Refresh drops. ListHosts holds the VM hosts, and what LXD servers
// reported of themselves.
const (
	ListHosts     List = "hosts"
	ListZones     List = "zones"
	ListPools     List = "pools"
	ListDomains   List = "domains"
	ListSubnets   List = "subnets"
	ListAddresses List = "addresses"
	ListImages    List = "images"
)

// IsRefreshedBy tells whether Refresh(lists...) drops the list.
func (l List) IsRefreshedBy(lists []List) bool { return len(lists) == 0 || slices.Contains(lists, l) }

// Subnet is a subnet that MAAS knows.
type Subnet struct {
	ID   int
	Name string
	CIDR string // "10.77.0.0/24"
	VLAN int    // id of its VLAN
	VID  int    // tag of its VLAN, 0 for the untagged one
	DHCP bool   // MAAS serves DHCP on its VLAN
	// VLANName, Fabric, Space and Gateway are empty if there is none, or if it is unknown.
	VLANName string
	Fabric   string
	Space    string
	Gateway  string // its address
}

// Catalog says what this MAAS has and can do.
type Catalog interface {
	// Images lists the images that MAAS has, sorted by name.
	Images(ctx context.Context) ([]Image, error)
	// DefaultImage is the series that MAAS installs if the spec names none: "noble".
	DefaultImage(ctx context.Context) (string, error)
	// Capabilities probes once what this MAAS is.
	Capabilities(ctx context.Context) (Capabilities, error)
}

// Image is what MAAS can install.
type Image struct {
	Name          string   // "ubuntu/noble"
	Architectures []string // "amd64", sorted
	// MoreArchitectures means that MAAS may have it for others, too: it listed something that
	// could not be read.
	MoreArchitectures bool
	Kernels           []string // "ga-24.04", sorted; none where MAAS does not tell them
}

// Capabilities is what a probe of MAAS found.
type Capabilities struct {
	Version  string // "3.4.10"
	VMHosts  bool   // false: VM hosts answer 410 Gone
	Username string
	Admin    bool // composing needs an administrator's key
}
