package placement_test

import (
	"slices"
	"testing"

	"github.com/maaslxd/maaslxd/engine/placement"
)

// wantFits checks that exactly the hosts are listed that would hold the VM.
func (w world) wantFits(t *testing.T, need placement.Need, listed []placement.Candidate) {
	t.Helper()
	for _, h := range w.hosts {
		holds := isEligible(h, need) && addIfAllowed(&h, need)
		if got := slices.Contains(ids(listed), h.ID); got != holds {
			t.Fatalf("host %+v is listed: %t, want %t, for %+v", h, got, holds, need)
		}
	}
}

// take puts a VM on the host that was chosen, which must be one that may take
// it and has the room.
func (w world) take(t *testing.T, need placement.Need, c placement.Candidate) {
	t.Helper()
	i := slices.IndexFunc(w.hosts, func(h placement.Host) bool { return h.ID == c.HostID })
	if i < 0 {
		t.Fatalf("chose a host that is none: %+v", c)
	}
	h := &w.hosts[i]
	if !isEligible(*h, need) || c.Zone != h.Zone {
		t.Fatalf("chose %+v for %+v, but the host is ruled out: %+v", c, need, *h)
	}
	if !addIfAllowed(h, need) {
		t.Fatalf("over-committed: chose %+v for %+v", c, need)
	}
}

func isEligible(h placement.Host, need placement.Need) bool {
	for _, want := range [][2]string{{need.Zone, h.Zone}, {need.Pool, h.Pool}} {
		if want[0] != "" && want[0] != want[1] {
			return false
		}
	}
	for _, tag := range need.Tags {
		if !slices.Contains(h.Tags, tag) {
			return false
		}
	}
	for _, network := range need.Networks {
		if !slices.Contains(h.Networks, network) {
			return false
		}
	}
	return !h.NeverReached && h.UnusableReason == "" && !slices.Contains(need.Excluded, h.ID)
}

// addIfAllowed adds the VM to the host's account, disk by disk, and reports whether
// MAAS's rules allow it. Where it reports false, the account is not to be
// used any more.
func addIfAllowed(h *placement.Host, need placement.Need) bool {
	h.StoragePools = slices.Clone(h.StoragePools)
	cores := int64(need.Cores)
	if len(need.PinnedCores) > 0 {
		cores = int64(len(need.PinnedCores))
		if int64(slices.Max(need.PinnedCores)) > h.Cores.Total-1 {
			return false
		}
	}
	h.Cores.Used += cores
	h.MemoryMiB.Used += need.MemoryMiB
	// The comparison is MAAS's own, in floating point and without rounding.
	if cores > h.Cores.Total || float64(h.Cores.Total)*h.CPUOvercommit-float64(h.Cores.Used) < 0 {
		return false
	}
	if need.MemoryMiB > h.MemoryMiB.Total || float64(h.MemoryMiB.Total)*h.MemoryOvercommit-float64(h.MemoryMiB.Used) < 0 {
		return false
	}
	if need.HugePages {
		h.HugePagesMiB.Used += need.MemoryMiB
		if h.HugePagesMiB.Used > h.HugePagesMiB.Total {
			return false
		}
	}
	for _, d := range need.Disks {
		i := slices.IndexFunc(h.StoragePools, func(p placement.StoragePool) bool {
			return p.Name == d.Pool || d.Pool == "" && p.Default
		})
		if i < 0 {
			return false
		}
		if h.StoragePools[i].FreeBytes -= d.SizeGB * 1_000_000_000; h.StoragePools[i].FreeBytes < 0 {
			return false
		}
	}
	return true
}
