package reallxd_test

import (
	"strings"
	"testing"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas"
)

// newMAASClient connects to the simulated MAAS.
func newMAASClient(t *testing.T, s *sim.Server) *maas.Client {
	t.Helper()
	c, err := maas.New(maas.Config{URL: s.URL, APIKey: s.APIKey(), Interval: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newMAASClientAndHost also returns the MAAS's host.
func newMAASClientAndHost(t *testing.T, s *sim.Server) (*maas.Client, engine.VMHost) {
	t.Helper()
	c := newMAASClient(t, s)
	hosts, err := c.Hosts.Hosts(t.Context())
	if err != nil || len(hosts) != 1 {
		t.Fatalf("%+v, %v", hosts, err)
	}
	return c, hosts[0]
}

// vmShape is what an instance shows of the wanted VM. Its volumes are listed by
// pool and size.
type vmShape struct {
	CPU, Memory, HugePages, SecureBoot string
	Disks, NICs                        map[string]string
}

func readVMShape(t *testing.T, name string) vmShape {
	t.Helper()
	i := queryLXD[api.Instance](t, "h1", "/1.0/instances/"+name+"?project=maas")
	s := vmShape{
		CPU: i.Config["limits.cpu"], Memory: i.Config["limits.memory"], HugePages: i.Config["limits.memory.hugepages"],
		SecureBoot: i.Config["security.secureboot"], Disks: map[string]string{}, NICs: map[string]string{},
	}
	for device, d := range i.Devices {
		switch {
		case d["type"] == "nic":
			s.NICs[device] = strings.TrimSpace(d["nictype"] + " " + d["parent"] + " " + d["boot.priority"])
		case d["source"] != "":
			v := queryLXD[api.StorageVolume](t, "h1", "/1.0/storage-pools/"+d["pool"]+"/volumes/custom/"+d["source"]+"?project=maas")
			s.Disks[device] = d["pool"] + " " + v.Config["size"] + " " + v.ContentType
		default:
			s.Disks[device] = d["pool"] + " " + d["size"] + " " + d["path"]
		}
	}
	return s
}

// TestRealCompose composes VMs of all offered shapes through MAAS, whose driver
// creates them in a real LXD. So a real LXD accepts what we ask of compose.
func TestRealCompose(t *testing.T) {
	lan, dmz := engine.Subnet{ID: 1}, engine.Subnet{ID: 2}
	cases := map[string]struct {
		reason string
		comp   engine.Composition
		want   vmShape
	}{
		"Least": {
			reason: "MAAS puts a VM on the first bridge that has DHCP.",
			comp:   engine.Composition{Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{Name: "root", SizeGB: 8}}},
			want: vmShape{
				CPU: "1", Memory: "1073741824", HugePages: "false", SecureBoot: "false",
				Disks: map[string]string{"root": "default 8000000000 /"}, NICs: map[string]string{"eth0": "bridged maasbr0 1"},
			},
		},
		"Disks": {
			reason: "Each disk is in its pool, those beyond the first as block volumes; a marker in the place of a pool changes nothing.",
			comp: engine.Composition{Cores: 2, MemoryMiB: 4096, Marker: "maaslxd-abc123", Disks: []engine.Disk{
				{Name: "root", SizeGB: 10, Pool: "fast"}, {Name: "data", SizeGB: 20}, {Name: "log", SizeGB: 5, Pool: "fast"},
			}},
			want: vmShape{
				CPU: "2", Memory: "4294967296", HugePages: "false", SecureBoot: "false",
				Disks: map[string]string{"root": "fast 10000000000 /", "disk1": "default 20000000000 block", "disk2": "fast 5000000000 block"},
				NICs:  map[string]string{"eth0": "bridged maasbr0 1"},
			},
		},
		"Interfaces": {
			reason: "It boots from the first.",
			comp:   engine.Composition{Cores: 1, MemoryMiB: 2048, Disks: []engine.Disk{{Name: "root", SizeGB: 8}}, Interfaces: []engine.NIC{{Subnet: dmz}, {Subnet: lan}}},
			want: vmShape{
				CPU: "1", Memory: "2147483648", HugePages: "false", SecureBoot: "false",
				Disks: map[string]string{"root": "default 8000000000 /"}, NICs: map[string]string{"eth0": "bridged maasbr1 1", "eth1": "bridged maasbr0"},
			},
		},
		"OnePinned": {
			reason: "A number alone would be how many cores.",
			comp:   engine.Composition{PinnedCores: []int{3}, MemoryMiB: 2048, HugePages: true, Disks: []engine.Disk{{Name: "root", SizeGB: 8}}},
			want: vmShape{
				CPU: "3-3", Memory: "2147483648", HugePages: "true", SecureBoot: "false",
				Disks: map[string]string{"root": "default 8000000000 /"}, NICs: map[string]string{"eth0": "bridged maasbr0 1"},
			},
		},
		"Pinned": {
			reason: "LXD takes a list.",
			comp:   engine.Composition{PinnedCores: []int{0, 2, 11}, MemoryMiB: 2048, Disks: []engine.Disk{{Name: "root", SizeGB: 8}}},
			want: vmShape{
				CPU: "0,2,11", Memory: "2147483648", HugePages: "false", SecureBoot: "false",
				Disks: map[string]string{"root": "default 8000000000 /"}, NICs: map[string]string{"eth0": "bridged maasbr0 1"},
			},
		},
	}
	s := newMAASWithRealHost(t)
	c, host := newMAASClientAndHost(t, s)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			comp := tc.comp
			comp.Hostname, comp.Architecture = strings.ToLower(name), "amd64/generic"
			id, err := c.Hosts.Compose(t.Context(), host, comp)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, readVMShape(t, comp.Hostname)); diff != "" {
				t.Errorf("%s: in LXD (-want +got):\n%s", tc.reason, diff)
			}
			s.Settle()
			if m, err := c.Machines.Machine(t.Context(), id); err != nil || m.Cores != max(comp.Cores, len(comp.PinnedCores)) || len(m.Interfaces) != max(len(comp.Interfaces), 1) {
				t.Errorf("%s: in MAAS %+v, %v", tc.reason, m, err)
			}
			if err := c.Hosts.Decompose(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			left := queryLXD[[]string](t, "h1", "/1.0/instances?project=maas")
			for _, pool := range []string{"default", "fast"} {
				left = append(left, queryLXD[[]string](t, "h1", "/1.0/storage-pools/"+pool+"/volumes/custom?project=maas")...)
			}
			if len(left) > 0 {
				t.Errorf("%s: left in LXD: %v", tc.reason, left)
			}
		})
	}
}

// TestRealRefresh is MAAS's own view of the LXD. The next refresh adopts an
// unknown instance, and removes a machine whose instance is gone.
func TestRealRefresh(t *testing.T) {
	s := newMAASWithRealHost(t)
	c, host := newMAASClientAndHost(t, s)
	id, err := c.Hosts.Compose(t.Context(), host, engine.Composition{Hostname: "web", Cores: 1, MemoryMiB: 1024, Architecture: "amd64/generic", Disks: []engine.Disk{{Name: "root", SizeGB: 8}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Settle()
	lender.LastServer("h1").LXC(t, "delete", "web", "--project", "maas")
	if err := s.AddInstance(sim.Instance{Host: "h1", Name: "stranger"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Hosts.SyncHost(t.Context(), host, ""); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range s.Machines() {
		names = append(names, m.Hostname)
		if m.SystemID == id {
			t.Error("the machine without an instance is still there")
		}
	}
	if diff := cmp.Diff([]string{"h1", "stranger"}, names); diff != "" {
		t.Errorf("machines (-want +got):\n%s", diff)
	}
}
