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

// benchNeed is the need of VM i: one of 100 groups, with everything asked for
// that VMs usually ask for.
func benchNeed(i int) placement.Need {
	return placement.Need{
		Key: fmt.Sprintf("team/vm-%d", i), Group: fmt.Sprintf("team/group-%d", i%100),
		Pool: "default", Tags: []string{"ssd"}, Networks: []string{"lan"},
		Cores: 4, MemoryMiB: 4096,
		Disks: []placement.Disk{{SizeGB: 16}, {SizeGB: 8, Pool: "fast"}},
	}
}

// BenchmarkPlace10000On1000 places 10,000 VMs on 1,000 hosts, one after the
// other, each seeing what the ones before took. An op is one VM.
func BenchmarkPlace10000On1000(b *testing.B) {
	const vms, hosts = 10_000, 1_000
	fleet := region(hosts)
	needs := make([]placement.Need, vms)
	for i := range needs {
		needs[i] = benchNeed(i)
	}
	b.ReportAllocs()
	var f *placement.Fleet
	for i := 0; b.Loop(); i++ {
		if i%vms == 0 {
			f = placement.NewFleet(fleet)
		}
		if _, err := f.Place(needs[i%vms]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDistributeAcrossZones distributes 100 VMs of one need over 1,000
// hosts in three zones. An op is all of them.
func BenchmarkDistributeAcrossZones(b *testing.B) {
	fleet, need := region(1000), benchNeed(0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := placement.DistributeAcrossZones(fleet, need, 100); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFit1000 lists and orders all of 1,000 hosts for one VM, from the
// inventory on.
func BenchmarkFit1000(b *testing.B) {
	fleet, need := region(1000), benchNeed(0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := placement.Fit(fleet, need); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFitNone1000 finds no host among 1,000, and says why for each.
func BenchmarkFitNone1000(b *testing.B) {
	fleet, need := region(1000), benchNeed(0)
	need.MemoryMiB = 1 << 20
	b.ReportAllocs()
	for b.Loop() {
		if _, err := placement.Fit(fleet, need); err == nil {
			b.Fatal("fits")
		}
	}
}
