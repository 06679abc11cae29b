package placement

import "fmt"

// isLargeEnough applies MAAS's rule for single VMs. Under any ratio, MAAS makes no VM that is
// larger than its host or pinned to a core that the host lacks (forms/pods.py,
// ComposeMachineForm).
func isLargeEnough(h *host, r *request) bool {
	return r.cores <= h.maxVMCores && int64(r.highestPinnedCore) < h.Cores.Total &&
		r.MemoryMiB <= h.maxVMMemoryMiB &&
		(!r.HugePages || r.MemoryMiB <= h.capHugePagesMiB) &&
		h.findTooSmallPool(r) == nil
}

func tooSmallDetail(h *host, r *request) string {
	switch {
	case r.cores > h.maxVMCores:
		return fmt.Sprintf("%d cores needed, the host has %d%s", r.cores, h.Cores.Total, atRatio(h.CPUOvercommit))
	case int64(r.highestPinnedCore) >= h.Cores.Total:
		return fmt.Sprintf("core %d needed, the host has %d, numbered from 0", r.highestPinnedCore, h.Cores.Total)
	case r.MemoryMiB > h.maxVMMemoryMiB:
		return fmt.Sprintf("%d MiB of memory needed, the host has %d%s", r.MemoryMiB, h.MemoryMiB.Total, atRatio(h.MemoryOvercommit))
	case r.HugePages && r.MemoryMiB > h.capHugePagesMiB:
		return fmt.Sprintf("%d MiB of huge pages needed, the host has %d", r.MemoryMiB, h.HugePagesMiB.Total)
	}
	p := h.findTooSmallPool(r)
	return fmt.Sprintf("%d GB needed of storage pool %q, which has %d", p.demandGB(r), p.Name, p.TotalBytes/bytesPerGB)
}

// findTooSmallPool finds a storage pool that would not hold the disks even if it were empty. It
// is nil if none is known to be too small.
func (h *host) findTooSmallPool(r *request) *pool {
	for i := range h.pools {
		if p := &h.pools[i]; p.TotalBytes > 0 && p.demandGB(r) > max(p.TotalBytes, p.FreeBytes)/bytesPerGB {
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

// hasHugePages checks huge pages, which MAAS ignores: a VM that lacks them does not start.
func hasHugePages(h *host, r *request) bool {
	return !r.HugePages || r.MemoryMiB <= h.freeHugePages
}

func hasStorage(h *host, r *request) bool { return h.findFullPool(r) == nil }

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
	p := h.findFullPool(r)
	return fmt.Sprintf("%d GB needed of storage pool %q, %d free", p.demandGB(r), p.Name, p.FreeBytes/bytesPerGB)
}

// findFullPool finds a storage pool without room for the disks, nil if there is none.
func (h *host) findFullPool(r *request) *pool {
	for i := range h.pools {
		if p := &h.pools[i]; p.demandGB(r) > p.FreeBytes/bytesPerGB {
			return p
		}
	}
	return nil
}

// hasStoragePools refuses a host that lacks a named pool. MAAS takes an unknown pool for a mere
// tag, and puts the disk on the default pool.
func hasStoragePools(h *host, r *request) bool { return h.findUnmetDemand(r) == nil }

func storagePoolDetail(h *host, r *request) string {
	d := h.findUnmetDemand(r)
	if d.pool == "" {
		return "no default storage pool"
	}
	names := make([]string, len(h.pools))
	for i, p := range h.pools {
		names[i] = p.Name
	}
	return missingText("storage pool", names, []string{d.pool})
}

// findUnmetDemand finds a demand on a pool that the host does not have, nil if there is none.
func (h *host) findUnmetDemand(r *request) *poolDemand {
	for i := range r.demands {
		if !h.hasPool(r.demands[i]) {
			return &r.demands[i]
		}
	}
	return nil
}

func (h *host) hasPool(d poolDemand) bool {
	for i := range h.pools {
		if h.pools[i].matchesDemand(d) {
			return true
		}
	}
	return false
}

// shortageFor is the missing resource of a host that was rejected for a reason.
func (h *host) shortageFor(why Reason, r *request) Shortage {
	cores := Shortage{Resource: Cores, Needed: r.cores, Free: h.freeCores, Total: h.Cores.Total}
	memory := Shortage{Resource: Memory, Needed: r.MemoryMiB, Free: h.freeMemoryMiB, Total: h.MemoryMiB.Total}
	pages := Shortage{Resource: HugePages, Needed: r.MemoryMiB, Free: h.freeHugePages, Total: h.HugePagesMiB.Total}
	switch {
	case why == TooFewCores, why == TooSmall && r.cores > h.maxVMCores:
		return cores
	case why == TooSmall && int64(r.highestPinnedCore) >= h.Cores.Total:
		return Shortage{Resource: PinnedCores, Needed: int64(r.highestPinnedCore), Total: h.Cores.Total}
	case why == TooLittleMemory, why == TooSmall && r.MemoryMiB > h.maxVMMemoryMiB:
		return memory
	case why == TooFewHugePages, why == TooSmall && r.HugePages && r.MemoryMiB > h.capHugePagesMiB:
		return pages
	case why == TooSmall:
		return h.findTooSmallPool(r).shortage(r)
	case why == TooLittleStorage:
		return h.findFullPool(r).shortage(r)
	case why == NoStoragePool:
		return Shortage{Resource: Storage, StoragePool: h.findUnmetDemand(r).pool}
	}
	return Shortage{}
}

func (p *pool) shortage(r *request) Shortage {
	return Shortage{Resource: Storage, StoragePool: p.Name, Needed: p.demandGB(r), Free: p.FreeBytes / bytesPerGB, Total: p.TotalBytes / bytesPerGB}
}
