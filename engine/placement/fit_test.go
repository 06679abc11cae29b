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

func holding(group string, vms int) func(*placement.Host) {
	return func(h *placement.Host) { h.Groups = map[string]int{group: vms} }
}

// small is a VM that any host of lxd can hold; edits change it.
func small(edits ...func(*placement.Need)) placement.Need {
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
			need:   small(),
			want:   []string{"b", "a", "c"},
		},
		"Pack": {
			reason: "Pack fills the fullest host that still has room; d has none.",
			hosts: []placement.Host{
				lxd("a", "az1", usedCores(4)), lxd("b", "az1"), lxd("c", "az1", usedCores(8)), lxd("d", "az1", usedCores(15)),
			},
			need: small(func(n *placement.Need) { n.Strategy = placement.Pack }),
			want: []string{"c", "a", "b"},
		},
		"FullestResourceDecides": {
			reason: "A host is as full as its fullest resource, here memory on a and storage on b.",
			hosts: []placement.Host{
				lxd("a", "az1", func(h *placement.Host) { h.MemoryMiB.Used = 24576 }),
				lxd("b", "az1", func(h *placement.Host) { h.StoragePools[1].FreeBytes = 10e9 }),
				lxd("c", "az1", usedCores(8)),
			},
			need: small(),
			want: []string{"c", "a", "b"},
		},
		"OtherPoolsDoNotCount": {
			reason: "A storage pool that the VM does not use says nothing about the host.",
			hosts: []placement.Host{
				lxd("a", "az1", usedCores(4)),
				lxd("b", "az1", func(h *placement.Host) { h.StoragePools[0].FreeBytes = 1 }),
			},
			need: small(),
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
			need: small(),
			want: []string{"b", "a"},
		},
		"ShareNotNumber": {
			reason: "Fullness is a share of what the ratio allows: 8 of 64 is emptier than 4 of 16.",
			hosts: []placement.Host{
				lxd("a", "az1", usedCores(4)),
				lxd("b", "az1", usedCores(8), func(h *placement.Host) { h.CPUOvercommit = 4 }),
			},
			need: small(),
			want: []string{"b", "a"},
		},
		"PrefersEmptyZone": {
			reason: "A group spreads over zones before it looks at hosts: b is empty, but in a zone with members.",
			hosts: []placement.Host{
				lxd("a", "az1", holding("g", 1)), lxd("b", "az1"), lxd("c", "az2", usedCores(12)),
			},
			need: small(func(n *placement.Need) { n.Group = "g" }),
			want: []string{"c", "b", "a"},
		},
		"ZoneCountsAllItsHosts": {
			reason: "Members on a cordoned host are in the zone too.",
			hosts: []placement.Host{
				lxd("a", "az1", holding("g", 2), func(h *placement.Host) { h.Cordoned = true }),
				lxd("b", "az1"), lxd("c", "az2", holding("g", 1)),
			},
			need: small(func(n *placement.Need) { n.Group = "g" }),
			want: []string{"c", "b"},
		},
		"HostAntiAffinity": {
			reason: "Within a zone a host without members goes before an emptier one with members.",
			hosts:  []placement.Host{lxd("a", "az1", holding("g", 1)), lxd("b", "az1", usedCores(12))},
			need:   small(func(n *placement.Need) { n.Group = "g" }),
			want:   []string{"b", "a"},
		},
		"GroupBeforePack": {
			reason: "Packing does not bring a group together.",
			hosts:  []placement.Host{lxd("a", "az1", holding("g", 1), usedCores(8)), lxd("b", "az1")},
			need:   small(func(n *placement.Need) { n.Group, n.Strategy = "g", placement.Pack }),
			want:   []string{"b", "a"},
		},
		"OtherGroupsDoNotCount": {
			reason: "Only the VM's own group keeps it away.",
			hosts:  []placement.Host{lxd("a", "az1", holding("other", 9)), lxd("b", "az2", usedCores(4))},
			need:   small(func(n *placement.Need) { n.Group = "g" }),
			want:   []string{"a", "b"},
		},
		"NoGroupNoZones": {
			reason: "A VM without a group goes by fullness alone.",
			hosts:  []placement.Host{lxd("a", "az1", holding("", 5)), lxd("b", "az2", usedCores(4))},
			need:   small(),
			want:   []string{"a", "b"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := placement.Fit(tc.hosts, tc.need)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, ids(got)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			best, err := placement.Choose(tc.hosts, tc.need)
			if diff := cmp.Diff(got[0], best); diff != "" || err != nil {
				t.Errorf("Choose is not the first of Fit: %v\n-want +got:\n%s", err, diff)
			}
		})
	}
}

