package placement_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine/placement"
)

// TestReasonsAgainstHost holds the reason and the detail of every way to fall out, and
// that the same host takes a VM that asks for the last bit of it.
func TestReasonsAgainstHost(t *testing.T) {
	t.Parallel()
	type (
		host = placement.Host
		need = placement.Need
	)
	cases := map[string]struct {
		reason       string
		host         func(*host)
		need         func(*need) // does not fit
		fits         func(*need) // fits; nil: nothing does
		want         placement.Reason
		detail       string
		mayPass      bool
		architecture string // of the host, if it is the reason
	}{
		"Excluded": {
			reason: "A host on which an attempt failed is not tried again.",
			need:   func(n *need) { n.Excluded = []string{"b", "a"} },
			fits:   func(n *need) { n.Excluded = []string{"b", "host-a"} },
			want:   placement.Excluded, detail: "excluded from this placement",
		},
		"Virsh": {
			reason: "MAAS lists libvirt hosts among its VM hosts; they are not LXD.",
			host:   func(h *host) { h.Type = "virsh" },
			need:   func(*need) {},
			fits:   func(n *need) { n.Type = "virsh" },
			want:   placement.WrongType, detail: `type "virsh", wanted "lxd"`,
		},
		"Zone": {
			reason: "The VM must be in the zone that it asks for.",
			need:   func(n *need) { n.Zone = "az2" },
			fits:   func(n *need) { n.Zone = "az1" },
			want:   placement.WrongZone, detail: `zone "az1", wanted "az2"`,
		},
		"ResourcePool": {
			reason: "The VM must be in the resource pool that it asks for.",
			need:   func(n *need) { n.Pool = "prod" },
			fits:   func(n *need) { n.Pool = "default" },
			want:   placement.WrongPool, detail: `resource pool "default", wanted "prod"`,
		},
		"Tags": {
			reason: "The host needs all tags. Only the missing ones are named.",
			need:   func(n *need) { n.Tags = []string{"ssd", "gpu", "rack 7"} },
			fits:   func(n *need) { n.Tags = []string{"virtual", "ssd"} },
			want:   placement.MissingTags, detail: `it does not have the tags "gpu", "rack 7" (it has "ssd", "virtual")`,
		},
		"NeverReached": {
			reason: "MAAS keeps VM hosts that it never reached. The reason is that MAAS cannot reach them, not that their data are missing.",
			host: func(h *host) {
				h.NeverReached, h.StoragePools, h.Architectures, h.Cores = true, nil, nil, placement.Amount{}
			},
			need: func(n *need) { n.Architectures = []string{"amd64/generic"} },
			want: placement.HostNeverReached, detail: "MAAS never reached its LXD", mayPass: true,
		},
		"Unusable": {
			reason: "The host has room, but cannot make VMs. Only its operator can change that.",
			host:   func(h *host) { h.UnusableReason = "MAAS cannot make VMs on LXD 6.7" },
			need:   func(*need) {},
			want:   placement.HostUnusable, detail: "MAAS cannot make VMs on LXD 6.7",
		},
		"Architecture": {
			reason: "A VM runs on its own architecture only.",
			need:   func(n *need) { n.Architectures = []string{"arm64/generic"} },
			fits:   func(n *need) { n.Architectures = []string{"riscv64", "amd64/generic"} },
			want:   placement.WrongArchitecture, detail: `it does not have the architecture "arm64/generic" (it has "amd64/generic")`, architecture: "amd64",
		},
		"Image": {
			reason: "MAAS installs an image only on the architectures that it was imported for. Their short names suffice.",
			need:   func(n *need) { n.Architectures, n.Image = []string{"arm64", "s390x"}, "ubuntu/noble" },
			fits:   func(n *need) { n.Architectures, n.Image = []string{"amd64", "arm64"}, "ubuntu/noble" },
			want:   placement.WrongArchitecture, detail: `it is amd64; MAAS has ubuntu/noble for arm64, s390x only`, architecture: "amd64",
		},
		"Project": {
			reason: "A VM host makes VMs in its own projects only.",
			need:   func(n *need) { n.Project = "ci" },
			fits:   func(n *need) { n.Project = "maas" },
			want:   placement.NoProject, detail: `it does not have the project "ci" (it has "maas")`,
		},
		"Profile": {
			reason: "The LXD profile must exist on the host.",
			host:   func(h *host) { h.Profiles = nil },
			need:   func(n *need) { n.Profile = "gpu" },
			fits:   func(n *need) { n.Profile = "" },
			want:   placement.NoProfile, detail: `it does not have the profile "gpu" (it has none)`,
		},
		"Network": {
			reason: "The host must be on every network, under any of its names.",
			need:   func(n *need) { n.Networks = []string{"lan", "dmz"} },
			fits:   func(n *need) { n.Networks = []string{"10.0.0.0/24", "br0"} },
			want:   placement.NoNetwork, detail: `it does not have the network "dmz" (it has "lan", "10.0.0.0/24", "br0")`,
		},
		"UnknownStoragePool": {
			reason: "MAAS would silently put the disk into the default pool.",
			need:   func(n *need) { n.Disks = []placement.Disk{{SizeGB: 1}, {SizeGB: 1, Pool: "slow"}} },
			fits:   func(n *need) { n.Disks = []placement.Disk{{SizeGB: 1}, {SizeGB: 1, Pool: "fast"}} },
			want:   placement.NoStoragePool, detail: `it does not have the storage pool "slow" (it has "fast", "local")`,
		},
		"NoDefaultPool": {
			reason: "A disk without a pool needs a host with a default pool.",
			host:   func(h *host) { h.StoragePools[1].Default = false },
			need:   func(*need) {},
			fits:   func(n *need) { n.Disks[0].Pool = "local" },
			want:   placement.NoStoragePool, detail: "no default storage pool",
		},
		"MoreCoresThanTheHost": {
			reason: "No VM is larger than its host, whatever the over-commit ratio.",
			host:   func(h *host) { h.CPUOvercommit = 4 },
			need:   func(n *need) { n.Cores = 17 },
			fits:   func(n *need) { n.Cores = 16 },
			want:   placement.TooSmall, detail: "17 cores needed, the host has 16 at an over-commit ratio of 4",
		},
		"RatioBelowOne": {
			reason: "A ratio below 1 reserves a part of the host: 16 × 0.55 = 8.8.",
			host:   func(h *host) { h.CPUOvercommit = 0.55 },
			need:   func(n *need) { n.Cores = 9 },
			fits:   func(n *need) { n.Cores = 8 },
			want:   placement.TooSmall, detail: "9 cores needed, the host has 16 at an over-commit ratio of 0.55",
		},
		"RatioZero": {
			reason: "MAAS accepts a ratio of 0, and then makes no VM.",
			host:   func(h *host) { h.MemoryOvercommit = 0 },
			need:   func(n *need) { n.MemoryMiB = 1 },
			want:   placement.TooSmall, detail: "1 MiB of memory needed, the host has 32768 at an over-commit ratio of 0",
		},
		"RatioNonsense": {
			reason: "A ratio that is not a number leaves no room.",
			host:   func(h *host) { h.CPUOvercommit = math.NaN() },
			need:   func(n *need) { n.Cores = 1 },
			want:   placement.TooSmall, detail: "1 cores needed, the host has 16 at an over-commit ratio of NaN",
		},
		"MoreMemoryThanTheHost": {
			reason: "No VM has more memory than its host, whatever the over-commit ratio.",
			host:   func(h *host) { h.MemoryOvercommit = 10 },
			need:   func(n *need) { n.MemoryMiB = 32769 },
			fits:   func(n *need) { n.MemoryMiB = 32768 },
			want:   placement.TooSmall, detail: "32769 MiB of memory needed, the host has 32768 at an over-commit ratio of 10",
		},
		"PinnedBeyondTheHost": {
			reason: "16 cores are numbered 0 to 15.",
			need:   func(n *need) { n.PinnedCores = []int{0, 16} },
			fits:   func(n *need) { n.PinnedCores = []int{0, 15} },
			want:   placement.TooSmall, detail: "core 16 needed, the host has 16, numbered from 0",
		},
		"NoHugePages": {
			reason: "A host without huge pages cannot start a VM that needs them.",
			need:   func(n *need) { n.HugePages = true },
			fits:   func(n *need) { n.HugePages = false },
			want:   placement.TooSmall, detail: "2048 MiB of huge pages needed, the host has 0",
		},
		"PoolTooSmall": {
			reason: "A pool does not become larger by waiting.",
			need:   func(n *need) { n.Disks = []placement.Disk{{SizeGB: 51, Pool: "fast"}} },
			fits:   func(n *need) { n.Disks = []placement.Disk{{SizeGB: 50, Pool: "fast"}} },
			want:   placement.TooSmall, detail: `51 GB needed of storage pool "fast", which has 50`,
		},
		"Cores": {
			reason: "VMs share what the ratio allows: 16 × 1.5 = 24, 20 of them used.",
			host:   func(h *host) { h.CPUOvercommit, h.Cores.Used = 1.5, 20 },
			need:   func(n *need) { n.Cores = 5 },
			fits:   func(n *need) { n.Cores = 4 },
			want:   placement.TooFewCores, detail: "5 cores needed, 4 of 24 free at an over-commit ratio of 1.5", mayPass: true,
		},
		"RatioLoweredBelowTheUse": {
			reason: "Somebody can lower the ratio below the use. Then nothing is free.",
			host:   func(h *host) { h.Cores.Used = 40 },
			need:   func(n *need) { n.Cores = 1 },
			want:   placement.TooFewCores, detail: "1 cores needed, 0 of 16 free", mayPass: true,
		},
		"PinnedCount": {
			reason: "Pinned cores count as used cores. They replace the number of cores.",
			host:   func(h *host) { h.Cores.Used = 14 },
			need:   func(n *need) { n.PinnedCores = []int{0, 1, 2} },
			fits:   func(n *need) { n.Cores, n.PinnedCores = 16, []int{0, 1} },
			want:   placement.TooFewCores, detail: "3 cores needed, 2 of 16 free", mayPass: true,
		},
		"Memory": {
			reason: "Used memory is not free.",
			host:   func(h *host) { h.MemoryMiB.Used = 30000 },
			need:   func(n *need) { n.MemoryMiB = 2769 },
			fits:   func(n *need) { n.MemoryMiB = 2768 },
			want:   placement.TooLittleMemory, detail: "2769 MiB of memory needed, 2768 of 32768 free", mayPass: true,
		},
		"HugePages": {
			reason: "Huge pages are never over-committed, whatever the memory ratio.",
			host: func(h *host) {
				h.MemoryOvercommit, h.HugePagesMiB = 4, placement.Amount{Total: 8192, Used: 6144}
			},
			need: func(n *need) { n.HugePages, n.MemoryMiB = true, 2049 },
			fits: func(n *need) { n.HugePages, n.MemoryMiB = true, 2048 },
			want: placement.TooFewHugePages, detail: "2049 MiB of huge pages needed, 2048 of 8192 free", mayPass: true,
		},
		"HugePagesAreMemory": {
			reason: "As in MAAS, a VM on huge pages also counts as memory.",
			host: func(h *host) {
				h.MemoryMiB.Used, h.HugePagesMiB = 31744, placement.Amount{Total: 8192}
			},
			need: func(n *need) { n.HugePages = true },
			fits: func(n *need) { n.HugePages, n.MemoryMiB = true, 1024 },
			want: placement.TooLittleMemory, detail: "2048 MiB of memory needed, 1024 of 32768 free", mayPass: true,
		},
		"DisksAddUp": {
			reason: "Disks in one pool add up, whether they name it or use the default. One byte too few is too few.",
			host:   func(h *host) { h.StoragePools[1].FreeBytes = 30e9 - 1 },
			need: func(n *need) {
				n.Disks = []placement.Disk{{SizeGB: 10}, {SizeGB: 10, Pool: "local"}, {SizeGB: 10}}
			},
			fits: func(n *need) { n.Disks = []placement.Disk{{SizeGB: 10}, {SizeGB: 10, Pool: "local"}, {SizeGB: 9}} },
			want: placement.TooLittleStorage, detail: `30 GB needed of storage pool "local", 29 free`, mayPass: true,
		},
		"UnknownTotal": {
			reason: "If the size of a pool is unknown, only its free room counts.",
			host:   func(h *host) { h.StoragePools[1].TotalBytes, h.StoragePools[1].FreeBytes = 0, 8e9 },
			need:   func(n *need) { n.Disks[0].SizeGB = 9 },
			fits:   func(n *need) { n.Disks[0].SizeGB = 8 },
			want:   placement.TooLittleStorage, detail: `9 GB needed of storage pool "local", 8 free`, mayPass: true,
		},
		"EnormousDisks": {
			reason: "Very large sizes do not overflow to small ones.",
			need: func(n *need) {
				n.Disks = []placement.Disk{{SizeGB: math.MaxInt64}, {SizeGB: math.MaxInt64}, {SizeGB: 2}}
			},
			want: placement.TooSmall, detail: `9223372036854775807 GB needed of storage pool "local", which has 100`,
		},
		"FirstReasonCounts": {
			reason: "A lasting reason comes before one that may pass.",
			host:   func(h *host) { h.Cores.Used = 16 },
			need:   func(n *need) { n.Project, n.MemoryMiB = "ci", 1<<40 },
			want:   placement.NoProject, detail: `it does not have the project "ci" (it has "maas")`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := lxd("a", "az1")
			if tc.host != nil {
				tc.host(&h)
			}
			_, err := placement.FindCandidates([]placement.Host{h}, smallNeed(tc.need))
			var misfit *placement.FitError
			if !errors.As(err, &misfit) {
				t.Fatalf("%s: got %v, want a FitError", tc.reason, err)
			}
			want := []placement.Rejection{{HostID: "a", HostName: "host-a", Reason: tc.want, Detail: tc.detail, Architecture: tc.architecture}}
			got := misfit.Rejections()
			wantLack(t, got[0])
			got[0].Shortage = placement.Shortage{}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if got := misfit.IsTemporary(); got != tc.mayPass {
				t.Errorf("%s: MayPass is %t", tc.reason, got)
			}
			if tc.fits == nil {
				return
			}
			if _, err := placement.FindCandidates([]placement.Host{h}, smallNeed(tc.fits)); err != nil {
				t.Errorf("%s: what just fits is refused: %v", tc.reason, err)
			}
		})
	}
}

