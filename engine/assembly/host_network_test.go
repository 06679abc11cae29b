package assembly_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
	"github.com/maaslxd/maaslxd/engine"
)

// bondedWorld is hostWorld with a second NIC in m1.
func bondedWorld() sim.Model {
	m := hostWorld()
	m.Machines[0].MoreNICs = 1
	return m
}

// bondedNetwork is a bond of both NICs with a bridge on it, and an address on VLAN 100.
func bondedNetwork() *engine.NetworkSpec {
	return &engine.NetworkSpec{
		Bonds: map[string]engine.BondSpec{"bond0": {Interfaces: []string{"eth0", "eth1"}, BondMode: engine.BondMode{Mode: "802.3ad", HashPolicy: "layer3+4"}, NetworkSettings: engine.NetworkSettings{MTU: 9000}}},
		VLANs: map[string]engine.VLANSpec{"bond0.100": {Parent: "bond0", VID: 100, NetworkSettings: engine.NetworkSettings{
			MTU: 1500, Links: []engine.LinkSpec{{Mode: "static", Subnet: "tagged", IP: netip.MustParseAddr("10.90.0.5")}},
		}}},
		Bridges: map[string]engine.NetworkBridgeSpec{"br0": {Parent: "bond0"}},
	}
}

func bondedHost() engine.HostSpec {
	h := metalHost()
	h.Bridge, h.Network = nil, bondedNetwork()
	return h
}

