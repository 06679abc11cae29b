package placement

import "fmt"

// Whatever the ratios, MAAS makes no VM that is larger than its host or pinned
// to a core that the host does not have (forms/pods.py, ComposeMachineForm).
func largeEnough(h *host, r *request) bool {
	return r.cores <= h.mostCores && int64(r.topPinned) < h.Cores.Total &&
		r.MemoryMiB <= h.mostMemoryMiB &&
		(!r.HugePages || r.MemoryMiB <= h.capHugePagesMiB) &&
		h.smallPool(r) == nil
}

func tooSmallDetail(h *host, r *request) string {
	switch {
	case r.cores > h.mostCores:
		return fmt.Sprintf("%d cores needed, the host has %d%s", r.cores, h.Cores.Total, atRatio(h.CPUOvercommit))
	case int64(r.topPinned) >= h.Cores.Total:
		return fmt.Sprintf("core %d needed, the host has %d, numbered from 0", r.topPinned, h.Cores.Total)
	case r.MemoryMiB > h.mostMemoryMiB:
		return fmt.Sprintf("%d MiB of memory needed, the host has %d%s", r.MemoryMiB, h.MemoryMiB.Total, atRatio(h.MemoryOvercommit))
	case r.HugePages && r.MemoryMiB > h.capHugePagesMiB:
		return fmt.Sprintf("%d MiB of huge pages needed, the host has %d", r.MemoryMiB, h.HugePagesMiB.Total)
	}
	p := h.smallPool(r)
	return fmt.Sprintf("%d GB needed of storage pool %q, which has %d", p.takes(r), p.Name, p.TotalBytes/bytesPerGB)
}

// smallPool finds a storage pool that could not hold the disks if it were
// empty, nil if there is none of which this is known.
func (h *host) smallPool(r *request) *pool {
	for i := range h.pools {
		if p := &h.pools[i]; p.TotalBytes > 0 && p.takes(r) > max(p.TotalBytes, p.FreeBytes)/bytesPerGB {
			return p
		}
	}
	return nil
}

func atRatio(ratio float64) string {
	if ratio == 1 {
		return ""
	}
	return fmt.Sprintf(" at an over-commit ratio of %g", ratio)
}

func hasCores(h *host, r *request) bool  { return r.cores <= h.freeCores }
func hasMemory(h *host, r *request) bool { return r.MemoryMiB <= h.freeMemoryMiB }

// MAAS does not look at huge pages; a VM that lacks them does not start.
func hasHugePages(h *host, r *request) bool {
	return !r.HugePages || r.MemoryMiB <= h.freeHugePages
}

func hasStorage(h *host, r *request) bool { return h.fullPool(r) == nil }

func coresDetail(h *host, r *request) string {
	return fmt.Sprintf("%d cores needed, %d of %d free%s", r.cores, h.freeCores, h.capCores, atRatio(h.CPUOvercommit))
}

func memoryDetail(h *host, r *request) string {
	return fmt.Sprintf("%d MiB of memory needed, %d of %d free%s", r.MemoryMiB, h.freeMemoryMiB, h.capMemoryMiB, atRatio(h.MemoryOvercommit))
}

func hugePagesDetail(h *host, r *request) string {
	return fmt.Sprintf("%d MiB of huge pages needed, %d of %d free", r.MemoryMiB, h.freeHugePages, h.capHugePagesMiB)
}

func storageDetail(h *host, r *request) string {
	p := h.fullPool(r)
	return fmt.Sprintf("%d GB needed of storage pool %q, %d free", p.takes(r), p.Name, p.FreeBytes/bytesPerGB)
}

// fullPool finds a storage pool that has no room for the disks, nil if there
// is none.
func (h *host) fullPool(r *request) *pool {
	for i := range h.pools {
		if p := &h.pools[i]; p.takes(r) > p.FreeBytes/bytesPerGB {
			return p
		}
	}
	return nil
}

// MAAS takes a storage pool that it does not know for a mere tag and puts the
// disk on the default pool. Here such a host does not fit.
func hasStoragePools(h *host, r *request) bool { return h.strayDraw(r) == nil }

func storagePoolDetail(h *host, r *request) string {
	d := h.strayDraw(r)
	if d.pool == "" {
		return "no default storage pool"
	}
	names := make([]string, len(h.pools))
	for i, p := range h.pools {
		names[i] = p.Name
	}
	return lacks("storage pool", names, []string{d.pool})
}

// strayDraw finds a draw on a pool that the host does not have, nil if there
// is none.
func (h *host) strayDraw(r *request) *draw {
	for i := range r.draws {
		if !h.hasPool(r.draws[i]) {
			return &r.draws[i]
		}
	}
	return nil
}

func (h *host) hasPool(d draw) bool {
	for i := range h.pools {
		if h.pools[i].holds(d) {
			return true
		}
	}
	return false
}

// lack is what a host that fell out for a reason has too little of.
func (h *host) lack(why Reason, r *request) Lack {
	cores := Lack{Resource: Cores, Needed: r.cores, Free: h.freeCores, Total: h.Cores.Total}
	memory := Lack{Resource: Memory, Needed: r.MemoryMiB, Free: h.freeMemoryMiB, Total: h.MemoryMiB.Total}
	pages := Lack{Resource: HugePages, Needed: r.MemoryMiB, Free: h.freeHugePages, Total: h.HugePagesMiB.Total}
	switch {
	case why == TooFewCores, why == TooSmall && r.cores > h.mostCores:
		return cores
	case why == TooSmall && int64(r.topPinned) >= h.Cores.Total:
		return Lack{Resource: PinnedCores, Needed: int64(r.topPinned), Total: h.Cores.Total}
	case why == TooLittleMemory, why == TooSmall && r.MemoryMiB > h.mostMemoryMiB:
		return memory
	case why == TooFewHugePages, why == TooSmall && r.HugePages && r.MemoryMiB > h.capHugePagesMiB:
		return pages
	case why == TooSmall:
		return h.smallPool(r).lack(r)
	case why == TooLittleStorage:
		return h.fullPool(r).lack(r)
	case why == NoStoragePool:
		return Lack{Resource: Storage, StoragePool: h.strayDraw(r).pool}
	}
	return Lack{}
}

func (p *pool) lack(r *request) Lack {
	return Lack{Resource: Storage, StoragePool: p.Name, Needed: p.takes(r), Free: p.FreeBytes / bytesPerGB, Total: p.TotalBytes / bytesPerGB}
}
