package maas

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

func TestComposeForm(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		comp   engine.Composition
		ids    composeIDs
		want   string
	}{
		"Least": {
			"What is not wanted is MAAS's to choose; commissioning is never left to it.",
			engine.Composition{Hostname: "web1", Cores: 2, MemoryMiB: 2048},
			composeIDs{},
			"cores=2&hostname=web1&memory=2048&skip_commissioning=true",
		},
		"All": {
			"Every field has its parameter.",
			engine.Composition{
				Hostname: "web1", Cores: 2, MemoryMiB: 2048, HugePages: true, Architecture: "amd64/generic",
				Disks:      []engine.Disk{{Name: "root", SizeGB: 8, Pool: "default"}, {Name: "data", SizeGB: 50, Pool: "fast"}},
				Interfaces: []engine.NIC{{Subnet: engine.Subnet{ID: 1}}, {Subnet: engine.Subnet{ID: 7}}},
				Marker:     "maaslxd-abc",
			},
			composeIDs{zone: "1", pool: "0", domain: "0"},
			"architecture=amd64/generic&cores=2&domain=0&hostname=web1&hugepages_backed=true&interfaces=eth0:subnet=1;eth1:subnet=7" +
				"&memory=2048&pool=0&skip_commissioning=true&storage=root:8(default,maaslxd-abc),disk1:50(fast)&zone=1",
		},
		"Pinned": {
			"Pinned cores are a repeated parameter and count themselves.",
			engine.Composition{Hostname: "web1", Cores: 9, PinnedCores: []int{0, 3}, MemoryMiB: 1024},
			composeIDs{},
			"hostname=web1&memory=1024&pinned_cores=0&pinned_cores=3&skip_commissioning=true",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := url.QueryUnescape(composeForm(tc.comp, tc.ids).Encode())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStorageOfACompose(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		disks  []engine.Disk
		marker string
		want   string
	}{
		"None":         {"MAAS makes a root disk of its own size.", nil, "m", ""},
		"Bare":         {"No pool, no marker, no parentheses.", []engine.Disk{{SizeGB: 8}}, "", "root:8"},
		"Marker":       {"The marker needs no pool.", []engine.Disk{{SizeGB: 8}}, "m", "root:8(m)"},
		"MarkerOnRoot": {"One marker is enough.", []engine.Disk{{SizeGB: 8, Pool: "a"}, {SizeGB: 1}, {SizeGB: 2, Pool: "b"}}, "m", "root:8(a,m),disk1:1,disk2:2(b)"},
		"OddName":      {"A disk's name is the caller's affair.", []engine.Disk{{Name: "r(o,o:t", SizeGB: 8}}, "", "root:8"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := storageConstraints(tc.disks, tc.marker); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// composeReplies has everything that a composition may name.
func composeReplies() map[string]func() *http.Response {
	return map[string]func() *http.Response{
		"GET zones/":         jsonReply([]wireNamed{{1, "default"}, {6, "az1"}}),
		"GET resourcepools/": jsonReply([]wireNamed{{0, "default"}, {3, "gold"}}),
		"GET domains/":       jsonReply([]wireNamed{{0, "maas"}}),
		"GET subnets/": jsonReply([]wireSubnet{
			{ID: 1, Name: "lan", CIDR: "10.77.0.0/24"}, {ID: 2, Name: "twin", CIDR: "10.78.0.0/24"},
			{ID: 3, Name: "twin", CIDR: "10.79.0.0/24"}, {ID: 4, Name: "10.77.0.0/24", CIDR: "10.80.0.0/24"},
		}),
		"POST vm-hosts/8/?op=compose": jsonReply(map[string]string{"system_id": "abc123"}),
	}
}

func TestComposeResolvesNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newRouteFake(composeReplies())
		c := testClient(t, f)
		id, err := c.Hosts.Compose(t.Context(), engine.VMHost{ID: 8}, engine.Composition{
			Hostname: "web1", Cores: 1, MemoryMiB: 1024, Zone: "az1", Pool: "default", Domain: "maas",
			Interfaces: []engine.NIC{{Subnet: engine.Subnet{ID: 1}}, {Subnet: engine.Subnet{ID: 1}}, {Subnet: engine.Subnet{ID: 3}}},
		})
		if err != nil || id != "abc123" {
			t.Fatalf("got %q, %v", id, err)
		}
		got := f.requests()
		form := got[len(got)-1].Form
		want := map[string]string{"zone": "6", "pool": "0", "domain": "0", "interfaces": "eth0:subnet=1;eth1:subnet=1;eth2:subnet=3"}
		for name, value := range want {
			if form.Get(name) != value {
				t.Errorf("%s is %q, want %q", name, form.Get(name), value)
			}
		}
		if len(got) != 4 {
			t.Errorf("requests %v, want three lists and one compose", f.routes())
		}
	})
}

func TestUnknownNamesAreNotComposed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		comp   engine.Composition
	}{
		"Zone":   {"Names of zones are the user's.", engine.Composition{Zone: "az9"}},
		"Pool":   {"The same for pools.", engine.Composition{Pool: "lead"}},
		"Domain": {"The same for domains.", engine.Composition{Domain: "example"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newRouteFake(composeReplies())
				tc.comp.Hostname = "web1"
				_, err := testClient(t, f).Hosts.Compose(t.Context(), engine.VMHost{ID: 8}, tc.comp)
				if !errors.Is(err, engine.ErrNotFound) || !engine.IsTerminal(err) {
					t.Fatalf("%s: got %#v", tc.reason, err)
				}
				for _, s := range f.requests() {
					if s.Method == http.MethodPost {
						t.Errorf("%s: it composed", tc.reason)
					}
				}
			})
		})
	}
}

