// Package room chooses the VM host for a VM of a ledger. It counts the VMs that
// an inventory of the hosts cannot show.
package room

import (
	"cmp"
	"math"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// Occupancy is what a ledger knows beyond an inventory, for the choice of a
// host.
type Occupancy struct {
	Region    string
	Inventory engine.Tag // the oldest inventory for which the occupancy is complete
	Group     string
	// ServingSequences are the sequences of that generation's inventories that
	// are new enough.
	ServingSequences struct{ From, To int64 }
	ClosedHosts      []string
	UnshownLoads     []Load
	Peers            []PeerCount
}

// Load is the room that identical VMs take on a host.
type Load struct {
	Host         string
	VMs          int64
	Cores        int64
	MemoryMiB    int64
	HugePagesMiB int64
	Disks        map[string]int64 // bytes by pool, for each VM
	ShownFrom    int64            // the first sequence of an inventory that shows them
}

// PeerCount counts the VMs of a group on a host.
type PeerCount struct {
	Host, Zone string // Zone is where the host was when the VM was placed
	VMs        int64
}

// IsCompleteFor reports whether the occupancy is complete for a reservation.
func (t *Occupancy) IsCompleteFor(region string, r engine.Reservation) bool {
	return t.Region == region && t.Group == r.Group && t.Inventory.Generation == r.Inventory.Generation && t.Inventory.Sequence <= r.Inventory.Sequence
}

// AddPlaced counts a VM that was placed since.
func (t *Occupancy) AddPlaced(r engine.Reservation, host engine.Candidate) {
	t.UnshownLoads = append(t.UnshownLoads, Load{
		Host: host.HostKey, VMs: 1, Cores: r.Need.Cores, MemoryMiB: r.Need.MemoryMiB, HugePagesMiB: r.Need.HugePagesMiB,
		Disks: DisksOnHost(r.Need, host), ShownFrom: math.MaxInt64,
	})
	if r.Group != "" {
		t.Peers = append(t.Peers, PeerCount{host.HostKey, host.Zone, 1})
	}
}

// ChooseHost returns the host for a VM; false: there is none. Candidates are
// hosts that are neither excluded nor closed, and have room beside the VMs that
// the inventory cannot show. It takes the host with the fewest VMs of the group
// in its zone, then on it, then with the lowest rank.
func (t *Occupancy) ChooseHost(r engine.Reservation, excluded []string) (best engine.Candidate, ok bool) {
	if r.Inventory.Sequence < t.ServingSequences.From || r.Inventory.Sequence > t.ServingSequences.To {
		return best, false
	}
	byZone, byHost, loads := t.countPeersByZone(r.Candidates), t.countPeersByHost(), t.sumUnshownLoads(r.Inventory)
	order := func(a, b engine.Candidate) int {
		rank := func(c engine.Candidate) int64 { return c.Rank + c.Step*loads[c.HostKey].VMs }
		return cmp.Or(cmp.Compare(byZone[a.Zone], byZone[b.Zone]), cmp.Compare(byHost[a.HostKey], byHost[b.HostKey]),
			cmp.Compare(rank(a), rank(b)), cmp.Compare(a.HostKey, b.HostKey))
	}
	for _, c := range r.Candidates {
		if slices.Contains(excluded, c.HostKey) || slices.Contains(t.ClosedHosts, c.HostKey) || !loads[c.HostKey].leavesRoomFor(r.Need, c) {
			continue
		}
		if !ok || order(c, best) < 0 {
			best, ok = c, true
		}
	}
	return best, ok
}

// countPeersByZone counts the group's VMs by zone. A VM counts in the present zone of its host,
// if the inventory shows that host. Otherwise it counts in the zone that the host was in.
func (t *Occupancy) countPeersByZone(shown []engine.Candidate) map[string]int64 {
	zones, count := map[string]string{}, map[string]int64{}
	for _, c := range shown {
		zones[c.HostKey] = c.Zone
	}
	for _, p := range t.Peers {
		zone, isShown := zones[p.Host]
		if !isShown {
			zone = p.Zone
		}
		count[zone] += p.VMs
	}
	return count
}

func (t *Occupancy) countPeersByHost() map[string]int64 {
	count := map[string]int64{}
	for _, p := range t.Peers {
		count[p.Host] += p.VMs
	}
	return count
}

// sumUnshownLoads adds up, for each host, the loads that an inventory does not show. The disks
// are the sums for all VMs of a load.
func (t *Occupancy) sumUnshownLoads(inventory engine.Tag) map[string]Load {
	all := map[string]Load{}
	for _, u := range t.UnshownLoads {
		if u.ShownFrom <= inventory.Sequence {
			continue
		}
		sum, there := all[u.Host]
		if !there {
			sum.Disks = map[string]int64{}
		}
		sum.VMs, sum.Cores = sum.VMs+u.VMs, sum.Cores+u.Cores
		sum.MemoryMiB, sum.HugePagesMiB = sum.MemoryMiB+u.MemoryMiB, sum.HugePagesMiB+u.HugePagesMiB
		for pool, bytes := range u.Disks {
			// A sum that is too large becomes the largest number, so that nothing fits beside
			// it.
			sum.Disks[pool] += min(bytes, math.MaxInt64/u.VMs) * u.VMs
			if sum.Disks[pool] < 0 {
				sum.Disks[pool] = math.MaxInt64
			}
		}
		all[u.Host] = sum
	}
	return all
}

// leavesRoomFor reports whether a host has room for a need beside the load.
func (sum Load) leavesRoomFor(need engine.Need, c engine.Candidate) bool {
	disks := DisksOnHost(need, c)
	if !FitsFreeRoom(need, disks, c.Free) {
		return false
	}
	for pool, bytes := range disks {
		if sum.Disks[pool] > c.Free.DiskBytes[pool]-bytes {
			return false
		}
	}
	return sum.Cores <= c.Free.Cores-need.Cores && sum.MemoryMiB <= c.Free.MemoryMiB-need.MemoryMiB &&
		sum.HugePagesMiB <= c.Free.HugePagesMiB-need.HugePagesMiB
}

// DisksOnHost returns the disks of a need by storage pool. A disk without a pool goes to the
// default pool of the host.
func DisksOnHost(need engine.Need, c engine.Candidate) map[string]int64 {
	disks := make(map[string]int64, len(need.DiskBytes))
	for pool, bytes := range need.DiskBytes {
		if pool == "" {
			pool = c.DefaultPool
		}
		disks[pool] += bytes
	}
	return disks
}

// FitsFreeRoom reports whether a need fits into the free room that the inventory shows. The
// disks of the need are those on the host.
func FitsFreeRoom(need engine.Need, disks map[string]int64, free engine.Need) bool {
	for pool, bytes := range disks {
		// A number below zero is a sum that is too large.
		if left, ok := free.DiskBytes[pool]; !ok || left < bytes || bytes < 0 {
			return false
		}
	}
	return need.Cores <= free.Cores && need.MemoryMiB <= free.MemoryMiB && need.HugePagesMiB <= free.HugePagesMiB
}
