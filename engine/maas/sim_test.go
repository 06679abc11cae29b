package maas

import (
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// newSimulatedClient is a client of a simulated MAAS.
func newSimulatedClient(t *testing.T, m sim.Model) *Client {
	t.Helper()
	s, err := sim.New(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return testClient(t, s.RoundTripper(), func(c *Config) { c.APIKey = s.APIKey() })
}

// bareMetalModel is a MAAS with three bare-metal machines, one of them in another zone.
func bareMetalModel() sim.Model {
	return sim.Model{
		Zones: []string{"az1"},
		Tags:  []string{"fast"},
		Machines: []sim.MachineModel{
			{Hostname: "m1", Cores: 4, MemoryMiB: 8192, Tags: []string{"fast"}},
			{Hostname: "m2", Cores: 4, MemoryMiB: 8192},
			{Hostname: "m3", Cores: 4, MemoryMiB: 8192, Zone: "az1", Status: "Deployed"},
		},
	}
}

func hostnames(machines []engine.Machine) []string {
	var names []string
	for _, m := range machines {
		names = append(names, m.Hostname)
	}
	return names
}

func TestFiltersOfTheSimulator(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		filter engine.MachineFilter
		want   int
	}{
		"All":        {"The zero filter.", engine.MachineFilter{}, 3},
		"Ready":      {"By status.", engine.MachineFilter{Status: engine.StatusReady}, 2},
		"Zone":       {"By zone.", engine.MachineFilter{Zone: "az1"}, 1},
		"Tag":        {"By tag.", engine.MachineFilter{Tags: []string{"fast"}, Status: engine.StatusReady}, 1},
		"UnknownTag": {"MAAS refuses a tag that it does not know.", engine.MachineFilter{Tags: []string{"fast", "none"}}, 0},
		"UnknownAll": {"And only lists nothing for other names.", engine.MachineFilter{Zone: "none", Pool: "none", Hosts: []string{"none"}}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newSimulatedClient(t, bareMetalModel())
			if got, err := c.Machines.MachinesWhere(t.Context(), tc.filter); err != nil || len(got) != tc.want {
				t.Errorf("%s: got %v, %v, want %d", tc.reason, hostnames(got), err, tc.want)
			}
		})
	}
}

// TestMetalOfTheSimulator prepares a bare-metal machine as a host.
func TestMetalOfTheSimulator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		c := newSimulatedClient(t, bareMetalModel())
		defer c.Close()
		ready, err := c.Machines.MachinesWhere(ctx, engine.MachineFilter{Status: engine.StatusReady, Tags: []string{"fast"}})
		if err != nil || len(ready) != 1 {
			t.Fatalf("ready: %v, %v", ready, err)
		}
		m := ready[0]
		if err := c.Machines.Annotate(ctx, m.SystemID, map[string]string{"role": "db"}); errorKinds(err) != "ErrConflict" {
			t.Errorf("annotated before it is acquired: %v", err)
		}
		steps := []error{
			c.Machines.Allocate(ctx, m.SystemID, "fleet"),
			c.Machines.Annotate(ctx, m.SystemID, map[string]string{"role": "db", "old": "x"}),
			c.Machines.Annotate(ctx, m.SystemID, map[string]string{"old": ""}),
			c.Machines.CreateBridge(ctx, m.SystemID, m.Interfaces[0].ID, "br0"),
		}
		if err := errors.Join(steps...); err != nil {
			t.Fatal(err)
		}
		m = onlyMachine(t, c, engine.MachineFilter{Agent: "fleet"})
		subnets, err := c.Names.Subnets(ctx)
		if err != nil || len(m.Bridges) != 1 || len(subnets) != 1 {
			t.Fatalf("bridges %v, subnets %v, %v", m.Bridges, subnets, err)
		}
		if err := c.Machines.SetInterfaceAddress(ctx, m.SystemID, m.Bridges[0].ID, subnets[0], ""); err != nil {
			t.Fatal(err)
		}
		checkBareMetal(t, onlyMachine(t, c, engine.MachineFilter{Agent: "fleet"}), subnets[0])
		if err := c.Machines.Allocate(ctx, m.SystemID, "other"); errorKinds(err) != "ErrConflict" {
			t.Errorf("allocated twice: %v", err)
		}
		if err := c.Machines.Allocate(ctx, "nosuch", "fleet"); errorKinds(err) != "ErrNotFound" {
			t.Errorf("allocated what is not there: %v", err)
		}
		if err := c.Machines.CreateBridge(ctx, m.SystemID, m.Interfaces[0].ID, "br1"); errorKinds(err) != "ErrInvalid" {
			t.Errorf("bridged twice: %v", err)
		}
	})
}