// wantLack checks that what is lacking, as numbers, is what the sentence says, and that
// only a lack of room is one.
func wantLack(t *testing.T, m placement.Rejection) {
	t.Helper()
	room := []placement.Reason{
		placement.TooSmall, placement.TooFewCores, placement.TooLittleMemory, placement.TooFewHugePages, placement.TooLittleStorage,
	}
	switch {
	case m.Reason == placement.NoStoragePool:
		if m.Shortage.Resource != placement.Storage || !strings.Contains(m.Detail, m.Shortage.StoragePool) {
			t.Errorf("%+v is lacking, and the sentence is %q", m.Shortage, m.Detail)
		}
	case !slices.Contains(room, m.Reason):
		if m.Shortage != (placement.Shortage{}) {
			t.Errorf("%s is no matter of room, and lacks %+v", m.Reason, m.Shortage)
		}
	case m.Shortage.Resource == "", !strings.Contains(m.Detail, fmt.Sprint(m.Shortage.Needed)):
		t.Errorf("%+v is lacking, and the sentence is %q", m.Shortage, m.Detail)
	}
}

// TestUnknownArchitecture: a host that tells no architecture is not ruled out by it.
func TestUnknownArchitecture(t *testing.T) {
	t.Parallel()
	h := lxd("a", "az1")
	h.Architectures = nil
	found, err := placement.FindCandidates([]placement.Host{h}, smallNeed(func(n *placement.Need) { n.Architectures = []string{"arm64"} }))
	if err != nil || len(found) != 1 {
		t.Errorf("want the host, got %+v, %v", found, err)
	}
}
