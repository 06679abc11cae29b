package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// TestResolveDNSName: MAAS's DNS knows the names of users and of machines.
func TestResolveDNSName(t *testing.T) {
	t.Parallel()
	c := newMAASClient(t, sim.Model{Domains: []string{"example.com"}, Machines: []sim.MachineModel{{Hostname: "m1"}}})
	c.mustCall("POST", "dnsresources/", "fqdn=api.example.com", "ip_addresses=10.77.0.9 10.77.0.8")
	c.deployMetal("m1", "#cloud-config\n")
	cases := map[string]struct {
		reason string
		name   string
		want   []string
	}{
		"Made":    {"All addresses of a name that a user made.", "api.example.com", []string{"10.77.0.8", "10.77.0.9"}},
		"Dot":     {"Resolvers end names with a dot, and do not care for case.", "API.example.com.", []string{"10.77.0.8", "10.77.0.9"}},
		"Machine": {"A machine's own name.", "m1.maas", c.sim.Machines()[0].IPAddresses},
		"Unknown": {"Nobody made this name.", "other.example.com", []string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, c.sim.Resolve(tc.name)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