// onlyMachine returns the only machine that matches.
func onlyMachine(t *testing.T, c *Client, f engine.MachineFilter) engine.Machine {
	t.Helper()
	found, err := c.Machines.MachinesWhere(t.Context(), f)
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v, want one machine", hostnames(found), err)
	}
	return found[0]
}

func checkBareMetal(t *testing.T, m engine.Machine, subnet engine.Subnet) {
	t.Helper()
	nic := m.Interfaces[0]
	want := []engine.MachineBridge{{
		ID: m.Bridges[0].ID, Name: "br0", Parents: []string{nic.Name}, VLAN: subnet.VLAN,
		Links: []engine.InterfaceLink{{Mode: "auto", Subnet: subnet.CIDR}},
	}}
	if diff := cmp.Diff(want, m.Bridges); diff != "" {
		t.Errorf("bridges (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"role": "db"}, m.OwnerData); diff != "" {
		t.Errorf("owner data (-want +got):\n%s", diff)
	}
	if m.BootInterface != nic.ID || nic.VLAN != subnet.VLAN || subnet.VLAN == 0 || m.Architecture != "amd64/generic" {
		t.Errorf("boot interface %d of %v, VLAN %d, architecture %q", m.BootInterface, nic, subnet.VLAN, m.Architecture)
	}
}

// TestRegistrarOfTheSimulator registers, changes and removes a VM host.
func TestRegistrarOfTheSimulator(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	ctx := t.Context()
	c := newSimulatedClient(t, sim.Model{Zones: []string{"az1"}, Hosts: []sim.HostModel{{
		Name: "h1", Cores: 8, MemoryMiB: 16384, Unregistered: true,
		Address: "https://10.0.0.5:8443", TrustedCertificates: []string{pair.Certificate},
		StoragePools: []sim.StoragePoolModel{{Name: "default", SizeGB: 100}, {Name: "fast", SizeGB: 50}},
	}}})
	r := registration(pair)
	r.Zone, r.Tags, r.CPUOvercommit = "az1", []string{"blue"}, 4
	id, err := c.Hosts.Register(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Hosts.Register(ctx, r); errorKinds(err) != "ErrConflict" {
		t.Errorf("registered twice: %v", err)
	}
	if got, err := c.Hosts.Endpoint(ctx, id); err != nil || got != r.Endpoint {
		t.Errorf("endpoint %v, %v", got, err)
	}
	h := onlyHost(t, c)
	machine, err := c.Machines.Machine(ctx, h.MachineID)
	if err != nil || h.ID != id.ID || h.Version == "" || h.Zone != "az1" || h.CPUOvercommit != 4 || machine.Status != engine.StatusDeployed {
		t.Errorf("host %+v on %v, %v", h, machine, err)
	}
	steps := []error{
		c.Hosts.UpdateHost(ctx, id, engine.HostUpdate{Name: new("lxd2"), Zone: new("default"), MemoryOvercommit: new(0.0), DefaultStoragePool: new("fast"), Credentials: &pair}),
		c.Hosts.TagHost(ctx, id, "green"),
		c.Hosts.TagHost(ctx, id, "green"),
		c.Hosts.UntagHost(ctx, id, "blue"),
		c.Hosts.UntagHost(ctx, id, "blue"),
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	h = onlyHost(t, c)
	if diff := cmp.Diff([]string{"green", "pod-console-logging"}, h.Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if h.Name != "lxd2" || h.Zone != "default" || h.MemoryOvercommit != 0 || h.CPUOvercommit != 4 || !h.StoragePools[1].Default {
		t.Errorf("updated host %+v", h)
	}
	if err := c.Hosts.UpdateHost(ctx, id, engine.HostUpdate{Zone: new("none")}); errorKinds(err) != "ErrInvalid" {
		t.Errorf("moved to a zone that is not there: %v", err)
	}
	if err := errors.Join(c.Hosts.Unregister(ctx, id), c.Hosts.Unregister(ctx, id)); err != nil {
		t.Error(err)
	}
	if _, err := c.Hosts.Endpoint(ctx, id); errorKinds(err) != "ErrNotFound" {
		t.Errorf("endpoint of what is gone: %v", err)
	}
}

func onlyHost(t *testing.T, c *Client) engine.VMHost {
	t.Helper()
	hosts, err := c.Hosts.Hosts(t.Context())
	if err != nil || len(hosts) != 1 {
		t.Fatalf("got %v, %v, want one host", hosts, err)
	}
	return hosts[0]
}

// TestUnreachedServer: MAAS answers success for an LXD that it cannot reach, with an empty
// VM host.
func TestUnreachedServer(t *testing.T) {
	t.Parallel()
	c := newSimulatedClient(t, sim.Model{})
	if _, err := c.Hosts.Register(t.Context(), registration(newPair(t))); err != nil {
		t.Fatal(err)
	}
	if h := onlyHost(t, c); h.Version != "" || h.MachineID != "" {
		t.Errorf("got %+v", h)
	}
}

func TestRegistrarWithoutVMHosts(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	c := newSimulatedClient(t, sim.Model{MAASVersion: sim.VersionGone})
	if _, err := c.Hosts.Register(t.Context(), registration(pair)); errorKinds(err) != "ErrGone" {
		t.Errorf("Register: %v", err)
	}
	for name, do := range hostCalls {
		if err := do(t.Context(), c); errorKinds(err) != "ErrGone" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestComposeMakesTagsFirst makes several composes at once on a VM host with a tag that no
// machine has yet, as the first apply of a new fleet does.
func TestComposeMakesTagsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := sim.New(sim.Model{
			Latency: sim.Latency{Compose: time.Second},
			Hosts:   []sim.HostModel{{Name: "h1", Cores: 16, MemoryMiB: 65536, Tags: []string{"kvm"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := testClient(t, s.RoundTripper(), func(c *Config) { c.APIKey = s.APIKey() })
		defer c.Close()
		hosts, err := c.Hosts.Hosts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var composes sync.WaitGroup
		for n := range 5 {
			composes.Go(func() {
				comp := engine.Composition{
					Hostname: fmt.Sprintf("web-%d", n), Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{Name: "root", SizeGB: 8}, {Name: "data", SizeGB: 5}},
				}
				if _, err := c.Hosts.Compose(t.Context(), hosts[0], comp); err != nil {
					t.Errorf("%s: %v", comp.Hostname, err)
				}
			})
		}
		composes.Wait()
		if got := len(s.Instances()); got != 5 {
			t.Errorf("%d instances, want 5", got)
		}
		if got := len(s.Volumes("h1")); got != 5 {
			t.Errorf("%d volumes, want one for each data disk: 5", got)
		}
		calls := map[string]int{}
		for _, call := range s.Journal().Calls {
			calls[call.Route]++
		}
		if got := calls["GET tags/"] + calls["POST tags/"]; got != 2 {
			t.Errorf("%d calls for the tag, want one look and one tag for all composes: %v", got, calls)
		}
	})
}

// TestComposeRefusedForGood asks for a compose that LXD always refuses: a repeat would only
// leave one more volume.
func TestComposeRefusedForGood(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		name   string
		pinned []int
		kind   error
	}{
		"Exists":      {"LXD has an instance of the name, which MAAS does not know.", "ghost", nil, engine.ErrConflict},
		"DigitFirst":  {"LXD takes no such name.", "1web", nil, engine.ErrInvalid},
		"PinnedTwice": {"LXD takes a core once.", "web", []int{0, 0}, engine.ErrInvalid},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newSimulatedClient(t, sim.Model{Hosts: []sim.HostModel{{Name: "h1", Cores: 16, MemoryMiB: 65536, Instances: []string{"ghost"}}}})
			hosts, err := c.Hosts.Hosts(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Hosts.Compose(t.Context(), hosts[0], engine.Composition{Hostname: tc.name, Cores: 1, PinnedCores: tc.pinned, MemoryMiB: 1024})
			if !errors.Is(err, tc.kind) || !engine.IsTerminal(err) || errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("%s: got %v, want %v, which is not repeated", tc.reason, err, tc.kind)
			}
		})
	}
}

// TestComposeRefusedForNow composes while a rack controller is away: that is temporary.
func TestComposeRefusedForNow(t *testing.T) {
	t.Parallel()
	s, err := sim.New(sim.Model{Hosts: []sim.HostModel{{Name: "h1", Cores: 16, MemoryMiB: 65536}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c := testClient(t, s.RoundTripper(), func(c *Config) { c.APIKey = s.APIKey() })
	hosts, err := c.Hosts.Hosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetRackCondition(sim.ConditionUnreachable); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Hosts.Compose(t.Context(), hosts[0], engine.Composition{Hostname: "web", Cores: 1, MemoryMiB: 1024}); !errors.Is(err, engine.ErrUnavailable) || engine.IsTerminal(err) {
		t.Errorf("got %v, want an error that may pass", err)
	}
}

// TestObservedAddressIsNone reads a machine that no longer has an address. MAAS still shows
// its lease from commissioning.
func TestObservedAddressIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		c := newSimulatedClient(t, sim.Model{Hosts: []sim.HostModel{{Name: "h1", Cores: 16, MemoryMiB: 65536}}})
		defer c.Close()
		hosts, err := c.Hosts.Hosts(ctx)
		if err != nil {
			t.Fatal(err)
		}
		id, err := c.Hosts.Compose(ctx, hosts[0], engine.Composition{Hostname: "web", Cores: 1, MemoryMiB: 1024})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Machines.Commission(ctx, id); err != nil {
			t.Fatal(err)
		}
		m := engine.Machine{SystemID: id}
		for m.Status = engine.StatusCommissioning; m.Status == engine.StatusCommissioning; {
			time.Sleep(5 * time.Second)
			if m, err = c.Machines.Machine(ctx, m.SystemID); err != nil {
				t.Fatal(err)
			}
		}
		var shown []wireMachine
		r := api.NewGet("machines/")
		r.Query = url.Values{"id": {m.SystemID}}
		if err := c.api.List(ctx, r, &shown); err != nil || len(shown[0].IPAddresses) == 0 {
			t.Fatalf("MAAS shows %v, %v; want the observed lease", shown, err)
		}
		if len(m.IPAddresses) != 0 {
			t.Errorf("%s machine has %v, want none: the lease is not its own", m.StatusName, m.IPAddresses)
		}
	})
}

// TestKernelWithoutImage deploys a kernel of MAAS's default image, and one that the image
// does not have.
func TestKernelWithoutImage(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, kernel, want string
		kind                 error
	}{
		"Known":   {"It is the kernel that was wanted.", "hwe-22.04", "hwe-22.04", nil},
		"Unknown": {"MAAS would install another one, and say nothing.", "hwe-99.04", "", engine.ErrInvalid},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := bareMetalModel()
				m.Images = []string{"ubuntu/jammy"}
				c := newSimulatedClient(t, m)
				defer c.Close()
				ready, err := c.Machines.MachinesWhere(t.Context(), engine.MachineFilter{Tags: []string{"fast"}})
				if err != nil {
					t.Fatal(err)
				}
				err = c.Machines.Deploy(t.Context(), ready[0].SystemID, engine.Deployment{Kernel: tc.kernel})
				if !errors.Is(err, tc.kind) {
					t.Fatalf("%s: got %v, want %v", tc.reason, err, tc.kind)
				}
				now, err := c.Machines.Machine(t.Context(), ready[0].SystemID)
				if err != nil || now.Kernel != tc.want {
					t.Errorf("%s: kernel %q, %v, want %q", tc.reason, now.Kernel, err, tc.want)
				}
			})
		})
	}
}

// TestRegionMark: a MAAS has one mark, whoever makes it and whatever its address is.
func TestRegionMark(t *testing.T) {
	t.Parallel()
	s, err := sim.New(bareMetalModel())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	marks := make(chan string, 8)
	clients := make([]*Client, cap(marks))
	for n := range clients {
		c := testClient(t, s.RoundTripper(), func(c *Config) { c.APIKey = s.APIKey() })
		if mark, err := c.Tags.RegionMark(t.Context()); err != nil || mark != "" {
			t.Fatalf("before anything was made: %q, %v", mark, err)
		}
		clients[n] = c
	}
	for _, c := range clients {
		go func() {
			mark, err := c.Tags.MakeRegionMark(t.Context())
			if err != nil {
				t.Error(err)
			}
			marks <- mark
		}()
	}
	first := <-marks
	for range cap(marks) - 1 {
		if mark := <-marks; mark != first || mark == "" {
			t.Errorf("got %q and %q, want one mark", first, mark)
		}
	}
	if mark, err := newSimulatedClient(t, bareMetalModel()).Tags.MakeRegionMark(t.Context()); err != nil || mark == first {
		t.Errorf("another MAAS has the mark %q, %v, too", mark, err)
	}
}
