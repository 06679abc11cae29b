package engine

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// VMSpec is a wanted LXD virtual machine.
type VMSpec struct {
	// Name is the hostname: one DNS label, unique in the whole MAAS.
	Name string
	// Host is the VM host to compose on: its name, its id in MAAS, or the system id of its
	// machine. Empty: a host that fits Placement.
	Host string
	// Placement says which hosts are suitable. If Host is named, too, it must have the Zone,
	// Pool, Tags and Project. An existing VM stays where it is.
	Placement Placement
	// Cores is the number of virtual CPUs, at least 1. With PinnedCores it is ignored, and may
	// be 0.
	Cores int
	// PinnedCores are core numbers of the host that the VM is bound to.
	PinnedCores []int
	// MemoryMiB is the VM's memory in MiB, at least 1024: MAAS refuses less
	// (forms/pods.py, ComposeMachineForm).
	MemoryMiB int64
	// HugePages backs the memory with huge pages of the host.
	HugePages bool
	// Profile is the LXD profile that the VM is made with. Empty: StandardProfile if the
	// project of the host has it, else none. Where MAAS makes the VM, no other profile is
	// possible.
	Profile string
	// Config are further instance options of LXD, by key. Devices are devices beside the disks
	// and NICs, by name. InstanceOptionProblem and Device.Problem say which ones are allowed.
	// None are allowed where MAAS makes the VM.
	Config  map[string]string
	Devices map[string]Device
	// RemovedConfig and RemovedDevices are keys and names that were wanted before.
	RemovedConfig  []string
	RemovedDevices []string
	// Reconfigure says that a finished VM gets Config and Devices in place, or an error says
	// why not. Otherwise they are left alone.
	Reconfigure bool
	// Disks, the root disk first.
	Disks []Disk
	// Interfaces in the order of the VM. None means MAAS's default: one NIC on a network of the
	// host with DHCP.
	Interfaces []Interface
	// AddedInterfaces are added to a finished VM in place, in LXD only. RemovedInterfaces are
	// the labels of added ones to remove. Neither is among Interfaces, which MAAS knows. An
	// interface that is as wanted stays, so both may be repeated. They are an error if MAAS
	// made the VM, or if MAAS would have to give an address.
	AddedInterfaces   []Interface
	RemovedInterfaces []string
	// Zone, Pool and Domain are names. Empty: the host's zone, the host's resource pool, MAAS's
	// default domain. An existing VM keeps its own.
	Zone   string
	Pool   string
	Domain string
	// Tags that the VM must carry. It also has those of its host, and MAAS's own.
	Tags []string
	// RemovedTags are tags that were wanted before. The VM must not carry them.
	RemovedTags []string
	// Description is MAAS's description of the machine without our mark and notes (see
	// DescriptionText). Nil leaves it alone; an empty one clears it.
	Description *string
	// Deploy says what to install. Nil: the VM is left Ready.
	Deploy *Deployment
	// Installation names the wanted installation of the VM. A VM whose description notes
	// another name, or none, is released and deployed again. It keeps its system id, MAC
	// addresses and static links. It loses the data on its disks: MAAS wipes the superblocks of
	// all of them (preseed_storage.py), unless the VM runs from memory.
	//
	// One process reinstalls once for a name, unless the deployment failed. So two runs that
	// want different names do not redeploy against each other. Empty: any installation is
	// accepted. A name needs Deploy.
	Installation string
	// AwaitName says to wait for a name that another VM of the same owner has. The engine waits
	// as long as this process renames or deletes that VM, and otherwise for half a minute.
	// Without AwaitName, or with another owner, the taken name is an error at once.
	AwaitName bool
	// Locked says whether MAAS's lock is on the VM. The lock keeps everybody from deleting and
	// changing it. The engine unlocks the VM for the time of a change. Nil leaves the lock
	// alone: then an existing lock refuses every change except of tags. True needs Deploy: MAAS
	// locks deployed machines only (models/node.py, lock).
	Locked *bool
	// Annotations are wanted workload annotations of a finished VM. RemovedAnnotations are the
	// keys of those that were wanted before. Other keys stay. Values are not empty: MAAS takes
	// an empty one for a removal. They need Deploy: MAAS annotates acquired machines only, and
	// a release removes the annotations (api/nodes.py, set_workload_annotations).
	Annotations        map[string]string
	RemovedAnnotations []string
	// Power is the wanted power state of a finished VM, "on" or "off". Empty leaves it alone.
	// "on" needs Deploy: MAAS turns on acquired machines only (api/nodes.py, power_on). It does
	// not go with an Ephemeral Deployment, which is lost when the power goes off.
	Power string
	// MayStop allows Resize and Reconfigure to turn a running VM off if they need a stopped
	// one. It goes off at once, as MAAS turns it off, and on again afterwards. Without MayStop
	// that is an error.
	MayStop bool
	// Resize says that an existing VM of another size gets this one in place, or an error says
	// why not. A VM that is to be deployed gets it before. Otherwise its size is left alone.
	Resize bool
}

