package placement

import "math"

// TypeLXD is the type of the VM hosts that placement uses unless a Need names another. MAAS's
// other type is "virsh".
const TypeLXD = "lxd"

// bytesPerGB is a decimal gigabyte, in which MAAS counts disks.
const bytesPerGB = 1_000_000_000

// Host describes a VM host for placement. Used amounts count the VMs that an inventory shows.
// The ledger counts promised VMs that are not shown yet, when it chooses among the hosts that
// fit.
type Host struct {
	// ID identifies a host. It is unique in a list of hosts, and stable, because it decides
	// between equal hosts. Name is for people.
	ID, Name string
	Type     string // "lxd" or "virsh", as MAAS has it
	Zone     string
	Pool     string   // resource pool
	Tags     []string // of the VM host
	// Projects are the LXD projects in which VMs can be made here; a VM host of MAAS has
	// exactly one. Profiles are the LXD profiles of the host.
	Projects []string
	Profiles []string
	// Architectures of its VMs, in MAAS's spelling: "amd64/generic". None: unknown, so that
	// only the host can refuse a VM.
	Architectures []string
	// Networks are all names for a network that the host is attached to: names and CIDRs of
	// subnets, names of bridges.
	Networks []string

	Cores     Amount
	MemoryMiB Amount // VMs that are backed by huge pages count here, too, as in MAAS
	// HugePagesMiB is the memory that is set aside as huge pages, and what VMs use of it. It
	// cannot be over-committed.
	HugePagesMiB Amount
	// CPUOvercommit and MemoryOvercommit are MAAS's ratios, 0 to 10. VMs together may hold
	// Total times the ratio. 1 is no over-commit; 0 leaves no room at all (models/bmc.py,
	// check_over_commit_ratios).
	CPUOvercommit    float64
	MemoryOvercommit float64
	StoragePools     []StoragePool

	// NeverReached means that MAAS has a record of the host but never reached its LXD. So its
	// resources are unknown.
	NeverReached bool
	// NeverReachedReason says why MAAS never reached it; empty: unknown.
	NeverReachedReason string
	// UnusableReason says why no VM can be made on the host, whatever its room; empty: some
	// can.
	UnusableReason string
}

// Amount is a resource of a host: what the hardware has, and what VMs hold.
type Amount struct{ Total, Used int64 }

// StoragePool is an LXD storage pool of a host. Sizes are in bytes.
type StoragePool struct {
	Name       string
	TotalBytes int64 // 0: unknown
	FreeBytes  int64
	Default    bool // the pool for disks that name none
}

// FreeAtRatio is what an over-commit ratio leaves free; it is never negative.
func (a Amount) FreeAtRatio(ratio float64) int64 { return a.freeWithin(a.capacityAtRatio(ratio)) }

// capacityAtRatio is what VMs together may hold. MAAS compares the unrounded product with a
// whole number, which is the same as rounding down.
func (a Amount) capacityAtRatio(ratio float64) int64 {
	limit := float64(a.Total) * ratio
	switch {
	case !(limit > 0): // NaN too
		return 0
	case limit >= math.MaxInt64:
		return math.MaxInt64
	}
	return int64(limit)
}

// freeWithin is what is left of a capacity. In MAAS a ratio may be lowered below the use; then
// nothing is left.
func (a Amount) freeWithin(capacity int64) int64 {
	return max(0, capacity-max(0, a.Used))
}
