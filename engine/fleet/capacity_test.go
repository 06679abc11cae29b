package fleet

import (
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/placement"
)

// TestCapacity counts what fits on a host of 8 cores, 16 GiB and two storage pools.
func TestCapacity(t *testing.T) {
	t.Parallel()
	const gb = 1_000_000_000
	host := engine.VMHost{
		HostKey: "1", Name: "h", Version: "5.21.3", Zone: "az1", CPUOvercommit: 2, MemoryOvercommit: 1,
		Cores: engine.Amount{Total: 8, Used: 2}, MemoryMiB: engine.Amount{Total: 16384},
		StoragePools: []engine.StoragePool{
			{Name: "default", TotalBytes: 100 * gb, AvailableBytes: 100 * gb, Default: true}, {Name: "fast", TotalBytes: 30 * gb, AvailableBytes: 30 * gb},
		},
	}
	disks := func(list ...placement.Disk) []placement.Disk { return list }
	cases := map[string]struct {
		reason   string
		need     placement.Need
		promised engine.Row
		want     int
		misfit   string
	}{
		"Cores":     {"14 of 16 are free.", placement.Need{Cores: 4, MemoryMiB: 1024}, engine.Row{}, 3, ""},
		"Memory":    {"It is the shorter one.", placement.Need{Cores: 1, MemoryMiB: 4096}, engine.Row{}, 4, ""},
		"Storage":   {"The default pool has 100 GB.", placement.Need{Cores: 1, MemoryMiB: 1024, Disks: disks(placement.Disk{SizeGB: 40})}, engine.Row{}, 2, ""},
		"TwoPools":  {"The smaller pool decides.", placement.Need{Cores: 1, MemoryMiB: 1024, Disks: disks(placement.Disk{SizeGB: 8}, placement.Disk{SizeGB: 10, Pool: "fast"})}, engine.Row{}, 3, ""},
		"Promised":  {"What is being made counts.", placement.Need{Cores: 4, MemoryMiB: 1024}, engine.Row{HostKey: "1", Need: engine.Need{Cores: 6, MemoryMiB: 1024}}, 2, ""},
		"All":       {"The last core may be taken.", placement.Need{Cores: 8, MemoryMiB: 1024}, engine.Row{HostKey: "1", Need: engine.Need{Cores: 6}}, 1, ""},
		"TooLarge":  {"There is no such host.", placement.Need{Cores: 20, MemoryMiB: 1024}, engine.Row{}, 0, "20 cores"},
		"WrongZone": {"Elsewhere.", placement.Need{Zone: "az2", Cores: 1, MemoryMiB: 1024}, engine.Row{}, 0, "az2"},
		"NoPool":    {"It has no such pool.", placement.Need{Cores: 1, MemoryMiB: 1024, Disks: disks(placement.Disk{SizeGB: 8, Pool: "slow"})}, engine.Row{}, 0, "slow"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rows []engine.Row
			if tc.promised.HostKey != "" {
				rows = append(rows, tc.promised)
			}
			got, err := newFleet([]engine.VMHost{host}, nil, rows).Capacity(tc.need)
			if err != nil || len(got) != 1 {
				t.Fatalf("got %+v, %v", got, err)
			}
			if got[0].VMs != tc.want || (got[0].NoRoomReason == "") != (tc.misfit == "") || !strings.Contains(got[0].NoRoomReason, tc.misfit) {
				t.Errorf("%s\ngot %d VMs and %q, want %d and %q", tc.reason, got[0].VMs, got[0].NoRoomReason, tc.want, tc.misfit)
			}
		})
	}
	if _, err := newFleet([]engine.VMHost{host}, nil, nil).Capacity(placement.Need{MemoryMiB: 1}); err == nil {
		t.Error("a need that makes no sense is no error")
	}
}