// Placement says which VM hosts are suitable for a VM. The zero value accepts all.
type Placement struct {
	Zone    string   // availability zone of the host
	Pool    string   // resource pool of the host
	Tags    []string // all of them must be on the host
	Project string   // LXD project in which the host makes VMs; empty: any
	// Group is a name for VMs that spread over the zones, then over the hosts. Empty: no group.
	Group string
	// Strategy orders the hosts if a group does not decide; empty: placement.Spread.
	Strategy placement.Strategy
}

// Disk is a disk of a VM.
type Disk struct {
	Name   string // the caller's name for it
	SizeGB int64  // decimal, as MAAS counts disks: 1 GB = 1000000000 bytes
	Pool   string // storage pool of the host; empty: the host's default pool
}

// Interface is a network interface of a VM.
type Interface struct {
	Name string // the caller's name for it: a label of [a-z0-9-]
	// Subnet, VID, Fabric and Space choose the subnet, as those of Network. The host must be
	// attached to it.
	Subnet string
	VID    *int
	Fabric string
	Space  string
	IP     netip.Addr // fixed address in the subnet; the zero Addr: see Mode
	Mode   string     // one of LinkModes; empty: LinkStatic with an IP, else LinkAuto
	// Addresses are further addresses, in subnets of the same VLAN.
	Addresses []InterfaceAddress
	// Bridge is the name of the host's bridge that the interface joins. Empty: the first one on
	// the subnet that MAAS and LXD know. For composers that can choose.
	Bridge string
	// MAC is in lower case and has colons; empty: the composer chooses. For composers that can.
	MAC string
}

// Field is the path of the interface, or of a part of it, in the spec: interfaces.eth0.bridge.
func (i Interface) Field(part ...string) fieldpath.Path {
	return fieldpath.New("interfaces").Key(i.Name).Child(part...)
}

// InterfaceAddress is an address of an interface besides its first one.
type InterfaceAddress struct {
	Subnet string     // name or CIDR
	IP     netip.Addr // fixed; the zero Addr: see Mode
	Mode   string     // as that of Interface, without LinkUp
}

// Network chooses a subnet by all given fields. At least one must be given.
type Network struct {
	Subnet string // name or CIDR
	VID    *int   // tag of its VLAN, 0 for the untagged one
	Fabric string // name
	Space  string // name
}

// Network is the network of the interface.
func (i Interface) Network() Network { return Network{i.Subnet, i.VID, i.Fabric, i.Space} }

// IsEmpty tells whether nothing is given.
func (n Network) IsEmpty() bool { return n == Network{} }

