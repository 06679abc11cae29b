package placement

import "math"

// Candidate is a host on which a need fits. Free amounts include over-commit, and do not yet
// include the VM.
type Candidate struct {
	HostID, HostName string
	Zone             string
	FreeCores        int64
	FreeMemoryMiB    int64
	FreeHugePagesMiB int64
	// Storage lists the pools for the VM's disks, each once, under its name on this host.
	Storage []PoolShare
	// Fullness is the used share of the host's scarcest resource with the VM on it, from 0 to
	// 1. Under every strategy, a larger value means a fuller host.
	Fullness float64
	// AddedFullness is the VM's part of Fullness, of the same resource, from 0 to 1: how much
	// fuller each VM of this need makes the host.
	AddedFullness float64
}

// PoolShare is what a VM takes from one storage pool, in bytes.
type PoolShare struct {
	Pool                 string
	FreeBytes, TakeBytes int64
}

func (s score) candidate(r *request) Candidate {
	h := s.host
	fullness := math.Abs(s.fullness) // negative for Pack
	c := Candidate{
		HostID: h.ID, HostName: h.Name, Zone: h.Zone,
		FreeCores: h.freeCores, FreeMemoryMiB: h.freeMemoryMiB, FreeHugePagesMiB: h.freeHugePages,
		Storage:  make([]PoolShare, 0, len(r.demands)),
		Fullness: fullness, AddedFullness: h.fullnessAddedBy(r, fullness),
	}
	for i := range h.pools {
		p := &h.pools[i]
		if takeGB := p.demandGB(r); takeGB > 0 {
			c.Storage = append(c.Storage, PoolShare{Pool: p.Name, FreeBytes: p.FreeBytes, TakeBytes: takeGB * bytesPerGB})
		}
	}
	return c
}

// demandGB is what the disks take from this pool, in GB.
func (p *pool) demandGB(r *request) int64 {
	var sizeGB int64
	for _, d := range r.demands {
		if p.matchesDemand(d) {
			sizeGB = addSaturated(sizeGB, d.sizeGB)
		}
	}
	return sizeGB
}

func (p *pool) matchesDemand(d poolDemand) bool {
	if d.pool == "" {
		return p.isDefault
	}
	return p.Name == d.pool
}