// TestANewZoneIsFound: the list is cached, but the zone was made since.
func TestANewZoneIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := composeReplies()
		c := testClient(t, newRouteFake(table))
		if _, err := c.Names.Zones(t.Context()); err != nil {
			t.Fatal(err)
		}
		table["GET zones/"] = jsonReply([]wireNamed{{1, "default"}, {9, "new"}})
		time.Sleep(2 * time.Second)
		comp := engine.Composition{Hostname: "web1", Cores: 1, MemoryMiB: 1024, Zone: "new"}
		if _, err := c.Hosts.Compose(t.Context(), engine.VMHost{ID: 8}, comp); err != nil {
			t.Error(err)
		}
	})
}

func TestComposeOutlivesMAAS(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTransport{answer: func(r *http.Request, _ sentRequest) (*http.Response, error) { return nil, pauseRequest(r, time.Hour) }}
		c := testClient(t, f)
		began := time.Now()
		_, err := c.Hosts.Compose(t.Context(), engine.VMHost{ID: 8}, engine.Composition{Hostname: "web1", Cores: 1, MemoryMiB: 1024})
		if took := time.Since(began); took != 150*time.Second || errorKinds(err) != "ErrUnavailable ErrUnclear" {
			t.Errorf("got %v after %s", err, took)
		}
	})
}

