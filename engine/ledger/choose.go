package ledger

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// taken is what a ledger has that an inventory does not show, for the choice of a host.
type taken struct {
	region    string
	inventory engine.Tag // the oldest for which it is complete
	group     string
	// serves are the sequences of inventories of that generation that are new enough.
	serves struct{ from, to int64 }
	closed []string // hosts
	unseen []load
	peers  []peers
}

// load is what alike VMs take of a host.
type load struct {
	Host         string
	VMs          int64
	Cores        int64
	MemoryMiB    int64
	HugePagesMiB int64
	Disks        map[string]int64 // bytes by pool, of each
	ShownFrom    int64            // the first sequence of an inventory that shows them
}

// peers are the VMs of a group on a host.
type peers struct {
	Host, Zone string // the zone that the host was in
	VMs        int64
}

// takenFor reads it for a reservation, unless the transaction has it.
func (l *Ledger) takenFor(ctx context.Context, tx transaction, r engine.Reservation) (*taken, error) {
	if t := tx.kept(); t != nil && t.isFor(l.region, r) {
		return t, nil
	}
	return l.readTaken(ctx, tx, r, "")
}

// isFor tells whether it is complete for a reservation.
func (t *taken) isFor(region string, r engine.Reservation) bool {
	return t.region == region && t.group == r.Group && t.inventory.Generation == r.Inventory.Generation && t.inventory.Sequence <= r.Inventory.Sequence
}

// readTaken reads it for a reservation. The row of one key does not count.
//
//	?1 region  ?2 the key  ?3 to ?5 the inventory's generation and sequence, the generation of this handle  ?6 group
func (l *Ledger) readTaken(ctx context.Context, tx transaction, r engine.Reservation, except engine.Key) (*taken, error) {
	t := &taken{region: l.region, inventory: r.Inventory, group: r.Group}
	var closed, unseen, peers string
	err := tx.row(ctx, `
SELECT floor, (`+newest+`),
  (SELECT json_group_array(host_key) FROM closed_hosts WHERE region = ?1),
  (SELECT json_group_array(json_object('Host', host_key, 'VMs', vms, 'Cores', cores, 'MemoryMiB', memory_mib, 'HugePagesMiB', huge_pages_mib,
      'Disks', json(disks), 'ShownFrom', shown_from))
   FROM (SELECT host_key, disks, shown_from, count(*) AS vms, sum(cores) AS cores, sum(memory_mib) AS memory_mib, sum(huge_pages_mib) AS huge_pages_mib
     FROM reservations WHERE region = ?1 AND shown_from > ?4 AND key <> ?2 GROUP BY host_key, disks, shown_from)),
  (SELECT json_group_array(json_object('Host', host_key, 'Zone', zone, 'VMs', vms))
   FROM (SELECT host_key, zone, count(*) AS vms FROM reservations
     WHERE region = ?1 AND peer_group = ?6 AND peer_group <> '' AND state <> 'leaving' AND key <> ?2 GROUP BY host_key, zone))
FROM tag`,
		[]any{l.region, except, r.Inventory.Generation, r.Inventory.Sequence, l.store.opened, r.Group},
		&t.serves.from, &t.serves.to, &closed, &unseen, &peers)
	if err == nil {
		err = decode(closed, &t.closed)
	}
	if err == nil {
		err = decode(unseen, &t.unseen)
	}
	if err == nil {
		err = decode(peers, &t.peers)
	}
	return t, err
}

// add counts a VM that was placed since.
func (t *taken) add(r engine.Reservation, host engine.Candidate) {
	t.unseen = append(t.unseen, load{
		Host: host.HostKey, VMs: 1, Cores: r.Need.Cores, MemoryMiB: r.Need.MemoryMiB, HugePagesMiB: r.Need.HugePagesMiB,
		Disks: onHost(r.Need, host), ShownFrom: never,
	})
	if r.Group != "" {
		t.peers = append(t.peers, peers{host.HostKey, host.Zone, 1})
	}
}

// choose returns the host for a VM; false: there is none. In words: among the candidates
// that are neither excluded nor closed and have room beside what the inventory cannot show,
// it is the one with the fewest of the group in its zone, then on it, then the least by rank.
func (t *taken) choose(r engine.Reservation, excluded []string) (best engine.Candidate, ok bool) {
	if r.Inventory.Sequence < t.serves.from || r.Inventory.Sequence > t.serves.to {
		return best, false
	}
	byZone, byHost, loads := t.peersByZone(r.Candidates), t.peersByHost(), t.loads(r.Inventory)
	order := func(a, b engine.Candidate) int {
		rank := func(c engine.Candidate) int64 { return c.Rank + c.Step*loads[c.HostKey].VMs }
		return cmp.Or(cmp.Compare(byZone[a.Zone], byZone[b.Zone]), cmp.Compare(byHost[a.HostKey], byHost[b.HostKey]),
			cmp.Compare(rank(a), rank(b)), cmp.Compare(a.HostKey, b.HostKey))
	}
	for _, c := range r.Candidates {
		if slices.Contains(excluded, c.HostKey) || slices.Contains(t.closed, c.HostKey) || !loads[c.HostKey].leavesRoom(r.Need, c) {
			continue
		}
		if !ok || order(c, best) < 0 {
			best, ok = c, true
		}
	}
	return best, ok
}

// peersByZone counts the group's VMs. One counts in the zone that its host is in now, if the
// inventory shows that host, and else in the one that it was in.
func (t *taken) peersByZone(shown []engine.Candidate) map[string]int64 {
	zones, count := map[string]string{}, map[string]int64{}
	for _, c := range shown {
		zones[c.HostKey] = c.Zone
	}
	for _, p := range t.peers {
		zone, isShown := zones[p.Host]
		if !isShown {
			zone = p.Zone
		}
		count[zone] += p.VMs
	}
	return count
}

func (t *taken) peersByHost() map[string]int64 {
	count := map[string]int64{}
	for _, p := range t.peers {
		count[p.Host] += p.VMs
	}
	return count
}

// loads sums up what an inventory does not show of each host. The disks are those of all of
// its VMs.
func (t *taken) loads(inventory engine.Tag) map[string]load {
	all := map[string]load{}
	for _, u := range t.unseen {
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
			// A sum beyond all measure ends at the largest number, so that nothing fits beside it.
			sum.Disks[pool] += min(bytes, math.MaxInt64/u.VMs) * u.VMs
			if sum.Disks[pool] < 0 {
				sum.Disks[pool] = math.MaxInt64
			}
		}
		all[u.Host] = sum
	}
	return all
}

// leavesRoom tells whether a host has room for a need beside the load.
func (sum load) leavesRoom(need engine.Need, c engine.Candidate) bool {
	disks := onHost(need, c)
	if !fits(need, disks, c.Free) {
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