// makeTaggedSubnet makes the subnet "tagged" on VLAN 100 of the fabric that m1 is connected to.
func (r testMAAS) makeTaggedSubnet(t *testing.T) {
	t.Helper()
	var subnets []struct {
		VLAN struct {
			FabricID int `json:"fabric_id"`
		} `json:"vlan"`
	}
	var made struct {
		ID int `json:"id"`
	}
	read := func(text string, into any) {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	read(r.call(t, "GET", "subnets/", nil), &subnets)
	read(r.call(t, "POST", fmt.Sprintf("fabrics/%d/vlans/", subnets[0].VLAN.FabricID), url.Values{"vid": {"100"}}), &made)
	r.call(t, "POST", "subnets/", url.Values{"name": {"tagged"}, "cidr": {"10.90.0.0/24"}, "vlan": {strconv.Itoa(made.ID)}})
	r.sim.ResetJournal()
}

// wantNICs checks the interfaces of m1: "br0 bridge bond0 auto". The mode * is any with an
// address: MAAS writes one down when it registers an LXD.
func (r testMAAS) wantNICs(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, n := range r.nics(t, "m1") {
		words := []string{n.Name, n.Type}
		if len(n.Parents) > 0 {
			words = append(words, strings.Join(n.Parents, "+"))
		}
		for _, l := range n.Links {
			words = append(words, l.Mode)
		}
		text := strings.Join(words, " ")
		for _, w := range want {
			if prefix, isAny := strings.CutSuffix(w, "*"); isAny && strings.HasPrefix(text, prefix) && !strings.HasSuffix(text, "link_up") {
				text = w
			}
		}
		got = append(got, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("interfaces of m1 (-want +got):\n%s", diff)
	}
}

// TestHostNetwork makes hosts with networks, and gives their machines back as they were.
func TestHostNetwork(t *testing.T) {
	nothing := func(*testing.T, testMAAS) {}
	link := func(mode, subnet string) engine.NetworkSettings {
		return engine.NetworkSettings{Links: []engine.LinkSpec{{Mode: mode, Subnet: subnet}}}
	}
	bond := func(t *testing.T, r testMAAS) {
		t.Helper()
		nics := r.nics(t, "m1")
		r.call(t, "POST", "nodes/"+r.machine(t, "m1").SystemID+"/interfaces/?op=create_bond", url.Values{
			"name": {"bond0"}, "bond_mode": {"802.3ad"}, "parents": {strconv.Itoa(nics[0].ID), strconv.Itoa(nics[1].ID)},
		})
	}
	lacp := map[string]engine.BondSpec{"bond0": {Interfaces: []string{"eth1", "eth0"}, BondMode: engine.BondMode{Mode: "802.3ad"}}}
	cases := map[string]struct {
		reason      string
		first       func(*testing.T, testMAAS)
		want        engine.NetworkSpec
		made, after []string
	}{
		"BridgeOnNIC": {
			"The bridge takes the link of the NIC over.", nothing,
			engine.NetworkSpec{Bridges: map[string]engine.NetworkBridgeSpec{"br0": {Parent: "eth0"}}},
			[]string{"eth0 physical", "eth1 physical link_up", "br0 bridge eth0 *"}, []string{"eth0 physical auto", "eth1 physical link_up"},
		},
		"TwoBridges": {
			"One for the VMs alone, on the VLAN; the host has its address on the other.", nothing,
			engine.NetworkSpec{
				VLANs: map[string]engine.VLANSpec{"eth1.100": {Parent: "eth1", VID: 100}},
				Bridges: map[string]engine.NetworkBridgeSpec{
					"br0": {Parent: "eth0", NetworkSettings: link("auto", "lan")}, "br100": {Parent: "eth1.100", NetworkSettings: link("link_up", "")},
				},
			},
			[]string{"eth0 physical", "eth1 physical link_up", "eth1.100 vlan eth1", "br0 bridge eth0 *", "br100 bridge eth1.100 link_up"},
			[]string{"eth0 physical auto", "eth1 physical link_up"},
		},
		"BondKept": {
			"An operator made it, and it stays; the bridge goes.", bond,
			engine.NetworkSpec{Bonds: lacp, Bridges: map[string]engine.NetworkBridgeSpec{"br0": {Parent: "bond0", NetworkSettings: link("auto", "lan")}}},
			[]string{"eth0 physical", "eth1 physical", "bond0 bond eth0+eth1", "br0 bridge bond0 *"},
			[]string{"eth0 physical", "eth1 physical", "bond0 bond eth0+eth1 *"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inHostsOf(t, bondedWorld(), func(t *testing.T, r testMAAS, p process) {
				r.makeTaggedSubnet(t)
				tc.first(t, r)
				spec := bondedHost()
				spec.Network = &tc.want
				spec.LXD.Profile.Network = "br0"
				h, err := p.applyHost(newHostRef, spec)
				if err != nil {
					t.Fatalf("%s\n%v", tc.reason, err)
				}
				r.wantNICs(t, tc.made...)
				if err := p.deleteHost(engine.Ref{Key: hostKey, SystemID: h.Machine.SystemID}); err != nil {
					t.Error(err)
				}
				r.wantNICs(t, tc.after...)
			})
		})
	}
}

// TestHostNetworkRefused wants one clear error before anything is made.
func TestHostNetworkRefused(t *testing.T) {
	with := func(change func(*engine.NetworkSpec)) *engine.NetworkSpec {
		n := bondedNetwork()
		change(n)
		return n
	}
	bridge := func(parent string, links ...engine.LinkSpec) *engine.NetworkSpec {
		return with(func(n *engine.NetworkSpec) {
			n.Bridges["br0"] = engine.NetworkBridgeSpec{Parent: parent, NetworkSettings: engine.NetworkSettings{Links: links}}
		})
	}
	vlan := func(v engine.VLANSpec) *engine.NetworkSpec {
		return with(func(n *engine.NetworkSpec) { n.VLANs["bond0.100"] = v })
	}
	static := func(subnet, ip string) *engine.NetworkSpec {
		return bridge("bond0", engine.LinkSpec{Mode: "static", Subnet: subnet, IP: netip.MustParseAddr(ip)})
	}
	cases := map[string]struct {
		reason string
		want   *engine.NetworkSpec
		field  string
		words  string
	}{
		"UnknownNIC":    {"A typo.", with(func(n *engine.NetworkSpec) { n.Bonds["bond0"] = engine.BondSpec{Interfaces: []string{"eth0", "eth7"}} }), `network.bonds.bond0.interfaces`, "eth7"},
		"UnknownParent": {"A typo.", bridge("bond7"), `network.bridges.br0.parent`, "bond7"},
		"UnknownVLAN":   {"MAAS has no such VLAN there.", vlan(engine.VLANSpec{Parent: "bond0", VID: 7}), `network.vlans["bond0.100"].vlan`, "100"},
		"UnknownSubnet": {"A typo.", bridge("bond0", engine.LinkSpec{Mode: "auto", Subnet: "mars"}), `network.bridges.br0.links[0].subnet`, "mars"},
		"OtherVLAN":     {"It is elsewhere.", bridge("bond0", engine.LinkSpec{Mode: "auto", Subnet: "tagged"}), `network.bridges.br0.links[0].subnet`, "not on the VLAN of br0"},
		"NoGateway":     {"MAAS knows none.", bridge("bond0", engine.LinkSpec{Mode: "auto", Subnet: "lan", DefaultGateway: true}), `network.bridges.br0.links[0].default_gateway`, "no gateway"},
		"Outside":       {"It is of another network.", static("lan", "10.1.2.3"), `network.bridges.br0.links[0].ip`, "10.1.2.3"},
		"Taken":         {"Somebody has it.", static("lan", "10.77.0.1"), `network.bridges.br0.links[0].ip`, "10.77.0.1"},
		"NoDHCP": {"VMs could not boot.", with(func(n *engine.NetworkSpec) {
			n.VLANs["bond0.100"] = engine.VLANSpec{Parent: "bond0", VID: n.VLANs["bond0.100"].VID}
			n.Bridges["br0"] = engine.NetworkBridgeSpec{Parent: "bond0.100"}
		}), "network.bridges", "DHCP"},
		"LinksBelow": {"What is below a bridge has no addresses.", with(func(n *engine.NetworkSpec) {
			n.Bridges["br0"] = engine.NetworkBridgeSpec{Parent: "bond0.100"}
		}), `network.bridges.br0.parent`, "bond0.100 has links"},
		"NoAddress": {"Nobody would reach its LXD.", with(func(n *engine.NetworkSpec) {
			n.VLANs = nil
			n.Bridges["br0"] = engine.NetworkBridgeSpec{Parent: "bond0", NetworkSettings: engine.NetworkSettings{Links: []engine.LinkSpec{{Mode: "link_up"}}}}
		}), "network", "address"},
		"NameTaken": {"The name is a NIC's.", &engine.NetworkSpec{Bridges: map[string]engine.NetworkBridgeSpec{"br0": {Parent: "eth0"}}, VLANs: map[string]engine.VLANSpec{"eth1": {Parent: "eth0", VID: 100}}}, `network.vlans.eth1`, "is a NIC"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inHostsOf(t, bondedWorld(), func(t *testing.T, r testMAAS, p process) {
				r.makeTaggedSubnet(t)
				spec := bondedHost()
				spec.Network = tc.want
				spec.LXD.Profile.Network = "br0"
				_, err := p.applyHost(newHostRef, spec)
				var bad *engine.SpecError
				if !errors.As(err, &bad) || bad.Field.String() != tc.field || bad.Hint == "" || !strings.Contains(err.Error()+bad.Hint, tc.words) {
					t.Errorf("%s\nwant an error about %s that says %s, with a hint, got %v", tc.reason, tc.field, tc.words, err)
				}
				if w := r.writes(); len(w) > 0 {
					t.Errorf("%s\n%v was sent", tc.reason, w)
				}
			})
		})
	}
}
