package placement_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine/placement"
)

// lxd is a host with 16 cores, 32 GiB and 100 GB; edits change it.
func lxd(id, zone string, edits ...func(*placement.Host)) placement.Host {
	h := placement.Host{
		ID: id, Name: "host-" + id, Type: "lxd", Zone: zone, Pool: "default",
		Tags: []string{"ssd", "virtual"}, Projects: []string{"maas"}, Profiles: []string{"default"},
		Architectures: []string{"amd64/generic"}, Networks: []string{"lan", "10.0.0.0/24", "br0"},
		Cores: placement.Amount{Total: 16}, CPUOvercommit: 1,
		MemoryMiB: placement.Amount{Total: 32768}, MemoryOvercommit: 1,
		StoragePools: []placement.StoragePool{
			{Name: "fast", TotalBytes: 50e9, FreeBytes: 50e9},
			{Name: "local", TotalBytes: 100e9, FreeBytes: 100e9, Default: true},
		},
	}
	for _, edit := range edits {
		edit(&h)
	}
	return h
}

func usedCores(n int64) func(*placement.Host) {
	return func(h *placement.Host) { h.Cores.Used = n }
}

// smallNeed is a VM that any host of lxd can hold; edits change it.
func smallNeed(edits ...func(*placement.Need)) placement.Need {
	n := placement.Need{Key: "team/vm", Cores: 2, MemoryMiB: 2048, Disks: []placement.Disk{{SizeGB: 8}}}
	for _, edit := range edits {
		edit(&n)
	}
	return n
}

func ids(candidates []placement.Candidate) []string {
	var ids []string
	for _, c := range candidates {
		ids = append(ids, c.HostID)
	}
	return ids
}

