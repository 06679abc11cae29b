package placement_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/maaslxd/maaslxd/engine/placement"
)

func TestFullnessAndShare(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason          string
		host            placement.Host
		need            placement.Need
		fullness, share float64
	}{
		"Empty": {
			reason: "On an empty host the VM's part is all there is, and cores are the scarcest: 2 of 16.",
			host:   lxd("a", "az1"), need: small(), fullness: 0.125, share: 0.125,
		},
		"Used": {
			reason: "Cores that are taken fill the host, but are not the VM's.",
			host:   lxd("a", "az1", usedCores(4)), need: small(), fullness: 0.375, share: 0.125,
		},
		"OverCommit": {
			reason: "What counts is what VMs together may hold.",
			host:   lxd("a", "az1", usedCores(4), func(h *placement.Host) { h.CPUOvercommit = 2 }),
			need:   small(), fullness: 0.1875, share: 0.0625,
		},
		"Memory": {
			reason: "Share is of the resource that is nearest to its end, not the VM's largest.",
			host:   lxd("a", "az1", func(h *placement.Host) { h.MemoryMiB.Used = 16384 }),
			need:   small(), fullness: 0.5625, share: 0.0625,
		},
		"Pool": {
			reason: "A storage pool may be nearest to its end.",
			host:   lxd("a", "az1"),
			need:   small(func(n *placement.Need) { n.Disks[0].SizeGB = 75 }), fullness: 0.75, share: 0.75,
		},
		"Pack": {
			reason: "The strategy does not change how full a host is.",
			host:   lxd("a", "az1", usedCores(4)),
			need:   small(func(n *placement.Need) { n.Strategy = placement.Pack }), fullness: 0.375, share: 0.125,
		},
		"EquallyNear": {
			reason: "Of two resources that are as near to their end, the one that goes faster counts.",
			host:   lxd("a", "az1", usedCores(6), func(h *placement.Host) { h.MemoryMiB.Used = 14336 }),
			need:   small(), fullness: 0.5, share: 0.125,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := placement.Choose([]placement.Host{tc.host}, tc.need)
			if err != nil {
				t.Fatal(err)
			}
			if got.Fullness != tc.fullness || got.Share != tc.share {
				t.Errorf("%s\ngot %g and %g, want %g and %g", tc.reason, got.Fullness, got.Share, tc.fullness, tc.share)
			}
		})
	}
}

// ledger places VMs that all saw the same candidates, as a ledger does: by
// rank, and a step for each VM that is on the host by now.
func ledger(t *testing.T, hosts []placement.Host, s placement.Strategy, vms int) map[string]int {
	t.Helper()
	load := map[string]int{}
	for i := range vms {
		need := small(func(n *placement.Need) { n.Key, n.Strategy = fmt.Sprint("team/vm-", i), s })
		candidates, err := placement.Fit(hosts, need)
		if err != nil {
			t.Fatal(err)
		}
		place := func(c placement.Candidate) int64 {
			rank, step := c.Order(s)
			return rank + step*int64(load[c.HostID])
		}
		best := slices.MinFunc(candidates, func(a, b placement.Candidate) int { return cmp.Compare(place(a), place(b)) })
		load[best.HostID]++
	}
	return load
}

func TestOrder(t *testing.T) {
	t.Parallel()
	large := func(h *placement.Host) {
		h.Cores.Total, h.MemoryMiB.Total = 4*h.Cores.Total, 4*h.MemoryMiB.Total
		for i := range h.StoragePools {
			p := &h.StoragePools[i]
			p.TotalBytes, p.FreeBytes = 4*p.TotalBytes, 4*p.FreeBytes
		}
	}
	cases := map[string]struct {
		reason   string
		hosts    []placement.Host
		strategy placement.Strategy
		vms      int
		want     map[string]int
	}{
		"Proportion": {
			reason: "A host of four times the size takes four times the VMs, and both end as full.",
			hosts:  []placement.Host{lxd("a", "az1"), lxd("b", "az1", large)},
			vms:    20, want: map[string]int{"a": 4, "b": 16},
		},
		"HeadStart": {
			reason: "The emptier host is filled up to the other first.",
			hosts:  []placement.Host{lxd("a", "az1", usedCores(8)), lxd("b", "az1")},
			vms:    8, want: map[string]int{"a": 2, "b": 6},
		},
		"Pack": {
			reason:   "Packing goes on where it began, on the fullest.",
			hosts:    []placement.Host{lxd("a", "az1"), lxd("b", "az1", usedCores(2)), lxd("c", "az1")},
			strategy: placement.Pack,
			vms:      5, want: map[string]int{"b": 5},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ledger(t, tc.hosts, tc.strategy, tc.vms)
			for id, want := range tc.want {
				if got[id] != want {
					t.Errorf("%s\ngot %v, want %v", tc.reason, got, tc.want)
				}
			}
		})
	}
}

// TestOrderOfEqualHosts wants the ties to fall here and there, and yet the VMs
// to be even over the hosts.
func TestOrderOfEqualHosts(t *testing.T) {
	t.Parallel()
	var hosts []placement.Host
	for i := range 10 {
		hosts = append(hosts, lxd(fmt.Sprint(i), "az1"))
	}
	for id, n := range ledger(t, hosts, placement.Spread, 40) {
		if n != 4 {
			t.Errorf("%d of 40 VMs on host %s, want 4", n, id)
		}
	}
	first := map[string]int{}
	for i := range 200 {
		candidates, err := placement.Fit(hosts, small(func(n *placement.Need) { n.Key = fmt.Sprint("team/web-", i) }))
		if err != nil {
			t.Fatal(err)
		}
		best := slices.MinFunc(candidates, func(a, b placement.Candidate) int {
			rankA, _ := a.Order(placement.Spread)
			rankB, _ := b.Order(placement.Spread)
			return cmp.Compare(rankA, rankB)
		})
		if best.HostID != candidates[0].HostID {
			t.Errorf("VM %d: the least rank is host %s, the first of Fit is %s", i, best.HostID, candidates[0].HostID)
		}
		first[best.HostID]++
	}
	if len(first) != len(hosts) {
		t.Errorf("200 first VMs ran to %d of 10 hosts: %v", len(first), first)
	}
}