func TestListVMHosts(t *testing.T) {
	t.Parallel()
	const hosts = `[{"id":8,"name":"lxd1","type":"lxd","version":"5.21.1","zone":{"id":6,"name":"az1"},"pool":{"id":0,"name":"default"},
		"tags":["ssd","pod-console-logging"],"host":{"system_id":"hhh111","__incomplete__":true},"architectures":["amd64/generic"],
		"total":{"cores":8,"memory":24576,"local_storage":1},"used":{"cores":5,"memory":5120,"local_storage":1},
		"available":{"cores":-5,"memory":0},"cpu_over_commit_ratio":1.5,"memory_over_commit_ratio":1.0,"default_macvlan_mode":null,
		"storage_pools":[{"id":"default","name":"default","type":"zfs","path":"/x","total":200,"used":50,"available":150,"default":true}]},
		{"id":9,"name":"never-reached","type":"lxd","version":"","host":{"system_id":null,"__incomplete__":true},"storage_pools":[]},
		{"id":10,"name":"kvm","type":"virsh"}]`
	got, err := testClient(t, newConstantFake(200, "application/json", hosts)).Hosts.Hosts(t.Context())
	want := []engine.VMHost{
		{
			ID: 8, Name: "lxd1", Version: "5.21.1", Zone: "az1", Pool: "default",
			Tags: []string{"pod-console-logging", "ssd"}, Cores: engine.Amount{Total: 8, Used: 5},
			MemoryMiB: engine.Amount{Total: 24576, Used: 5120}, CPUOvercommit: 1.5, MemoryOvercommit: 1,
			StoragePools:  []engine.StoragePool{{Name: "default", Driver: "zfs", TotalBytes: 200, AvailableBytes: 150, Default: true}},
			Architectures: []string{"amd64/generic"}, MachineID: "hhh111", HostKey: "hhh111",
		},
		{
			ID: 9, Name: "never-reached", HostKey: "/vm-host-9",
			Err: &engine.Error{
				Type: engine.HostUnavailable, Host: "never-reached", Message: "MAAS has never reached its LXD",
				Hint: "See the VM host's page in MAAS; its LXD must listen, and trust MAAS's certificate.",
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("hosts (-want +got), %v:\n%s", err, diff)
	}
}

// TestHostOf asks for the hosts of VMs, and counts the listings.
func TestHostOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list := []wireHost{newWireHost(9, "hhh111"), newWireHost(8, "hhh111")}
		f := newRouteFake(map[string]func() *http.Response{"GET vm-hosts/": func() *http.Response { return jsonReply(list)() }})
		c := testClient(t, f)
		wanted := func(id int, key string, listings int) {
			t.Helper()
			host, err := c.Hosts.HostOf(t.Context(), engine.Machine{Hostname: "web1", HostID: id})
			if err != nil || host.ID != id || host.HostKey != key || len(f.requests()) != listings {
				t.Errorf("VM host %d is %+v, %v, after %d listings; want %s after %d", id, host, err, len(f.requests()), key, listings)
			}
		}
		wanted(8, "hhh111", 1)
		wanted(9, "hhh111/vm-host-9", 1) // a second one on the same machine
		time.Sleep(time.Hour)
		wanted(8, "hhh111", 1)
		if _, err := c.Hosts.HostOf(t.Context(), engine.Machine{}); !errors.Is(err, engine.ErrConflict) {
			t.Errorf("bare metal is on no host: %v", err)
		}
		if _, err := c.Hosts.HostOf(t.Context(), engine.Machine{HostID: 10}); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("a host that is not listed says nothing of its VMs: %v", err)
		}
		list = append(list, newWireHost(10, ""))
		time.Sleep(2 * time.Second)
		wanted(10, "/vm-host-10", 3)
		list[2] = newWireHost(10, "hhh222")
		time.Sleep(2 * time.Second)
		wanted(10, "hhh222", 4)
	})
}

func newWireHost(id int, machine string) wireHost {
	h := wireHost{ID: id, Name: fmt.Sprint("lxd", id), Type: "lxd"}
	h.Machine.SystemID = machine
	return h
}

func TestDecomposeOfNothing(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		answer *fakeTransport
		want   string
	}{
		"Absent":  {"It is gone, that was the wish.", newConstantFake(404, "text/plain", "No Machine matches the given query."), ""},
		"Proxy":   {"A proxy's 404 says nothing about the machine.", newConstantFake(404, "text/html", "x"), "ErrUnavailable"},
		"Deleted": {"204 is success.", newConstantFake(204, "text/plain", ""), ""},
		"Locked":  {"A lock is respected.", newConstantFake(403, "text/plain", ""), "ErrForbidden"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := testClient(t, tc.answer).Hosts.Decompose(context.Background(), "abc123"); errorKinds(err) != tc.want || (err == nil) != (tc.want == "") {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}

// TestComposeOfNoMachine: an answer that names no machine does not prove that none was
// made.
func TestComposeOfNoMachine(t *testing.T) {
	t.Parallel()
	c := testClient(t, newRouteFake(map[string]func() *http.Response{
		"GET zones/": jsonReply([]wireNamed{{ID: 1, Name: "az1"}}), "GET resourcepools/": jsonReply([]wireNamed{{ID: 1, Name: "default"}}),
		"GET domains/": jsonReply([]wireNamed{{ID: 1, Name: "maas"}}), "POST vm-hosts/8/?op=compose": jsonReply(map[string]string{}),
	}))
	_, err := c.Hosts.Compose(t.Context(), engine.VMHost{ID: 8}, engine.Composition{Hostname: "web-1"})
	if !errors.Is(err, engine.ErrUnclear) {
		t.Errorf("got %v, want ErrUnclear", err)
	}
}