// bestCandidate is the first of the hosts on which a need fits.
func bestCandidate(t *testing.T, hosts []placement.Host, need placement.Need) placement.Candidate {
	t.Helper()
	found, err := placement.FindCandidates(hosts, need)
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

func TestFitOrder(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		hosts  []placement.Host
		need   placement.Need
		want   []string
	}{
		"SpreadByDefault": {
			reason: "Without a strategy the least full host comes first.",
			hosts:  []placement.Host{lxd("a", "az1", usedCores(4)), lxd("b", "az1"), lxd("c", "az1", usedCores(8))},
			need:   smallNeed(),
			want:   []string{"b", "a", "c"},
		},
		"Pack": {
			reason: "Pack fills the fullest host that still has room; d has none.",
			hosts: []placement.Host{
				lxd("a", "az1", usedCores(4)), lxd("b", "az1"), lxd("c", "az1", usedCores(8)), lxd("d", "az1", usedCores(15)),
			},
			need: smallNeed(func(n *placement.Need) { n.Strategy = placement.Pack }),
			want: []string{"c", "a", "b"},
		},
		"FullestResourceDecides": {
			reason: "A host is as full as its fullest resource, here memory on a and storage on b.",
			hosts: []placement.Host{
				lxd("a", "az1", func(h *placement.Host) { h.MemoryMiB.Used = 24576 }),
				lxd("b", "az1", func(h *placement.Host) { h.StoragePools[1].FreeBytes = 10e9 }),
				lxd("c", "az1", usedCores(8)),
			},
			need: smallNeed(),
			want: []string{"c", "a", "b"},
		},
		"OtherPoolsDoNotCount": {
			reason: "A storage pool that the VM does not use says nothing about the host.",
			hosts: []placement.Host{
				lxd("a", "az1", usedCores(4)),
				lxd("b", "az1", func(h *placement.Host) { h.StoragePools[0].FreeBytes = 1 }),
			},
			need: smallNeed(),
			want: []string{"b", "a"},
		},
		"PoolOfUnknownSize": {
			reason: "A pool of unknown size says nothing about how full the host is, not even when the VM takes its last byte.",
			hosts: []placement.Host{
				lxd("a", "az1", usedCores(8), func(h *placement.Host) {
					h.StoragePools[1].TotalBytes, h.StoragePools[1].FreeBytes = 0, 8e9
				}),
				lxd("b", "az1", usedCores(4)),
			},
			need: smallNeed(),
			want: []string{"b", "a"},
		},
		"ShareNotNumber": {
			reason: "Fullness is a share of what the ratio allows: 8 of 64 is emptier than 4 of 16.",
			hosts: []placement.Host{
				lxd("a", "az1", usedCores(4)),
				lxd("b", "az1", usedCores(8), func(h *placement.Host) { h.CPUOvercommit = 4 }),
			},
			need: smallNeed(),
			want: []string{"b", "a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := placement.FindCandidates(tc.hosts, tc.need)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, ids(got)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCandidateSaysWhatIsFree(t *testing.T) {
	t.Parallel()
	host := lxd("a", "az1", usedCores(3), func(h *placement.Host) {
		h.CPUOvercommit, h.MemoryOvercommit = 1.5, 2
		h.MemoryMiB.Used = 1024
		h.HugePagesMiB = placement.Amount{Total: 8192, Used: 2048}
		h.StoragePools[1].FreeBytes = 90e9 + 1
	})
	got := bestCandidate(t, []placement.Host{host}, smallNeed(func(n *placement.Need) {
		n.Disks = []placement.Disk{{SizeGB: 8}, {SizeGB: 20, Pool: "fast"}, {SizeGB: 4, Pool: "local"}, {SizeGB: 1, Pool: "fast"}}
	}))
	want := placement.Candidate{
		HostID: "a", HostName: "host-a", Zone: "az1",
		FreeCores: 21, FreeMemoryMiB: 64512, FreeHugePagesMiB: 6144,
		Storage: []placement.PoolShare{
			{Pool: "fast", FreeBytes: 50e9, TakeBytes: 21e9},
			{Pool: "local", FreeBytes: 90e9 + 1, TakeBytes: 12e9},
		},
		Fullness: 0.42, AddedFullness: 0.42, // of the pool "fast"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Absurd values from MAAS or a ledger must not turn into room, nor take the existing room.
func TestNonsenseIsHarmless(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		edit   func(*placement.Host)
		cores  int64 // free
	}{
		"Enormous": {
			reason: "A product beyond 63 bits becomes the largest number.",
			edit:   func(h *placement.Host) { h.Cores.Total, h.CPUOvercommit = math.MaxInt64, 10 },
			cores:  math.MaxInt64,
		},
		"NegativeUse": {
			reason: "A negative use counts as none.",
			edit:   usedCores(math.MinInt64),
			cores:  16,
		},
		"OverdrawnPool": {
			reason: "A pool with more in use than its size does not matter to a VM that takes nothing from it.",
			edit:   func(h *placement.Host) { h.StoragePools[0].FreeBytes = -20e9 },
			cores:  16,
		},
		"TwoDefaultPools": {
			reason: "If a host has two default pools, disks count once, in the first one.",
			edit: func(h *placement.Host) {
				h.StoragePools[0].Default, h.StoragePools[1].FreeBytes = true, 0
			},
			cores: 16,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := bestCandidate(t, []placement.Host{lxd("a", "az1", tc.edit)}, smallNeed())
			if got.FreeCores != tc.cores || len(got.Storage) != 1 {
				t.Errorf("%s: got %+v, want %d cores free and one pool", tc.reason, got, tc.cores)
			}
		})
	}
}

func TestNeedError(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		edit   func(*placement.Need)
		field  string
	}{
		"NoCores":       {"A VM needs at least one core.", func(n *placement.Need) { n.Cores = 0 }, "cores"},
		"NoMemory":      {"Placement has no default for memory.", func(n *placement.Need) { n.MemoryMiB = 0 }, "memory_mib"},
		"PinnedBelow0":  {"Cores are numbered from 0.", func(n *placement.Need) { n.PinnedCores = []int{1, -1} }, "pinned_cores"},
		"PinnedTwice":   {"A core that is pinned twice is a mistake.", func(n *placement.Need) { n.PinnedCores = []int{1, 2, 1} }, "pinned_cores"},
		"NegativeDisk":  {"A negative disk would add free room.", func(n *placement.Need) { n.Disks[0].SizeGB = -1 }, "disks"},
		"OtherStrategy": {"An unknown strategy is refused, and is not taken for the default.", func(n *placement.Need) { n.Strategy = "random" }, "strategy"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := placement.FindCandidates([]placement.Host{lxd("a", "az1")}, smallNeed(tc.edit))
			var invalid *placement.NeedError
			if !errors.As(err, &invalid) || invalid.Field != tc.field || !strings.HasPrefix(err.Error(), tc.field+": ") {
				t.Errorf("%s got %v, want a NeedError of %s", tc.reason, err, tc.field)
			}
		})
	}
}
