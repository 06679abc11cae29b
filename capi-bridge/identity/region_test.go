package identity_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
)

// TestIdentitiesShareARegion: what is made as one user of a MAAS is known to who
// makes something as another one, however each writes MAAS's address. Here two
// VMs want one address, which MAAS shows as free until the first one has it.
func TestIdentitiesShareARegion(t *testing.T) {
	t.Parallel()
	s := sim.Start(t, sim.Model{
		MAASVersion: sim.Version37, Hosts: []sim.HostModel{{Name: "lxd1", Cores: 8, MemoryMiB: 16384}},
		Subnets: []sim.SubnetModel{{Name: "lan", CIDR: "10.77.0.0/24", DHCP: true}},
	})
	all := &infrav1.AllowedNamespaces{}
	w := newWorld(t, nil, ident("a", s.URL, "", all), secret(own, "a-key", "apiKey", s.APIKey()),
		ident("b", s.URL+"/", "", all), secret(own, "b-key", "apiKey", s.APIKey()))
	step := func(identityName, name string) error {
		t.Helper()
		site, err := w.Site(t.Context(), cluster(identityName))
		if err != nil {
			t.Fatal(err)
		}
		_, err = site.VMs.Reconcile(t.Context(), engine.Ref{Key: engine.Key(name), Name: name}, engine.VMSpec{
			Name: name, Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{Name: "root", SizeGB: 8}},
			Interfaces: []engine.Interface{{Name: "eth0", Subnet: "lan", IP: netip.MustParseAddr("10.77.0.42")}},
		})
		return err
	}
	if err := step("a", "web-1"); err != nil {
		t.Fatal(err)
	}
	err := step("b", "web-2")
	if spec, ok := errors.AsType[*engine.SpecError](err); !ok || !strings.Contains(spec.Message, "meant for the VM web-1") {
		t.Errorf("the second VM of one address: %v", err)
	}
	if n := len(s.Instances()); n != 1 {
		t.Errorf("%d VMs were made, want 1", n)
	}
}
