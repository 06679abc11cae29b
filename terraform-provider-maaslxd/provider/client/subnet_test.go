package client

import (
	"context"
	"errors"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

func TestSameSubnet(t *testing.T) {
	t.Parallel()
	known := []engine.Subnet{
		{ID: 1, Name: "lan", CIDR: "10.0.0.0/24"}, {ID: 2, Name: "twice", CIDR: "10.1.0.0/24"},
		{ID: 3, Name: "twice", CIDR: "10.2.0.0/24", VLAN: 7}, {ID: 4, Name: "10.0.0.0/24", CIDR: "10.3.0.0/24"},
	}
	cases := map[string]struct {
		reason    string
		want, had texttype.Subnet
		err       error
		same      bool
		now       Place
	}{
		"Equal":     {"Equal texts need no call.", texttype.SubnetType.FromText("x"), texttype.SubnetType.FromText("x"), errors.New("away"), true, Place{}},
		"NameCIDR":  {"A name and a CIDR are the same subnet.", texttype.SubnetType.FromText("10.0.0.0/24"), texttype.SubnetType.FromText("lan"), nil, true, Place{}},
		"Other":     {"Two names are two subnets.", texttype.SubnetType.FromText("10.1.0.0/24"), texttype.SubnetType.FromText("lan"), nil, false, Place{}},
		"Ambiguous": {"A name of two subnets means neither.", texttype.SubnetType.FromText("twice"), texttype.SubnetType.FromText("10.1.0.0/24"), nil, false, Place{}},
		"CIDRFirst": {"A CIDR is a CIDR, whatever a subnet is called.", texttype.SubnetType.FromText("10.0.0.0/24"), texttype.SubnetType.FromText("10.3.0.0/24"), nil, false, Place{}},
		"Gone":      {"Two subnets that MAAS does not know are not the same.", texttype.SubnetType.FromText("a"), texttype.SubnetType.FromText("b"), nil, false, Place{}},
		"Imported":  {"An unknown former value is not compared.", texttype.SubnetType.FromText("lan"), texttype.Subnet{}, nil, false, Place{}},
		"Unknown":   {"An unknown planned value is not compared.", texttype.SubnetType.NewUnknown(), texttype.SubnetType.FromText("lan"), nil, false, Place{}},
		"Spelling":  {"IPv6 has many spellings.", texttype.SubnetType.FromText("FD00:0::/64"), texttype.SubnetType.FromText("fd00::/64"), errors.New("away"), true, Place{}},
		"Renamed":   {"Somebody renamed the subnet where the object is.", texttype.SubnetType.FromText("lan"), texttype.SubnetType.FromText("office"), nil, true, Place{Subnet: "10.0.0.0/24"}},
		"Moved":     {"The object is elsewhere, and so stays as the user described it.", texttype.SubnetType.FromText("lan"), texttype.SubnetType.FromText("office"), nil, false, Place{Subnet: "10.1.0.0/24"}},
		"Default":   {"The user names the subnet that MAAS chose.", texttype.SubnetType.FromText("lan"), texttype.Subnet{}, nil, true, Place{Subnet: "10.0.0.0/24"}},
		"Up":        {"An interface without addresses is only on a VLAN.", texttype.SubnetType.FromText("10.2.0.0/24"), texttype.SubnetType.FromText("office"), nil, true, Place{VLAN: 7}},
		"OtherVLAN": {"It is on another VLAN.", texttype.SubnetType.FromText("10.2.0.0/24"), texttype.SubnetType.FromText("office"), nil, false, Place{VLAN: 8}},
		"NoVLAN":    {"MAAS does not tell its VLAN.", texttype.SubnetType.FromText("lan"), texttype.SubnetType.FromText("office"), nil, false, Place{}},
		"NoMAAS":    {"Where MAAS cannot be asked, texts are compared.", texttype.SubnetType.FromText("10.0.0.0/24"), texttype.SubnetType.FromText("lan"), errors.New("away"), false, Place{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := func(context.Context) ([]engine.Subnet, error) { return known, tc.err }
			if got := IsSameSubnet(t.Context(), list, tc.want, tc.had, func() Place { return tc.now }); got != tc.same {
				t.Errorf("%s\ngot %v, want %v", tc.reason, got, tc.same)
			}
		})
	}
}

// TestPlaceOf finds the places of addresses by their links. An address that cannot be told for certain has
// none: then a change is a change.
func TestPlaceOf(t *testing.T) {
	t.Parallel()
	const a, b, c = "10.1.0.0/24", "10.2.0.0/24", "10.3.0.0/24"
	link := func(mode, subnet, ip string) engine.InterfaceLink {
		return engine.InterfaceLink{Mode: mode, Subnet: subnet, IP: ip}
	}
	none := link(engine.LinkUp, "", "")
	cases := map[string]struct {
		reason string
		links  []engine.InterfaceLink
		which  WhichAddress
		want   Place
	}{
		"First":      {"Its only address.", []engine.InterfaceLink{link(engine.LinkAuto, a, "")}, WhichAddress{}, Place{Subnet: a}},
		"SecondOf":   {"As many links as addresses.", []engine.InterfaceLink{link(engine.LinkAuto, a, ""), link(engine.LinkStatic, b, "10.2.0.9")}, WhichAddress{Index: 1, Count: 2}, Place{Subnet: b}},
		"Shifted":    {"A link without a subnet is no address, so the index tells nothing.", []engine.InterfaceLink{none, link(engine.LinkStatic, b, ""), link(engine.LinkStatic, c, "")}, WhichAddress{Index: 1, Count: 3}, Place{}},
		"ByIP":       {"The address tells it, wherever it is.", []engine.InterfaceLink{link(engine.LinkStatic, c, "10.3.0.9"), link(engine.LinkStatic, b, "10.2.0.9")}, WhichAddress{Index: 1, Count: 2, IP: "10.3.0.9"}, Place{Subnet: c}},
		"OtherIP":    {"Somebody gave it another address.", []engine.InterfaceLink{link(engine.LinkStatic, c, "10.3.0.8")}, WhichAddress{IP: "10.3.0.9"}, Place{}},
		"UpBefore":   {"The first address, not the first link.", []engine.InterfaceLink{link(engine.LinkUp, a, ""), link(engine.LinkAuto, b, "")}, WhichAddress{}, Place{Subnet: b}},
		"NoAddress":  {"It is only on its VLAN.", []engine.InterfaceLink{none}, WhichAddress{}, Place{VLAN: 7}},
		"SecondGone": {"It has no second address.", nil, WhichAddress{Index: 1, Count: 2}, Place{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := PlaceOf(tc.links, 7, tc.which); got != tc.want {
				t.Errorf("%s got %+v, want %+v", tc.reason, got, tc.want)
			}
		})
	}
}
