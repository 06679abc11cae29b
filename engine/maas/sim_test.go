package maas

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// simulated is a client of a simulated MAAS.
func simulated(t *testing.T, m sim.Model) *Client {
	t.Helper()
	s, err := sim.New(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return testClient(t, s.RoundTripper(), func(c *Config) { c.APIKey = s.APIKey() })
}

// metal is a MAAS with three bare machines, one of them elsewhere.
func metal() sim.Model {
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
			c := simulated(t, metal())
			if got, err := c.MachinesWhere(t.Context(), tc.filter); err != nil || len(got) != tc.want {
				t.Errorf("%s: got %v, %v, want %d", tc.reason, hostnames(got), err, tc.want)
			}
		})
	}
}

// TestMetalOfTheSimulator takes a bare machine through what a host needs.
func TestMetalOfTheSimulator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		c := simulated(t, metal())
		defer c.Close()
		ready, err := c.MachinesWhere(ctx, engine.MachineFilter{Status: engine.StatusReady, Tags: []string{"fast"}})
		if err != nil || len(ready) != 1 {
			t.Fatalf("ready: %v, %v", ready, err)
		}
		m := ready[0]
		if err := c.Annotate(ctx, m.SystemID, map[string]string{"role": "db"}); kinds(err) != "ErrConflict" {
			t.Errorf("annotated before it is acquired: %v", err)
		}
		steps := []error{
			c.Allocate(ctx, m.SystemID, "fleet"),
			c.Annotate(ctx, m.SystemID, map[string]string{"role": "db", "old": "x"}),
			c.Annotate(ctx, m.SystemID, map[string]string{"old": ""}),
			c.CreateBridge(ctx, m.SystemID, m.Interfaces[0].ID, "br0"),
		}
		if err := errors.Join(steps...); err != nil {
			t.Fatal(err)
		}
		m = only(t, c, engine.MachineFilter{Agent: "fleet"})
		subnets, err := c.Subnets(ctx)
		if err != nil || len(m.Bridges) != 1 || len(subnets) != 1 {
			t.Fatalf("bridges %v, subnets %v, %v", m.Bridges, subnets, err)
		}
		if err := c.Link(ctx, m.SystemID, m.Bridges[0].ID, subnets[0], ""); err != nil {
			t.Fatal(err)
		}
		checkMetal(t, only(t, c, engine.MachineFilter{Agent: "fleet"}), subnets[0])
		if err := c.Allocate(ctx, m.SystemID, "other"); kinds(err) != "ErrConflict" {
			t.Errorf("allocated twice: %v", err)
		}
		if err := c.Allocate(ctx, "nosuch", "fleet"); kinds(err) != "ErrNotFound" {
			t.Errorf("allocated what is not there: %v", err)
		}
		if err := c.CreateBridge(ctx, m.SystemID, m.Interfaces[0].ID, "br1"); kinds(err) != "ErrInvalid" {
			t.Errorf("bridged twice: %v", err)
		}
	})
}

// only lists the one machine that matches.
func only(t *testing.T, c *Client, f engine.MachineFilter) engine.Machine {
	t.Helper()
	found, err := c.MachinesWhere(t.Context(), f)
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v, want one machine", hostnames(found), err)
	}
	return found[0]
}

func checkMetal(t *testing.T, m engine.Machine, subnet engine.Subnet) {
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

// TestRegistrarOfTheSimulator takes a VM host from its registration to its
// end.
func TestRegistrarOfTheSimulator(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	ctx := t.Context()
	c := simulated(t, sim.Model{Zones: []string{"az1"}, Hosts: []sim.HostModel{{
		Name: "h1", Cores: 8, MemoryMiB: 16384, Unregistered: true,
		Address: "https://10.0.0.5:8443", TrustedCertificates: []string{pair.Certificate},
		StoragePools: []sim.StoragePoolModel{{Name: "default", SizeGB: 100}, {Name: "fast", SizeGB: 50}},
	}}})
	r := registration(pair)
	r.Zone, r.Tags, r.CPUOvercommit = "az1", []string{"blue"}, 4
	id, err := c.Register(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Register(ctx, r); kinds(err) != "ErrConflict" {
		t.Errorf("registered twice: %v", err)
	}
	if got, err := c.Endpoint(ctx, id); err != nil || got != r.Endpoint {
		t.Errorf("endpoint %v, %v", got, err)
	}
	h := theHost(t, c)
	machine, err := c.Machine(ctx, h.MachineID)
	if err != nil || h.ID != id.ID || h.Version == "" || h.Zone != "az1" || h.CPUOvercommit != 4 || machine.Status != engine.StatusDeployed {
		t.Errorf("host %+v on %v, %v", h, machine, err)
	}
	steps := []error{
		c.UpdateHost(ctx, id, engine.HostUpdate{Name: new("lxd2"), Zone: new("default"), MemoryOvercommit: new(0.0), DefaultStoragePool: new("fast"), Credentials: &pair}),
		c.TagHost(ctx, id, "green"),
		c.TagHost(ctx, id, "green"),
		c.UntagHost(ctx, id, "blue"),
		c.UntagHost(ctx, id, "blue"),
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	h = theHost(t, c)
	if diff := cmp.Diff([]string{"green", "pod-console-logging"}, h.Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if h.Name != "lxd2" || h.Zone != "default" || h.MemoryOvercommit != 0 || h.CPUOvercommit != 4 || !h.StoragePools[1].Default {
		t.Errorf("updated host %+v", h)
	}
	if err := c.UpdateHost(ctx, id, engine.HostUpdate{Zone: new("none")}); kinds(err) != "ErrInvalid" {
		t.Errorf("moved to a zone that is not there: %v", err)
	}
	if err := errors.Join(c.Unregister(ctx, id), c.Unregister(ctx, id)); err != nil {
		t.Error(err)
	}
	if _, err := c.Endpoint(ctx, id); kinds(err) != "ErrNotFound" {
		t.Errorf("endpoint of what is gone: %v", err)
	}
}

func theHost(t *testing.T, c *Client) engine.VMHost {
	t.Helper()
	hosts, err := c.Hosts(t.Context())
	if err != nil || len(hosts) != 1 {
		t.Fatalf("got %v, %v, want one host", hosts, err)
	}
	return hosts[0]
}

// TestUnreachedServer is what MAAS answers with success: a VM host without
// anything.
func TestUnreachedServer(t *testing.T) {
	t.Parallel()
	c := simulated(t, sim.Model{})
	if _, err := c.Register(t.Context(), registration(newPair(t))); err != nil {
		t.Fatal(err)
	}
	if h := theHost(t, c); h.Version != "" || h.MachineID != "" {
		t.Errorf("got %+v", h)
	}
}

func TestRegistrarWithoutVMHosts(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	c := simulated(t, sim.Model{MAASVersion: sim.VersionGone})
	if _, err := c.Register(t.Context(), registration(pair)); kinds(err) != "ErrGone" {
		t.Errorf("Register: %v", err)
	}
	for name, do := range hostCalls {
		if err := do(t.Context(), c); kinds(err) != "ErrGone" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
