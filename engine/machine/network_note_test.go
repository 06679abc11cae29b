package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// TestNetworkNotes writes what is noted into a description, and reads it again.
func TestNetworkNotes(t *testing.T) {
	t.Parallel()
	full := networkNotes{
		made: []string{"bond0", "bond0.100", "br0"},
		former: []formerNIC{
			{name: "eth0", mtu: 9000, gateway: "10.0.0.1", links: []engine.InterfaceLink{{Mode: "auto", Subnet: "10.0.0.0/24"}, {Mode: "static", Subnet: "10.1.0.0/24", IP: "10.1.0.5"}}},
			{name: "eth1", links: []engine.InterfaceLink{{Mode: "link_up"}}},
		},
	}
	cases := map[string]struct {
		reason, before, after string
		notes                 networkNotes
	}{
		"Empty":   {"There was nothing.", "", "network by maaslxd: bond0, bond0.100, br0\nnetwork before maaslxd: eth0, mtu 9000, gateway 10.0.0.1, auto 10.0.0.0/24, static 10.1.0.0/24 10.1.0.5\nnetwork before maaslxd: eth1, link_up", full},
		"Kept":    {"What people wrote stays.", "rack 7\n\nleft", "rack 7\n\nleft\nnetwork by maaslxd: br0", networkNotes{made: []string{"br0"}}},
		"Removed": {"The notes go alone.", "rack 7\nnetwork by maaslxd: br0\nfixed by maaslxd: 10.0.0.5", "rack 7\nfixed by maaslxd: 10.0.0.5", networkNotes{}},
		"AllGone": {"Nothing is left.", "network by maaslxd: br0", "", networkNotes{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tc.notes.writeInto(tc.before)
			if diff := cmp.Diff(tc.after, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.notes, networkNotesIn(got), cmp.AllowUnexported(networkNotes{}, formerNIC{})); diff != "" {
				t.Errorf("%s read again (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestWithoutOurNetwork holds what a plan sees of a machine whose host is to be replaced.
func TestWithoutOurNetwork(t *testing.T) {
	t.Parallel()
	auto := []engine.InterfaceLink{{Mode: "auto", Subnet: "10.0.0.0/24"}}
	child := func(kind engine.ChildKind, name string, links []engine.InterfaceLink, on ...string) engine.ChildInterface {
		return engine.ChildInterface{Kind: kind, Name: name, Parents: on, Links: links}
	}
	bonded := engine.Machine{
		Status: engine.StatusDeployed, Description: networkNotes{made: []string{"bond0", "br0"}, former: []formerNIC{{name: "eth0", links: auto}}}.writeInto(""),
		Interfaces: []engine.MachineInterface{{Name: "eth0"}, {Name: "eth1"}},
		Children:   []engine.ChildInterface{child("bond", "bond0", nil, "eth0", "eth1"), child("vlan", "bond0.5", nil, "bond0"), child("vlan", "eth2.5", nil, "eth2")},
	}
	bridged := engine.Machine{
		Status: engine.StatusDeployed, OwnerData: map[string]string{engine.KeyData: "fleet/kvm1"},
		Interfaces: []engine.MachineInterface{{Name: "eth0"}}, Children: []engine.ChildInterface{child("bridge", "br0", auto, "eth0")},
	}
	ready := bridged
	ready.Status, ready.OwnerData = engine.StatusReady, nil
	cases := map[string]struct {
		reason   string
		machine  engine.Machine
		children []string
		links    []engine.InterfaceLink // of eth0
	}{
		"Bonded":  {"The bond goes, with what stands on it; others stay.", bonded, []string{"eth2.5"}, auto},
		"Bridged": {"MAAS takes the bridge away with the release, and its links go down.", bridged, nil, auto},
		"Ready":   {"What a Ready machine has is an operator's.", ready, []string{"br0"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := WithoutOurNetwork(tc.machine)
			var names []string
			for _, c := range got.Children {
				names = append(names, c.Name)
			}
			if diff := cmp.Diff(tc.children, names); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.links, got.Interfaces[0].Links); diff != "" {
				t.Errorf("%s Links of eth0 (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