func TestCandidateSaysWhatIsFree(t *testing.T) {
	t.Parallel()
	host := lxd("a", "az1", usedCores(3), holding("g", 2), func(h *placement.Host) {
		h.CPUOvercommit, h.MemoryOvercommit = 1.5, 2
		h.MemoryMiB.Used = 1024
		h.HugePagesMiB = placement.Amount{Total: 8192, Used: 2048}
		h.StoragePools[1].FreeBytes = 90e9 + 1
	})
	got, err := placement.Choose([]placement.Host{host}, small(func(n *placement.Need) {
		n.Group = "g"
		n.Disks = []placement.Disk{{SizeGB: 8}, {SizeGB: 20, Pool: "fast"}, {SizeGB: 4, Pool: "local"}, {SizeGB: 1, Pool: "fast"}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := placement.Candidate{
		HostID: "a", HostName: "host-a", Zone: "az1",
		FreeCores: 21, FreeMemoryMiB: 64512, FreeHugePagesMiB: 6144,
		Storage: []placement.PoolShare{
			{Pool: "fast", FreeBytes: 50e9, TakeBytes: 21e9},
			{Pool: "local", FreeBytes: 90e9 + 1, TakeBytes: 12e9},
		},
		GroupInZone: 2, GroupOnHost: 2,
		Fullness: 0.42, Share: 0.42, // of the pool "fast"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What MAAS or a ledger reports beyond reason must not turn into room, nor
// take the room that there is.
func TestNonsenseIsHarmless(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		edit   func(*placement.Host)
		cores  int64 // free
	}{
		"Enormous": {
			reason: "A product beyond 63 bits stays at the end of them.",
			edit:   func(h *placement.Host) { h.Cores.Total, h.CPUOvercommit = math.MaxInt64, 10 },
			cores:  math.MaxInt64,
		},
		"NegativeUse": {
			reason: "Less than nothing in use is nothing.",
			edit:   usedCores(math.MinInt64),
			cores:  16,
		},
		"OverdrawnPool": {
			reason: "A pool that is overdrawn does not matter to a VM that takes nothing from it.",
			edit:   func(h *placement.Host) { h.StoragePools[0].FreeBytes = -20e9 },
			cores:  16,
		},
		"TwoDefaultPools": {
			reason: "Disks are charged once: to the first one.",
			edit: func(h *placement.Host) {
				h.StoragePools[0].Default, h.StoragePools[1].FreeBytes = true, 0
			},
			cores: 16,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := placement.Choose([]placement.Host{lxd("a", "az1", tc.edit)}, small())
			if err != nil || got.FreeCores != tc.cores || len(got.Storage) != 1 {
				t.Errorf("%s: got %+v, %v, want %d cores free and one pool", tc.reason, got, err, tc.cores)
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
		"NoCores":       {"A VM without cores is none.", func(n *placement.Need) { n.Cores = 0 }, "cores"},
		"NoMemory":      {"Memory has no default here.", func(n *placement.Need) { n.MemoryMiB = 0 }, "memory_mib"},
		"PinnedBelow0":  {"Cores are numbered from 0.", func(n *placement.Need) { n.PinnedCores = []int{1, -1} }, "pinned_cores"},
		"PinnedTwice":   {"A core that is named twice is a slip.", func(n *placement.Need) { n.PinnedCores = []int{1, 2, 1} }, "pinned_cores"},
		"NegativeDisk":  {"A negative disk would make room.", func(n *placement.Need) { n.Disks[0].SizeGB = -1 }, "disks"},
		"OtherStrategy": {"An unknown strategy is not taken for the default.", func(n *placement.Need) { n.Strategy = "random" }, "strategy"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts, need := []placement.Host{lxd("a", "az1")}, small(tc.edit)
			_, fit := placement.Fit(hosts, need)
			_, choose := placement.Choose(hosts, need)
			_, distribute := placement.DistributeAcrossZones(hosts, need, 1)
			for call, err := range map[string]error{"Fit": fit, "Choose": choose, "DistributeAcrossZones": distribute} {
				var invalid *placement.NeedError
				if !errors.As(err, &invalid) || invalid.Field != tc.field || !strings.HasPrefix(err.Error(), tc.field+": ") {
					t.Errorf("%s %s: got %v, want a NeedError of %s", tc.reason, call, err, tc.field)
				}
			}
		})
	}
}
