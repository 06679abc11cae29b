package compose

import (
	"errors"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

func TestFitsOnHost(t *testing.T) {
	host := engine.VMHost{
		Name: "lxd1", Cores: engine.Amount{Total: 8, Used: 6}, MemoryMiB: engine.Amount{Total: 16384, Used: 4096},
		CPUOvercommit: 1, MemoryOvercommit: 1,
		StoragePools: []engine.StoragePool{
			{Name: "default", TotalBytes: 100e9, AvailableBytes: 100e9, Default: true},
			{Name: "fast", TotalBytes: 10e9, AvailableBytes: 10e9},
		},
	}
	cases := map[string]struct {
		reason string
		want   engine.VMSpec
		ratio  float64
		field  string
		kind   engine.ErrorType
	}{
		"Fits":         {"The VM fits into the free room.", engine.VMSpec{Cores: 2, MemoryMiB: 12288}, 1, "", ""},
		"BeyondCores":  {"A VM is never larger than its host.", engine.VMSpec{Cores: 9, MemoryMiB: 1024}, 4, "cores", ""},
		"BeyondMemory": {"A VM is never larger than its host.", engine.VMSpec{Cores: 1, MemoryMiB: 16385}, 1, "memory_mib", ""},
		"Taken":        {"Other VMs have the cores.", engine.VMSpec{Cores: 3, MemoryMiB: 1024}, 1, "", engine.InsufficientResources},
		"Overcommit":   {"The over-commit ratio makes room for the cores.", engine.VMSpec{Cores: 3, MemoryMiB: 1024}, 2, "", ""},
		"NoSuchCore":   {"A pinned core must exist on the host.", engine.VMSpec{PinnedCores: []int{8}, MemoryMiB: 1024}, 4, "pinned_cores", ""},
		"NoSuchPool":   {"MAAS would silently take the default pool.", engine.VMSpec{Cores: 1, Disks: []engine.Disk{{Name: "root", SizeGB: 1, Pool: "slow"}}}, 1, "disks.root.pool", ""},
		"PoolFull":     {"Two disks in one pool need their total size.", engine.VMSpec{Cores: 1, Disks: []engine.Disk{{Name: "root", SizeGB: 6, Pool: "fast"}, {Name: "data", SizeGB: 6, Pool: "fast"}}}, 1, "disks.data.size_gb", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := host
			h.CPUOvercommit = tc.ratio
			err := errors.Join(CheckRoom(h, tc.want), CheckPoolRoom(h, tc.want.Disks))
			var bad *engine.SpecError
			var lxd *engine.Error
			switch {
			case tc.field != "":
				if !errors.As(err, &bad) || bad.Field.String() != tc.field {
					t.Errorf("%s\ngot %v, want an error about %s", tc.reason, err, tc.field)
				}
			case tc.kind != "":
				if !errors.As(err, &lxd) || lxd.Type != tc.kind {
					t.Errorf("%s\ngot %v, want %s", tc.reason, err, tc.kind)
				}
			case err != nil:
				t.Errorf("%s\ngot %v", tc.reason, err)
			}
		})
	}
}

// TestUnknownStoragePool: a slip in the name of a storage pool is an error of that disk,
// for a VM that is placed, too. A host that does not tell yet what it has may have it.
func TestUnknownStoragePool(t *testing.T) {
	t.Parallel()
	host := func(name, pool string) engine.VMHost {
		return engine.VMHost{Name: name, HostKey: name, Version: "5.21.3", Cores: engine.Amount{Total: 4}, StoragePools: []engine.StoragePool{{Name: pool}}}
	}
	silent := engine.VMHost{Name: "silent", HostKey: "silent"}
	for name, tc := range map[string]struct {
		reason string
		hosts  []engine.VMHost
		pool   string
		field  string
	}{
		"Known":   {"One host has the pool.", []engine.VMHost{host("a", "fast"), host("b", "slow")}, "slow", ""},
		"Slip":    {"No host has the pool.", []engine.VMHost{host("a", "fast"), host("b", "slow")}, "fsat", "disks.data.pool"},
		"Silent":  {"One host does not answer and may have the pool, so placement waits for it.", []engine.VMHost{host("a", "fast"), silent}, "fsat", ""},
		"Default": {"The disk names no pool.", []engine.VMHost{host("a", "fast")}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checkStoragePoolsExist(tc.hosts, []engine.Disk{{Name: "root"}, {Name: "data", Pool: tc.pool}})
			bad, refused := errors.AsType[*engine.SpecError](err)
			if refused != (tc.field != "") || refused && bad.Field.String() != tc.field {
				t.Errorf("%s got %v, want an error at %q", tc.reason, err, tc.field)
			}
		})
	}
}