// The ways to an address, in MAAS's words (enum.py, INTERFACE_LINK_TYPE).
const (
	LinkAuto   = "auto"    // MAAS assigns one with the deployment
	LinkDHCP   = "dhcp"    // the guest asks a DHCP server
	LinkStatic = "static"  // a fixed one; MAAS chooses it if none is given
	LinkUp     = "link_up" // it is up, but has no address
)

// LinkModes lists all link modes.
var LinkModes = []string{LinkAuto, LinkDHCP, LinkStatic, LinkUp}

// WantedLink is a wanted link of an interface, with the field that names it.
type WantedLink struct {
	Field  fieldpath.Path // interfaces.eth0 or interfaces.eth0.addresses[0]
	Subnet string         // name or CIDR of a further address; empty: the interface's network
	Mode   string
	IP     netip.Addr
}

// Links lists the wanted links of the interface, the one of its network first.
func (i Interface) Links() []WantedLink {
	field := i.Field()
	links := []WantedLink{{Field: field, Mode: linkMode(i.Mode, i.IP), IP: i.IP}}
	for n, a := range i.Addresses {
		links = append(links, WantedLink{Field: field.Child("addresses").Index(n), Subnet: a.Subnet, Mode: linkMode(a.Mode, a.IP), IP: a.IP})
	}
	return links
}

// NeedsAddressOfMAAS tells whether MAAS must give the interface an address. MAAS gives one only
// to interfaces from the birth of the VM: it does not learn of one that is added in place.
func (i Interface) NeedsAddressOfMAAS() bool {
	return slices.ContainsFunc(i.Links(), func(l WantedLink) bool { return l.Mode == LinkAuto || l.Mode == LinkStatic })
}

// HasFixedAddress tells whether one of the addresses is given.
func (i Interface) HasFixedAddress() bool {
	return i.IP.IsValid() || slices.ContainsFunc(i.Addresses, func(a InterfaceAddress) bool { return a.IP.IsValid() })
}

func linkMode(mode string, ip netip.Addr) string {
	switch {
	case mode != "":
		return mode
	case ip.IsValid():
		return LinkStatic
	}
	return LinkAuto
}

// AddedModeHint is the hint for an interface that would need an address of MAAS, but is added
// in place.
const AddedModeHint = `With mode = "dhcp" or "link_up" the interface is added in place.`

// CheckAddedInPlace refuses an interface that cannot be added in place, by a *SpecError.
func (i Interface) CheckAddedInPlace() error {
	if !i.NeedsAddressOfMAAS() {
		return nil
	}
	return &SpecError{
		Field:   i.Field("mode"),
		Message: fmt.Sprintf("MAAS would give interfaces.%s an address, but it does so only for a new VM", i.Name),
		Hint:    AddedModeHint, Err: ErrConflict,
	}
}

// VM is a virtual machine as it was last seen.
type VM struct {
	Machine
	// Ours means that the machine carries the marker of the requested key.
	Ours bool
	// TakenOver means that it carries the mark of another owner. The requested key no longer
	// changes or deletes it.
	TakenOver bool
	// Finished means that it once reached the wanted state.
	Finished bool
	// RestartPending means that it was turned off for a change of its size and must be turned
	// on again. An interrupted run leaves that to the next one.
	RestartPending bool
	// Leftover names what this process left in an LXD, or may have left, when it made the VM,
	// and what MAAS does not show. The text fits into a sentence; empty: nothing.
	Leftover string
}

// validateAddresses refuses an address that is wanted twice.
func validateAddresses(interfaces []Interface) error {
	has := map[netip.Addr]string{}
	for _, i := range interfaces {
		for _, l := range i.Links() {
			if other, twice := has[l.IP]; twice && l.IP.IsValid() {
				return &SpecError{
					Field: l.Field.Child("ip"), Message: fmt.Sprintf("%s is the address of %s already", l.IP, other),
					Hint: "Give each interface an address of its own.",
				}
			}
			has[l.IP] = i.Name
		}
	}
	return nil
}
