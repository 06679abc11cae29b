package placement_test

import (
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
			reason: "On an empty host only the VM counts. Its cores have the largest share: 2 of 16.",
			host:   lxd("a", "az1"), need: smallNeed(), fullness: 0.125, share: 0.125,
		},
		"Used": {
			reason: "Used cores make the host fuller, but are not part of the VM's share.",
			host:   lxd("a", "az1", usedCores(4)), need: smallNeed(), fullness: 0.375, share: 0.125,
		},
		"OverCommit": {
			reason: "The share is a part of what all VMs together may have.",
			host:   lxd("a", "az1", usedCores(4), func(h *placement.Host) { h.CPUOvercommit = 2 }),
			need:   smallNeed(), fullness: 0.1875, share: 0.0625,
		},
		"Memory": {
			reason: "The share is that of the fullest resource, not of the VM's largest need.",
			host:   lxd("a", "az1", func(h *placement.Host) { h.MemoryMiB.Used = 16384 }),
			need:   smallNeed(), fullness: 0.5625, share: 0.0625,
		},
		"Pool": {
			reason: "A storage pool can be the fullest resource.",
			host:   lxd("a", "az1"),
			need:   smallNeed(func(n *placement.Need) { n.Disks[0].SizeGB = 75 }), fullness: 0.75, share: 0.75,
		},
		"Pack": {
			reason: "The strategy does not change how full a host is.",
			host:   lxd("a", "az1", usedCores(4)),
			need:   smallNeed(func(n *placement.Need) { n.Strategy = placement.Pack }), fullness: 0.375, share: 0.125,
		},
		"EquallyNear": {
			reason: "If two resources are equally full, the one of which the VM takes more counts.",
			host:   lxd("a", "az1", usedCores(6), func(h *placement.Host) { h.MemoryMiB.Used = 14336 }),
			need:   smallNeed(), fullness: 0.5, share: 0.125,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := bestCandidate(t, []placement.Host{tc.host}, tc.need)
			if got.Fullness != tc.fullness || got.AddedFullness != tc.share {
				t.Errorf("%s\ngot %g and %g, want %g and %g", tc.reason, got.Fullness, got.AddedFullness, tc.fullness, tc.share)
			}
		})
	}
}
