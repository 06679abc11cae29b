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
	// Host is the VM host to compose on: its name, its id in MAAS, or the system
	// id of its machine. Empty: one that fits Placement.
	Host string
	// Placement says which hosts will do. A Host that is named beside it must be
	// of its Zone, Pool, Tags and Project. A VM that exists stays where it is.
	Placement Placement
	// Cores is the number of virtual CPUs, at least 1. Ignored, and may be 0,
	// when PinnedCores are given.
	Cores int
	// PinnedCores are core numbers of the host that the VM is bound to.
	PinnedCores []int
	// MemoryMiB is the VM's memory in MiB, at least 1024: MAAS refuses less
	// (forms/pods.py, ComposeMachineForm).
	MemoryMiB int64
	// HugePages backs the memory with huge pages of the host.
	HugePages bool
	// Profile of LXD that the VM is made with. Empty: StandardProfile where the
	// project of the host has it, else none. Where MAAS makes the VM it cannot be
	// another one.
	Profile string
	// Config are instance options of LXD that the VM has beside those that it is made
	// with, by key, and Devices are devices beside its disks and NICs, by name. Which
	// there may be say InstanceOptionProblem and Device.Problem. None where MAAS makes
	// the VM.
	Config  map[string]string
	Devices map[string]Device
	// RemovedConfig and RemovedDevices are keys and names of those that were wanted before.
	RemovedConfig  []string
	RemovedDevices []string
	// Reconfigure: a finished VM gets Config and Devices in place, or an error says why
	// not. Otherwise they are left alone.
	Reconfigure bool
	// Disks, the root disk first.
	Disks []Disk
	// Interfaces in the order in which the VM shall see them. None means what
	// MAAS does by itself: one NIC on a network of the host with DHCP.
	Interfaces []Interface
	// AddedInterfaces are added to a finished VM in place, in LXD alone, and RemovedInterfaces
	// are the labels of those that were added so and go. None of them is among Interfaces, which
	// MAAS knows. An interface that is as it is wanted stays, so both may be repeated. It is an
	// error where MAAS made the VM, and where MAAS would have to give an address.
	AddedInterfaces   []Interface
	RemovedInterfaces []string
	// Zone, Pool and Domain are names. Empty: the host's zone, the host's
	// resource pool, MAAS's default domain; an existing VM keeps what it has.
	Zone   string
	Pool   string
	Domain string
	// Tags that the VM must carry. It has others besides: those of its host,
	// and MAAS's own.
	Tags []string
	// RemovedTags must be gone: tags that were wanted before.
	RemovedTags []string
	// Description is what MAAS's description of the machine says beside our mark and notes
	// (see DescriptionText). Nil leaves it alone; an empty one clears it.
	Description *string
	// Deploy says what to install. Nil: the VM is left Ready.
	Deploy *Deployment
	// Installation is a word that names the installation which the VM shall have. One whose
	// description notes another word, or none, is released and deployed again: it keeps its
	// system id, MAC addresses and static links, and loses what is on its disks: MAAS wipes the
	// superblocks of all of them (preseed_storage.py), unless the VM runs from memory.
	// One process does that once for a word, unless the deployment failed: two runs that want
	// different words do not redeploy against each other. Empty: whichever it has. It needs Deploy.
	Installation string
	// AwaitName: a name that another VM has is waited for, as long as this process
	// renames or deletes that one, and otherwise for half a minute where it is of
	// the same owner. Else such a name is an error at once.
	AwaitName bool
	// Locked says whether MAAS's lock is on the VM, which keeps everybody from deleting
	// and from changing it. A VM with the lock is unlocked for as long as a change takes.
	// Nil leaves the lock alone: one that is there then refuses every change but that of
	// tags. True needs Deploy: MAAS locks deployed machines only (models/node.py, lock).
	Locked *bool
	// Annotations are workload annotations of MAAS that a finished VM shall have, and
	// RemovedAnnotations are the keys of those that were wanted before. Other keys are left
	// alone. Values are not empty: MAAS takes an empty one for a removal. They need Deploy:
	// MAAS annotates what somebody has, and a release removes them (api/nodes.py,
	// set_workload_annotations).
	Annotations        map[string]string
	RemovedAnnotations []string
	// Power is what the power of a finished VM shall be, "on" or "off". Empty leaves it
	// alone. "on" needs Deploy: MAAS turns on only what somebody has (api/nodes.py,
	// power_on). It is not for a Deployment that is Ephemeral, which ends with the power.
	Power string
	// MayStop: where Resize or Reconfigure needs a stopped VM, one that runs is turned off at once, as by
	// MAAS, and on again afterwards. Otherwise that is an error.
	MayStop bool
	// Resize: a finished VM of another size gets this one in place, or an error
	// says why not. Otherwise its size is left alone.
	Resize bool
}

