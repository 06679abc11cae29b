package fleet

import (
	"errors"
	"testing"

	"github.com/maaslxd/maaslxd/engine"

	"github.com/google/go-cmp/cmp"
)

func TestZonesOfRoom(t *testing.T) {
	t.Parallel()
	host := func(name, zone string, edit ...func(*engine.VMHost)) engine.VMHost {
		h := engine.VMHost{
			HostKey: name, Name: name, Zone: zone, Pool: "default", Version: "5.21.3", CPUOvercommit: 1, MemoryOvercommit: 1,
			Cores: engine.Amount{Total: 4}, MemoryMiB: engine.Amount{Total: 8192},
		}
		for _, f := range edit {
			f(&h)
		}
		return h
	}
	machine := func(id, zone string, edit ...func(*engine.Machine)) engine.Machine {
		m := engine.Machine{SystemID: id, Hostname: id, Zone: zone, Pool: "default", Status: engine.StatusReady, Cores: 4, MemoryMiB: 8192, Architecture: "amd64/generic"}
		for _, f := range edit {
			f(&m)
		}
		return m
	}
	full := func(h *engine.VMHost) { h.Cores.Used = 4 }
	stores := func(pool string, gb int64) func(*engine.VMHost) {
		return func(h *engine.VMHost) {
			h.StoragePools = []engine.StoragePool{{Name: pool, TotalBytes: 1000e9, AvailableBytes: gb * 1e9, Default: true}}
		}
	}
	cases := map[string]struct {
		reason string
		hosts  []engine.VMHost
		ready  []engine.Machine
		need   ZoneNeed
		want   []ZoneCapacity
		wrong  bool
	}{
		"None": {reason: "Nothing is nowhere.", want: []ZoneCapacity{}},
		"Both": {
			reason: "Hosts and machines of a zone count together; zones come sorted.",
			hosts:  []engine.VMHost{host("h1", "az2"), host("h2", "az1"), host("h3", "az2")}, ready: []engine.Machine{machine("m1", "az3"), machine("m2", "az2")},
			want: []ZoneCapacity{{"az1", 1, 0}, {"az2", 2, 1}, {"az3", 0, 1}},
		},
		"Full": {
			reason: "A host without a core left has no room, unless more is allowed than there is.",
			hosts:  []engine.VMHost{host("h1", "az1", full), host("h2", "az2", full, func(h *engine.VMHost) { h.CPUOvercommit = 2 })}, want: []ZoneCapacity{{"az2", 1, 0}},
		},
		"Unreached": {
			reason: "A host that was never reached has nothing.",
			hosts:  []engine.VMHost{host("h1", "az1", func(h *engine.VMHost) { h.Version, h.Cores.Total = "", 0 })}, want: []ZoneCapacity{},
		},
		"Size": {
			reason: "Room for a large VM is not in every zone.", need: ZoneNeed{Cores: 8, MemoryMiB: 4096},
			hosts: []engine.VMHost{host("h1", "az1"), host("h2", "az2", func(h *engine.VMHost) { h.Cores.Total = 16 })}, want: []ZoneCapacity{{"az2", 1, 0}},
		},
		"HugePages": {
			reason: "A host with memory and too few huge pages has no room for a VM on huge pages.", need: ZoneNeed{MemoryMiB: 2048, HugePages: true},
			hosts: []engine.VMHost{
				host("h1", "az1", func(h *engine.VMHost) { h.HugePagesMiB = engine.Amount{Total: 4096, Used: 2048} }),
				host("h2", "az2", func(h *engine.VMHost) { h.HugePagesMiB = engine.Amount{Total: 4096, Used: 4096} }), host("h3", "az3"),
			},
			want: []ZoneCapacity{{"az1", 1, 0}},
		},
		"NoHugePagesTold": {
			reason: "Where no host tells of huge pages, only LXD can refuse the VM.", need: ZoneNeed{HugePages: true},
			hosts: []engine.VMHost{host("h1", "az1")}, want: []ZoneCapacity{{"az1", 1, 0}},
		},
		"Pool": {
			reason: "Hosts and machines of another pool do not count.",
			need:   ZoneNeed{Placement: engine.Placement{Pool: "prod"}, Machines: engine.Selector{Pool: "prod"}},
			hosts:  []engine.VMHost{host("h1", "az1"), host("h2", "az2", func(h *engine.VMHost) { h.Pool = "prod" })},
			ready:  []engine.Machine{machine("m1", "az1"), machine("m2", "az3", func(m *engine.Machine) { m.Pool = "prod" })},
			want:   []ZoneCapacity{{"az2", 1, 0}, {"az3", 0, 1}},
		},
		"Architecture": {
			reason: "A host that cannot run the image has no room. One that tells no architecture may run it.", need: ZoneNeed{Architectures: []string{"arm64", "s390x"}},
			hosts: []engine.VMHost{
				host("h1", "az1", func(h *engine.VMHost) { h.Architectures = []string{"amd64/generic"} }),
				host("h2", "az2", func(h *engine.VMHost) { h.Architectures = []string{"arm64/generic"} }), host("h3", "az3"),
			},
			want: []ZoneCapacity{{"az2", 1, 0}, {"az3", 1, 0}},
		},
		"Disks": {
			reason: "Room in a storage pool is room for the disks, all that are in it, in the pool that is named or the default one.",
			need:   ZoneNeed{Disks: []engine.Disk{{Name: "root", SizeGB: 30}, {Name: "data", SizeGB: 30}}},
			hosts:  []engine.VMHost{host("h1", "az1", stores("a", 50)), host("h2", "az2", stores("a", 60))}, want: []ZoneCapacity{{"az2", 1, 0}},
		},
		"StoragePool": {
			reason: "Where there is no such storage pool there is no room.", need: ZoneNeed{Disks: []engine.Disk{{Name: "root", SizeGB: 8, Pool: "fast"}}},
			hosts: []engine.VMHost{host("h1", "az1", stores("fast", 50)), host("h2", "az2", stores("slow", 50))}, want: []ZoneCapacity{{"az1", 1, 0}},
		},
		"NamedHost": {
			reason: "Room on others is none where one is named.", need: ZoneNeed{Host: "h2"},
			hosts: []engine.VMHost{host("h1", "az1"), host("h2", "az2"), host("h3", "az3")}, want: []ZoneCapacity{{"az2", 1, 0}},
		},
		"NamedByID": {
			reason: "A host is named by its number, too.", need: ZoneNeed{Host: "7"},
			hosts: []engine.VMHost{host("h1", "az1"), host("h2", "az2", func(h *engine.VMHost) { h.ID = 7 })}, want: []ZoneCapacity{{"az2", 1, 0}},
		},
		"NamedBySystemID": {
			reason: "And by its machine.", need: ZoneNeed{Host: "abc123"},
			hosts: []engine.VMHost{host("h1", "az1"), host("h2", "az2", func(h *engine.VMHost) { h.MachineID = "abc123" })}, want: []ZoneCapacity{{"az2", 1, 0}},
		},
		"NamedHostFull": {reason: "A name makes no room.", need: ZoneNeed{Host: "h1"}, hosts: []engine.VMHost{host("h1", "az1", full), host("h2", "az2")}, want: []ZoneCapacity{}},
		"NoSuchHost":    {reason: "Where nothing is called so there is no room.", need: ZoneNeed{Host: "h9"}, hosts: []engine.VMHost{host("h1", "az1")}, want: []ZoneCapacity{}},
		"NotMetal": {
			reason: "VMs, machines that somebody locked, and those that are not Ready any more are nothing to choose.",
			ready: []engine.Machine{
				machine("m1", "az1", func(m *engine.Machine) { m.HostID = 3 }), machine("m2", "az1", func(m *engine.Machine) { m.Locked = true }),
				machine("m3", "az1", func(m *engine.Machine) { m.Status = engine.StatusAllocated }),
				machine("m4", "az1", func(m *engine.Machine) { m.Description = engine.DescriptionWithMark("", "default/web-1", false) }),
			},
			want: []ZoneCapacity{},
		},
		"Nonsense": {reason: "No zone has room for less than nothing.", need: ZoneNeed{Cores: -1}, hosts: []engine.VMHost{host("h1", "az1")}, wrong: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Room{Hosts: tc.hosts, Ready: tc.ready}.Zones(tc.need)
			if errors.Is(err, engine.ErrInvalid) != tc.wrong || (err != nil) != tc.wrong {
				t.Fatalf("%s\ngot %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); !tc.wrong && diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
