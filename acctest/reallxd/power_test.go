package reallxd_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
	"github.com/maaslxd/maaslxd/engine/lxd"
)

// TestRealPower is a VM on a MAAS without VM hosts. It is made in a real LXD
// and enlisted. MAAS's power driver starts, queries and stops it, with the key
// that it was given.
func TestRealPower(t *testing.T) {
	ctx := t.Context()
	key, err := fleetkey.LoadOrCreate(filepath.Join(t.TempDir(), "key.pem"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s := newMAASWithRealHost(t, func(m *sim.Model) {
		m.MAASVersion, m.Hosts[0].TrustedCertificates = sim.VersionGone, []string{key.Certificate}
	})
	c := newMAASClient(t, s)
	l := s.LXDs()[0]
	composer := lxd.NewComposer(lxd.ComposerConfig{
		Machines: c.Machines, Enlister: c.Enlister, Credentials: func(context.Context) (engine.Credentials, error) { return key.Credentials, nil },
		Servers: func(context.Context) ([]lxd.Server, error) {
			return []lxd.Server{{
				MachineID: l.MachineID, Name: "h1", Endpoint: engine.Endpoint{Address: l.Listening[0], Project: "maas"},
				Bridges: []lxd.Bridge{{Name: "maasbr0", Subnets: []engine.Subnet{{ID: 1, CIDR: "10.77.0.0/24", DHCP: true}}}},
			}}, nil
		},
	})
	id, err := composer.Compose(ctx, engine.VMHost{MachineID: l.MachineID}, engine.Composition{
		Hostname: "web", Cores: 1, MemoryMiB: 1024, Architecture: "amd64/generic", Key: "test/web", Marker: "maaslxd-abc",
		Disks: []engine.Disk{{Name: "root", SizeGB: 8}}, Interfaces: []engine.NIC{{Subnet: engine.Subnet{CIDR: "10.77.0.0/24"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	status := func() string { return queryLXD[api.Instance](t, "h1", "/1.0/instances/web?project=maas").Status }
	is := func(reason, power, inLXD string) {
		t.Helper()
		if got, err := c.Machines.QueryPower(ctx, id); err != nil || got != power {
			t.Errorf("%s MAAS asks LXD and says %q, %v, want %q", reason, got, err, power)
		}
		if lender.VMStartError() == nil && status() != inLXD {
			t.Errorf("%s in LXD it is %s, want %s", reason, status(), inLXD)
		}
	}
	if err := c.Machines.Commission(ctx, id); err != nil {
		t.Fatal(err)
	}
	is("While it commissions", "on", "Running")
	s.Settle()
	is("When it is Ready", "off", "Stopped")
	if err := composer.Decompose(ctx, id); err != nil {
		t.Error(err)
	}
	if left := queryLXD[[]string](t, "h1", "/1.0/instances?project=maas"); len(left) != 0 {
		t.Errorf("left in LXD: %v", left)
	}
	if err := lender.VMStartError(); err != nil {
		t.Skipf("no VM was started, so the power that MAAS saw was the simulator's word: %v", err)
	}
}