// Placement says which VM hosts will do for a VM. The zero value takes all.
type Placement struct {
	Zone    string   // availability zone of the host
	Pool    string   // resource pool of the host
	Tags    []string // that the host must carry, all of them
	Project string   // of LXD that the host makes VMs in; empty: any
	// Group names VMs that shall stand apart: they spread over the zones, then
	// over the hosts. Empty: no group.
	Group string
	// Strategy says which host is the better one when a group does not decide;
	// empty: placement.Spread.
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
	// Subnet, VID, Fabric and Space choose the subnet, as those of Network. The host must
	// be attached to it.
	Subnet string
	VID    *int
	Fabric string
	Space  string
	IP     netip.Addr // fixed address in the subnet; the zero Addr: Mode says
	Mode   string     // one of LinkModes; empty: LinkStatic with an IP, else LinkAuto
	// Addresses are further ones, in subnets of the same VLAN.
	Addresses []InterfaceAddress
	// Bridge of the host that the interface joins, by its name; empty: the first that MAAS
	// and LXD know on the subnet. For composers that can choose.
	Bridge string
	// MAC is lower-case and has colons; empty: the composer chooses. For composers that can.
	MAC string
}

// Field is where the interface, or a part of it, stands in the spec: interfaces.eth0.bridge.
func (i Interface) Field(part ...string) fieldpath.Path {
	return fieldpath.New("interfaces").Key(i.Name).Child(part...)
}

// InterfaceAddress is an address of an interface besides its first one.
type InterfaceAddress struct {
	Subnet string     // name or CIDR
	IP     netip.Addr // fixed; the zero Addr: Mode says
	Mode   string     // as that of Interface, without LinkUp
}

// Network chooses a subnet by all that is given. At least one of it must be.
type Network struct {
	Subnet string // name or CIDR
	VID    *int   // tag of its VLAN, 0 for the untagged one
	Fabric string // name
	Space  string // name
}

// Network is where the interface shall be.
func (i Interface) Network() Network { return Network{i.Subnet, i.VID, i.Fabric, i.Space} }

// IsEmpty tells whether nothing is given.
func (n Network) IsEmpty() bool { return n == Network{} }

// How an interface gets its address, in MAAS's words (enum.py, INTERFACE_LINK_TYPE).
const (
	LinkAuto   = "auto"    // MAAS assigns one with the deployment
	LinkDHCP   = "dhcp"    // the guest asks a DHCP server
	LinkStatic = "static"  // a fixed one, which MAAS chooses where none is given
	LinkUp     = "link_up" // it is up, without an address
)

// LinkModes are all of them.
var LinkModes = []string{LinkAuto, LinkDHCP, LinkStatic, LinkUp}

// WantedLink is a link that an interface shall have, by the field that names it.
type WantedLink struct {
	Field  fieldpath.Path // interfaces.eth0 or interfaces.eth0.addresses[0]
	Subnet string         // name or CIDR of a further address; empty: the interface's network
	Mode   string
	IP     netip.Addr
}

// Links are the links that the interface shall have, the one of its network first.
func (i Interface) Links() []WantedLink {
	field := i.Field()
	links := []WantedLink{{Field: field, Mode: linkMode(i.Mode, i.IP), IP: i.IP}}
	for n, a := range i.Addresses {
		links = append(links, WantedLink{Field: field.Child("addresses").Index(n), Subnet: a.Subnet, Mode: linkMode(a.Mode, a.IP), IP: a.IP})
	}
	return links
}

// NeedsAddressOfMAAS tells whether MAAS is to give the interface an address. It does so only for
// an interface that the VM was made with: MAAS is not told of one that is added in place.
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

// AddedModeHint is the way out where an interface with an address of MAAS's is to be added in place.
const AddedModeHint = `With mode = "dhcp" or "link_up" the interface is added in place.`

// CheckAddedInPlace refuses an interface that cannot be added in place, by a *SpecError.
func (i Interface) CheckAddedInPlace() error {
	if !i.NeedsAddressOfMAAS() {
		return nil
	}
	return &SpecError{
		Field:   i.Field("mode"),
		Message: fmt.Sprintf("MAAS would give interfaces.%s an address, which it does only for a VM that is made anew", i.Name),
		Hint:    AddedModeHint, Err: ErrConflict,
	}
}

// VM is a virtual machine as it was last seen.
type VM struct {
	Machine
	// Ours tells that the machine carries the marker of the key it was asked
	// for by.
	Ours bool
	// TakenOver tells that it carries the mark of another owner than that key's. It
	// is not changed or deleted by that key any more.
	TakenOver bool
	// Finished tells that it once reached what was wanted.
	Finished bool
	// RestartPending tells that it was turned off for a change of its size, and is to be turned
	// on again. A run that was cut off leaves that to the next one.
	RestartPending bool
	// Leftover says, in a sentence's words, what the making of the VM by this
	// process left in an LXD, or may have left, where MAAS does not show it;
	// empty: nothing.
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
