package placement

import "slices"

// host is a Host with values that several filters need, computed once.
type host struct {
	*Host
	hash uint64

	// The limit for all VMs together, the largest VM, and the free amounts.
	capCores, capMemoryMiB         int64
	maxVMCores, maxVMMemoryMiB     int64
	freeCores, freeMemoryMiB       int64
	capHugePagesMiB, freeHugePages int64
	pools                          []pool
}

type pool struct {
	StoragePool
	isDefault bool // at most one pool of a host is the default
}

func newHost(h *Host) host {
	n := host{
		Host: h, hash: hashOf(h.ID),
		capCores:        h.Cores.capacityAtRatio(h.CPUOvercommit),
		capMemoryMiB:    h.MemoryMiB.capacityAtRatio(h.MemoryOvercommit),
		capHugePagesMiB: max(0, h.HugePagesMiB.Total),
	}
	n.maxVMCores = min(n.capCores, h.Cores.Total)
	n.maxVMMemoryMiB = min(n.capMemoryMiB, h.MemoryMiB.Total)
	n.freeCores = h.Cores.freeWithin(n.capCores)
	n.freeMemoryMiB = h.MemoryMiB.freeWithin(n.capMemoryMiB)
	n.freeHugePages = h.HugePagesMiB.freeWithin(n.capHugePagesMiB)
	n.pools = make([]pool, len(h.StoragePools))
	first := slices.IndexFunc(h.StoragePools, func(p StoragePool) bool { return p.Default })
	for i, p := range h.StoragePools {
		p.FreeBytes = max(0, p.FreeBytes)
		n.pools[i] = pool{StoragePool: p, isDefault: i == first}
	}
	return n
}
