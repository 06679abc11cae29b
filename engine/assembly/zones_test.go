package assembly_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestZoneCapacity asks a MAAS with VM hosts, and one that has none any
// more, over HTTP.
func TestZoneCapacity(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		version string
		want    []fleet.ZoneCapacity
		calls   map[string]int // at most, for three questions
	}{
		"Hosts": {
			reason: "Two hosts and four Ready machines in three zones.", version: "3.7",
			want:  []fleet.ZoneCapacity{{Zone: "az1", Hosts: 1, Machines: 2}, {Zone: "az2", Machines: 1}, {Zone: "default", Hosts: 1, Machines: 1}},
			calls: map[string]int{"GET vm-hosts/": 1, "GET machines/": 3},
		},
		"Gone": {
			reason: "Only machines are left.", version: "gone",
			want:  []fleet.ZoneCapacity{{Zone: "az1", Machines: 2}, {Zone: "az2", Machines: 1}, {Zone: "default", Machines: 1}},
			calls: map[string]int{"GET vm-hosts/": 3, "GET machines/": 3},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := metalWorld()
			m.MAASVersion = tc.version
			if tc.version == "gone" {
				m.Hosts = nil
			}
			r := overHTTP(t, m)
			p := r.start(t, ledger.NewMemory(nil), 0, breakage{})
			r.sim.ResetJournal()
			for range 3 {
				hosts, err := p.engine.VMHosts(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ready, err := p.engine.ReadyMachines(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got, err := fleet.Room{Hosts: hosts, Ready: ready}.Zones(fleet.ZoneNeed{})
				if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
					t.Errorf("%s\nerror %v (-want +got):\n%s", tc.reason, err, diff)
				}
			}
			for _, route := range r.sim.Journal().Routes {
				if route.Calls > tc.calls[route.Route] {
					t.Errorf("%s\n%d times %s, want %d", tc.reason, route.Calls, route.Route, tc.calls[route.Route])
				}
			}
		})
	}
}
