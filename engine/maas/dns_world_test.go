package maas

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// servedMAAS is a simulated MAAS on a real port, with its client.
type servedMAAS struct {
	*Client
	sim *sim.Server
}

func serveMAAS(t *testing.T, m sim.Model) servedMAAS {
	t.Helper()
	s := sim.StartServer(t, m)
	return servedMAAS{Client: clientOf(t, s, s.APIKey()), sim: s}
}

func clientOf(t *testing.T, s *sim.Server, key string) *Client {
	t.Helper()
	c, err := New(Config{
		URL: s.URL, APIKey: key, Rand: func() float64 { return 0 },
		Backoff: func(int) time.Duration { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// dnsModel is a MAAS with two domains, a machine and a subnet.
func dnsModel() sim.Model {
	return sim.Model{
		Domains: []string{"example.test"},
		Subnets: []sim.SubnetModel{{
			Name: "lan", CIDR: "10.77.0.0/24", DHCP: true, Gateway: "10.77.0.1", DynamicStart: "10.77.0.200", DynamicEnd: "10.77.0.250",
			ReservedStart: "10.77.0.100", ReservedEnd: "10.77.0.110",
		}},
		Machines: []sim.MachineModel{{Hostname: "m1", Cores: 4, MemoryMiB: 8192}},
	}
}

// callAsOperator calls the simulator as an operator does. The test fails if that fails.
func (w servedMAAS) callAsOperator(t *testing.T, method, path string, form url.Values) any {
	t.Helper()
	where, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	r := api.NewRequest(method, where.Path)
	r.Query, r.Form = where.Query(), form
	var value any
	if err := w.Client.api.Call(t.Context(), r, &value); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return value
}

// reservedByUser lists the addresses that MAAS keeps as reserved by a user.
func (w servedMAAS) reservedByUser(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, a := range w.callAsOperator(t, http.MethodGet, "ipaddresses/?all=true", nil).([]any) {
		if a := a.(map[string]any); a["alloc_type_name"] == "User reserved" {
			found = append(found, a["ip"].(string))
		}
	}
	slices.Sort(found)
	return found
}

// linkAddress gives the machine m1 a fixed address, and returns its system id.
func (w servedMAAS) linkAddress(t *testing.T, ip string) string {
	t.Helper()
	found, err := w.Machines.MachinesNamed(t.Context(), "m1")
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v", found, err)
	}
	subnets, err := w.Names.Subnets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Machines.SetInterfaceAddress(t.Context(), found[0].SystemID, found[0].Interfaces[0].ID, subnets[0], ip); err != nil {
		t.Fatal(err)
	}
	return found[0].SystemID
}

func parseAddresses(texts ...string) []netip.Addr {
	var found []netip.Addr
	for _, text := range texts {
		found = append(found, netip.MustParseAddr(text))
	}
	return found
}

var apiName = engine.DNSName{Label: "api-c1", Domain: "example.test"}
