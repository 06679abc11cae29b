package identity_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/site"
)

// TestIdentitiesShareARegion: what is made as one user of a MAAS is known to who
// makes something as another one, however each writes MAAS's address. Here two
// VMs want one address, which MAAS shows as free until the first one has it.
func TestIdentitiesShareARegion(t *testing.T) {
	t.Parallel()
	s := sim.StartServer(t, sim.Model{
		MAASVersion: sim.Version37, Hosts: []sim.HostModel{{Name: "lxd1", Cores: 8, MemoryMiB: 16384}},
		Subnets: []sim.SubnetModel{{Name: "lan", CIDR: "10.77.0.0/24", DHCP: true}},
	})
	all := &infrav1.AllowedNamespaces{}
	w := newTestSites(t, nil, newIdentity("a", s.URL, "", all), newSecret(managerNamespace, "a-key", "apiKey", s.APIKey()),
		newIdentity("b", s.URL+"/", "", all), newSecret(managerNamespace, "b-key", "apiKey", s.APIKey()))
	step := func(identityName, name string) error {
		t.Helper()
		site, err := w.Site(t.Context(), newCluster(identityName))
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
	if spec, ok := errors.AsType[*engine.SpecError](err); !ok || !strings.Contains(spec.Message, "is the address of the VM web-1, which this run is still making") {
		t.Errorf("the second VM of one address: %v", err)
	}
	if n := len(s.Instances()); n != 1 {
		t.Errorf("%d VMs were made, want 1", n)
	}
}

// TestAddressesShareALedger: the identities of one MAAS share a ledger,
// whatever address each has, and so does the next manager. A row that was made
// by one address is seen by the other.
func TestAddressesShareALedger(t *testing.T) {
	t.Parallel()
	s := sim.StartServer(t, sim.Model{MAASVersion: sim.Version37, Hosts: []sim.HostModel{{Name: "lxd1", Cores: 8, MemoryMiB: 16384}}})
	all := &infrav1.AllowedNamespaces{}
	another := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	if another == s.URL {
		t.Fatalf("the simulator is at %s", s.URL)
	}
	w := newTestSites(t, nil, newIdentity("a", s.URL, "", all), newSecret(managerNamespace, "a-key", "apiKey", s.APIKey()),
		newIdentity("b", another, "", all), newSecret(managerNamespace, "b-key", "apiKey", s.APIKey()))
	ref := engine.Ref{Key: "team/c/web", Name: "web"}
	spec := engine.VMSpec{Name: "web", Cores: 1, MemoryMiB: 1024, Disks: []engine.Disk{{Name: "root", SizeGB: 8}}}
	at := func(identityName string) engine.Kind[engine.VMSpec, engine.VM] {
		t.Helper()
		found, err := w.Site(t.Context(), newCluster(identityName))
		if err != nil {
			t.Fatal(err)
		}
		return found.VMs
	}
	if _, err := at("a").Reconcile(t.Context(), ref, spec); err != nil {
		t.Fatal(err)
	}
	if n := s.Journal().Count("POST tags/"); n == 0 {
		t.Error("the MAAS got no mark")
	}
	if _, err := at("b").Reconcile(t.Context(), ref, spec); err != nil {
		t.Errorf("by another address: %v", err)
	}
	for _, address := range []string{s.URL, another} {
		if rows, err := w.Ledger.Region(site.RegionName(address)).Rows(t.Context()); len(rows) > 0 || err != nil {
			t.Errorf("the ledger has the region %s: %+v, %v", address, rows, err)
		}
	}
	if n := len(s.Instances()); n != 1 {
		t.Errorf("%d VMs were made, want 1", n)
	}
}
