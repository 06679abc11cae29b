package engine_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestNetworkValidate wants one error, with a hint, for what no machine can have.
func TestNetworkValidate(t *testing.T) {
	t.Parallel()
	linked := func(links ...engine.LinkSpec) engine.NetworkSettings { return engine.NetworkSettings{Links: links} }
	mtu := func(n int) engine.NetworkSettings { return engine.NetworkSettings{MTU: n} }
	bond := func(b engine.BondSpec) *engine.NetworkSpec {
		return &engine.NetworkSpec{Bonds: map[string]engine.BondSpec{"bond0": b}, Bridges: map[string]engine.NetworkBridgeSpec{"br0": {Parent: "bond0"}}}
	}
	vlans := func(v map[string]engine.VLANSpec) *engine.NetworkSpec {
		return &engine.NetworkSpec{VLANs: v, Bridges: map[string]engine.NetworkBridgeSpec{"br0": {Parent: "eth0"}}}
	}
	bridge := func(name string, b engine.NetworkBridgeSpec) *engine.NetworkSpec {
		return &engine.NetworkSpec{Bridges: map[string]engine.NetworkBridgeSpec{name: b}}
	}
	on := func(links ...engine.LinkSpec) *engine.NetworkSpec {
		return bridge("br0", engine.NetworkBridgeSpec{Parent: "eth0", NetworkSettings: linked(links...)})
	}
	ip := netip.MustParseAddr("10.0.0.5")
	both := []string{"eth0", "eth1"}
	cases := map[string]struct {
		reason string
		spec   *engine.NetworkSpec
		field  string
		words  string
	}{
		"None":          {"Nothing is wanted.", nil, "", ""},
		"Bond":          {"What most racks have.", bond(engine.BondSpec{Interfaces: both, BondMode: engine.BondMode{Mode: "802.3ad", LACPRate: "fast", HashPolicy: "layer3+4"}, NetworkSettings: mtu(9000)}), "", ""},
		"TwoVLANs":      {"Each with its tag.", vlans(map[string]engine.VLANSpec{"eth0.5": {Parent: "eth0", VID: 5}, "eth0.6": {Parent: "eth0", VID: 6}}), "", ""},
		"Links":         {"Two addresses.", on(engine.LinkSpec{Mode: "auto", Subnet: "lan", DefaultGateway: true}, engine.LinkSpec{Mode: "static", Subnet: "lan", IP: ip}), "", ""},
		"NoBridge":      {"VMs need one.", &engine.NetworkSpec{}, "network.bridges", "no bridge"},
		"LongName":      {"MAAS takes 16, and Linux does not.", bridge("br-1234567890123", engine.NetworkBridgeSpec{Parent: "eth0"}), `network.bridges.br-1234567890123`, "16 characters"},
		"BadName":       {"With a space.", bridge("br 0", engine.NetworkBridgeSpec{Parent: "eth0"}), `network.bridges["br 0"]`, "not a valid interface name"},
		"NameTwice":     {"One name, two interfaces.", vlans(map[string]engine.VLANSpec{"br0": {Parent: "eth0", VID: 5}}), `network.bridges.br0`, "network.vlans"},
		"NoParent":      {"It must be on something.", bridge("br0", engine.NetworkBridgeSpec{}), `network.bridges.br0.parent`, "no name"},
		"OnItself":      {"A circle.", bridge("br0", engine.NetworkBridgeSpec{Parent: "br0"}), `network.bridges.br0.parent`, "br0"},
		"EmptyBond":     {"Nothing to join.", bond(engine.BondSpec{}), `network.bonds.bond0.interfaces`, "no interface"},
		"NICTwice":      {"In one bond.", bond(engine.BondSpec{Interfaces: []string{"eth0", "eth0"}}), `network.bonds.bond0.interfaces`, "twice"},
		"BondMode":      {"Linux has seven.", bond(engine.BondSpec{Interfaces: both, BondMode: engine.BondMode{Mode: "lacp"}}), `network.bonds.bond0.mode`, "802.3ad"},
		"RateNoLACP":    {"There is no LACP.", bond(engine.BondSpec{Interfaces: both, BondMode: engine.BondMode{Mode: "active-backup", LACPRate: "fast"}}), `network.bonds.bond0.lacp_rate`, "802.3ad"},
		"HashNoHashing": {"Nothing is hashed.", bond(engine.BondSpec{Interfaces: both, BondMode: engine.BondMode{HashPolicy: "layer2"}}), `network.bonds.bond0.xmit_hash_policy`, "balance-xor"},
		"MTU":           {"Linux takes no less.", bond(engine.BondSpec{Interfaces: both, NetworkSettings: mtu(100)}), `network.bonds.bond0.mtu`, "552"},
		"MTUAbove": {"MAAS would change the bond without a word.", &engine.NetworkSpec{
			Bonds:   map[string]engine.BondSpec{"bond0": {Interfaces: both, NetworkSettings: mtu(1500)}},
			Bridges: map[string]engine.NetworkBridgeSpec{"br0": {Parent: "bond0", NetworkSettings: mtu(9000)}},
		}, `network.bridges.br0.mtu`, "1500 of bond0"},
		"NICInBond": {"A bond takes all of it.", &engine.NetworkSpec{
			Bonds: map[string]engine.BondSpec{"bond0": {Interfaces: both}}, Bridges: map[string]engine.NetworkBridgeSpec{"br0": {Parent: "eth1"}},
		}, `network.bridges.br0.parent`, "below bond0"},
		"TwoBonds":     {"A NIC is in one.", &engine.NetworkSpec{Bonds: map[string]engine.BondSpec{"bond0": {Interfaces: both}, "bond1": {Interfaces: both}}, Bridges: map[string]engine.NetworkBridgeSpec{"br0": {Parent: "bond0"}}}, `network.bonds.bond1.interfaces`, "below bond0"},
		"TwoBridges":   {"On one NIC.", &engine.NetworkSpec{Bridges: map[string]engine.NetworkBridgeSpec{"br0": {Parent: "eth0"}, "br1": {Parent: "eth0"}}}, `network.bridges.br1.parent`, "below br0"},
		"NoTag":        {"0 is the untagged VLAN.", vlans(map[string]engine.VLANSpec{"eth0.0": {Parent: "eth0"}}), `network.vlans["eth0.0"].vlan`, "4094"},
		"TagTwice":     {"MAAS refuses the second.", vlans(map[string]engine.VLANSpec{"a": {Parent: "eth0", VID: 5}, "b": {Parent: "eth0", VID: 5}}), `network.vlans.b.vlan`, "VLAN 5"},
		"VLANOnVLAN":   {"MAAS has no such thing.", vlans(map[string]engine.VLANSpec{"a": {Parent: "eth0", VID: 5}, "b": {Parent: "a", VID: 6}}), `network.vlans.b.parent`, "VLAN"},
		"NoMode":       {"MAAS must be told.", on(engine.LinkSpec{Subnet: "lan"}), `network.bridges.br0.links[0].mode`, "mode"},
		"NoSubnet":     {"Of which?", on(engine.LinkSpec{Mode: "auto"}), `network.bridges.br0.links[0].subnet`, "subnet"},
		"StaticNoIP":   {"It has no address.", on(engine.LinkSpec{Mode: "static", Subnet: "lan"}), `network.bridges.br0.links[0].ip`, "no address"},
		"AutoIP":       {"MAAS chooses.", on(engine.LinkSpec{Mode: "auto", Subnet: "lan", IP: ip}), `network.bridges.br0.links[0].ip`, "takes no address"},
		"UpBesides":    {"Either or.", on(engine.LinkSpec{Mode: "auto", Subnet: "lan"}, engine.LinkSpec{Mode: "link_up"}), `network.bridges.br0.links[1].mode`, "other links"},
		"UpSubnet":     {"It has no address there.", on(engine.LinkSpec{Mode: "link_up", Subnet: "lan"}), `network.bridges.br0.links[0].subnet`, "no subnet"},
		"DHCPGateway":  {"The DHCP server tells it.", on(engine.LinkSpec{Mode: "dhcp", Subnet: "lan", DefaultGateway: true}), `network.bridges.br0.links[0].default_gateway`, "dhcp"},
		"GatewayTwice": {"A machine has one.", on(engine.LinkSpec{Mode: "auto", Subnet: "lan", DefaultGateway: true}, engine.LinkSpec{Mode: "auto", Subnet: "wan", DefaultGateway: true}), `network.bridges.br0.links[1].default_gateway`, "already"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.spec.Validate()
			var bad *engine.SpecError
			switch {
			case tc.field == "" && err != nil:
				t.Errorf("%s\ngot %v", tc.reason, err)
			case tc.field == "":
			case !errors.As(err, &bad) || bad.Field.String() != tc.field || bad.Hint == "" || !strings.Contains(bad.Error()+bad.Hint, tc.words):
				t.Errorf("%s\nwant an error of %s with a hint that says %q, got %v", tc.reason, tc.field, tc.words, err)
			}
		})
	}
}
