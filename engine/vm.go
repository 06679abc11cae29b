package engine

import (
	"fmt"
	"net/netip"

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
	// Disks, the root disk first.
	Disks []Disk
	// Interfaces in the order in which the VM shall see them. None means what
	// MAAS does by itself: one NIC on a network of the host with DHCP.
	Interfaces []Interface
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
	// Deploy says what to install. Nil: the VM is left Ready.
	Deploy *Deployment
	// AwaitName: a name that another VM has is waited for, as long as this process
	// renames or deletes that one, and otherwise for half a minute where it is of
	// the same owner. Else such a name is an error at once.
	AwaitName bool
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
	Name   string     // the caller's name for it: a label of [a-z0-9-]
	Subnet string     // name or CIDR of a subnet that the host is attached to
	IP     netip.Addr // fixed address in Subnet; the zero Addr: MAAS assigns one
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
	// Leftover says, in a sentence's words, what the making of the VM by this
	// process left in an LXD, or may have left, where MAAS does not show it;
	// empty: nothing.
	Leftover string
}

// validateAddresses refuses an address that is wanted twice.
func (s VMSpec) validateAddresses() error {
	has := map[netip.Addr]string{}
	for _, i := range s.Interfaces {
		if other, twice := has[i.IP]; twice && i.IP.IsValid() {
			return &SpecError{
				Field: "interfaces." + i.Name + ".ip", Message: fmt.Sprintf("%s is the address of %s already", i.IP, other),
				Hint: "Give each interface an address of its own.",
			}
		}
		has[i.IP] = i.Name
	}
	return nil
}
