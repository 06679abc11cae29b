package placement

import "cmp"

// score orders hosts that fit, the better one first.
type score struct {
	fullness float64 // negative for Pack: the fuller, the better
	tie      uint64
	host     *host
}

func (s score) compare(o score) int {
	if c := cmp.Compare(s.fullness, o.fullness); c != 0 {
		return c
	}
	if c := cmp.Compare(s.tie, o.tie); c != 0 {
		return c
	}
	return cmp.Compare(s.host.ID, o.host.ID)
}

func (h *host) scoreFor(r *request) score {
	s := score{fullness: h.fullnessWith(r), tie: mixHash(h.hash ^ r.hash), host: h}
	if r.Strategy == Pack {
		s.fullness = -s.fullness
	}
	return s
}

// fullnessWith is the used share of the host's scarcest resource with the VM on it, from 0 to
// 1. That resource will stop the next VM. A storage pool of unknown size does not count.
func (h *host) fullnessWith(r *request) float64 {
	most := max(
		usedShare(h.capCores, h.freeCores-r.cores),
		usedShare(h.capMemoryMiB, h.freeMemoryMiB-r.MemoryMiB),
	)
	if r.HugePages {
		most = max(most, usedShare(h.capHugePagesMiB, h.freeHugePages-r.MemoryMiB))
	}
	for i := range h.pools {
		p := &h.pools[i]
		if takeGB := p.demandGB(r); takeGB > 0 && p.TotalBytes > 0 {
			most = max(most, usedShare(p.TotalBytes, p.FreeBytes-takeGB*bytesPerGB))
		}
	}
	return most
}

// fullnessAddedBy is the VM's part of a fullness, of the resource with that fullness. Of two
// such resources, it takes the one that the VM uses more of.
func (h *host) fullnessAddedBy(r *request, fullness float64) (part float64) {
	see := func(capacity, free, takes int64) {
		if usedShare(capacity, free-takes) == fullness {
			part = max(part, float64(takes)/float64(capacity))
		}
	}
	see(h.capCores, h.freeCores, r.cores)
	see(h.capMemoryMiB, h.freeMemoryMiB, r.MemoryMiB)
	if r.HugePages {
		see(h.capHugePagesMiB, h.freeHugePages, r.MemoryMiB)
	}
	for i := range h.pools {
		p := &h.pools[i]
		if takeGB := p.demandGB(r); takeGB > 0 && p.TotalBytes > 0 {
			see(p.TotalBytes, p.FreeBytes, takeGB*bytesPerGB)
		}
	}
	return part
}

// usedShare is the used part of a capacity. The capacity is not 0, because the VM needs some of
// it and fits.
func usedShare(capacity, free int64) float64 {
	return float64(capacity-free) / float64(capacity)
}

// mixHash spreads the hash of host and key over all bits (the finaliser of MurmurHash3). So a
// host that is first for one key is not first for its neighbours.
func mixHash(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
