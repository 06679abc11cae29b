package placement_test

import (
	"fmt"
	"testing"

	"github.com/maaslxd/maaslxd/engine/placement"
)

// region is a fleet of equal hosts in three zones, each with room for 16 VMs
// of benchNeed.
func region(hosts int) []placement.Host {
	fleet := make([]placement.Host, hosts)
	for i := range fleet {
		fleet[i] = placement.Host{
			ID: fmt.Sprintf("sys%03d", i), Name: fmt.Sprintf("lxd%03d", i), Type: placement.TypeLXD,
			Zone: fmt.Sprintf("az%d", i%3+1), Pool: "default", Tags: []string{"pod-console-logging", "ssd", "virtual"},
			Projects: []string{"maas"}, Networks: []string{"lan", "10.0.0.0/16", "br0"},
			Cores: placement.Amount{Total: 32}, CPUOvercommit: 2,
			MemoryMiB: placement.Amount{Total: 65536}, MemoryOvercommit: 1,
			StoragePools: []placement.StoragePool{
				{Name: "default", TotalBytes: 1e12, FreeBytes: 1e12, Default: true},
				{Name: "fast", TotalBytes: 5e11, FreeBytes: 5e11},
			},
		}
	}
	return fleet
}

// benchNeed is a need with everything asked for that VMs usually ask for.
func benchNeed() placement.Need {
	return placement.Need{
		Key: "team/vm-1", Pool: "default", Tags: []string{"ssd"}, Networks: []string{"lan"},
		Cores: 4, MemoryMiB: 4096,
		Disks: []placement.Disk{{SizeGB: 16}, {SizeGB: 8, Pool: "fast"}},
	}
}

// BenchmarkFit1000 lists and orders all of 1,000 hosts for one VM, from the
// inventory on.
func BenchmarkFit1000(b *testing.B) {
	fleet, need := region(1000), benchNeed()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := placement.FindCandidates(fleet, need); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFitNone1000 finds no host among 1,000, and says why for each.
func BenchmarkFitNone1000(b *testing.B) {
	fleet, need := region(1000), benchNeed()
	need.MemoryMiB = 1 << 20
	b.ReportAllocs()
	for b.Loop() {
		if _, err := placement.FindCandidates(fleet, need); err == nil {
			b.Fatal("fits")
		}
	}
}
