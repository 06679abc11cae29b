package engine

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestValidateVMSpec(t *testing.T) {
	good := VMSpec{Name: "web-1", Host: "lxd1", Cores: 1, MemoryMiB: 1024, Disks: []Disk{{Name: "root", SizeGB: 8}}}
	cases := map[string]struct {
		reason string
		change func(*VMSpec)
		field  string // empty: valid
	}{
		"Good":         {"The smallest spec is valid.", func(*VMSpec) {}, ""},
		"Pinned":       {"Pinned cores stand for the number of cores.", func(s *VMSpec) { s.Cores, s.PinnedCores = 0, []int{0} }, ""},
		"DottedName":   {"MAAS takes a dot, LXD does not.", func(s *VMSpec) { s.Name = "web.1" }, "name"},
		"UpperCase":    {"MAAS would change the case, and the name would never match.", func(s *VMSpec) { s.Name = "Web" }, "name"},
		"EmptyName":    {"MAAS would invent a name.", func(s *VMSpec) { s.Name = "" }, "name"},
		"NumberName":   {"LXD refuses a number as a name.", func(s *VMSpec) { s.Name = "123" }, "name"},
		"AbsurdDisk":   {"A slip of the pen.", func(s *VMSpec) { s.Disks[0].SizeGB = 1 << 62 }, "disks.root.size_gb"},
		"LongName":     {"A DNS label has 63 characters at most.", func(s *VMSpec) { s.Name = strings.Repeat("a", 64) }, "name"},
		"NoCores":      {"Zero cores make no VM.", func(s *VMSpec) { s.Cores = 0 }, "cores"},
		"Negative":     {"Negative cores make no VM.", func(s *VMSpec) { s.Cores = -4 }, "cores"},
		"LittleMemory": {"MAAS refuses less than 1024 MiB.", func(s *VMSpec) { s.MemoryMiB = 1023 }, "memory_mib"},
		"NoDisks":      {"A VM without a root disk cannot be deployed.", func(s *VMSpec) { s.Disks = nil }, "disks"},
		"EmptyDisk":    {"A disk of 0 GB is a typing error that MAAS accepts.", func(s *VMSpec) { s.Disks[0].SizeGB = 0 }, "disks.root.size_gb"},
		"StopsMemory":  {"What runs from memory is lost.", func(s *VMSpec) { s.MayStop, s.Deploy = true, &Deployment{Ephemeral: true} }, "allow_stopping_for_update"},
		"StopsDisk":    {"What is on a disk stays.", func(s *VMSpec) { s.MayStop, s.Deploy = true, &Deployment{} }, ""},
		"BadLabel":     {"A label with a colon would break compose's syntax.", func(s *VMSpec) { s.Interfaces = []Interface{{Name: "eth0:1"}} }, `interfaces["eth0:1"]`},
		"NoNetwork":    {"An interface must be somewhere.", func(s *VMSpec) { s.Interfaces = []Interface{{Name: "eth0"}} }, "interfaces.eth0"},
		"NoMode":       {"MAAS has four modes.", func(s *VMSpec) { s.Interfaces = []Interface{{Name: "eth0", Subnet: "lan", Mode: "bootp"}} }, "interfaces.eth0.mode"},
		"DHCPWithIP": {"DHCP gives the address.", func(s *VMSpec) {
			s.Interfaces = []Interface{{Name: "eth0", Subnet: "lan", Mode: LinkDHCP, IP: netip.MustParseAddr("10.0.0.9")}}
		}, "interfaces.eth0.mode"},
		"UpWithMore": {"An interface that is only up has no addresses.", func(s *VMSpec) {
			s.Interfaces = []Interface{{Name: "eth0", Subnet: "lan", Mode: LinkUp, Addresses: []InterfaceAddress{{Subnet: "lan"}}}}
		}, "interfaces.eth0.mode"},
		"AddressIsUp": {"Nor is an address only up.", func(s *VMSpec) {
			s.Interfaces = []Interface{{Name: "eth0", Subnet: "lan", Addresses: []InterfaceAddress{{Subnet: "lan", Mode: LinkUp}}}}
		}, "interfaces.eth0.addresses[0].mode"},
		"NothingIsOn": {"MAAS deploys nothing without an address.", func(s *VMSpec) {
			s.Interfaces, s.Deploy = []Interface{{Name: "eth0", Subnet: "lan", Mode: LinkUp}}, &Deployment{}
		}, "interfaces.eth0.mode"},
		"ReadyIsUp": {"A VM that is left Ready may be without.", func(s *VMSpec) { s.Interfaces = []Interface{{Name: "eth0", Subnet: "lan", Mode: LinkUp}} }, ""},
		"AddressTwice": {"Two links cannot share one.", func(s *VMSpec) {
			ip := netip.MustParseAddr("10.0.0.9")
			s.Interfaces = []Interface{{Name: "eth0", Subnet: "lan", IP: ip, Addresses: []InterfaceAddress{{Subnet: "lan", IP: ip}}}}
		}, "interfaces.eth0.addresses[0].ip"},
		"MAC": {"LXD takes any that is of one interface.", func(s *VMSpec) {
			s.Interfaces = []Interface{{Name: "eth0", Subnet: "lan", MAC: "52:54:00:12:34:56", Bridge: "br1"}}
		}, ""},
		"UpperMAC":     {"MAAS would show another one.", func(s *VMSpec) { s.Interfaces = []Interface{{Name: "eth0", Subnet: "lan", MAC: "00:16:3E:12:34:56"}} }, "interfaces.eth0.mac_address"},
		"ShortMAC":     {"It has six bytes.", func(s *VMSpec) { s.Interfaces = []Interface{{Name: "eth0", Subnet: "lan", MAC: "00:16:3e:12:34"}} }, "interfaces.eth0.mac_address"},
		"MulticastMAC": {"Nobody sends from it.", func(s *VMSpec) { s.Interfaces = []Interface{{Name: "eth0", Subnet: "lan", MAC: "01:16:3e:12:34:56"}} }, "interfaces.eth0.mac_address"},
		"NullMAC":      {"It is nobody's.", func(s *VMSpec) { s.Interfaces = []Interface{{Name: "eth0", Subnet: "lan", MAC: "00:00:00:00:00:00"}} }, "interfaces.eth0.mac_address"},
		"MACTwice": {"LXD starts only one of them.", func(s *VMSpec) {
			s.Interfaces = []Interface{{Name: "eth0", Subnet: "lan", MAC: "00:16:3e:12:34:56"}, {Name: "eth1", Subnet: "lan", MAC: "00:16:3e:12:34:56"}}
		}, "interfaces.eth1.mac_address"},
		"LongBridge": {"Linux knows no such name.", func(s *VMSpec) {
			s.Interfaces = []Interface{{Name: "eth0", Subnet: "lan", Bridge: "bridge-number-one"}}
		}, "interfaces.eth0.bridge"},
		"BigUserData": {"More than reaches MAAS through nginx.", func(s *VMSpec) {
			s.Deploy = &Deployment{UserData: make([]byte, 1<<20)}
		}, "deploy.user_data"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := good
			spec.Disks = []Disk{good.Disks[0]}
			tc.change(&spec)
			err := spec.Validate()
			var bad *SpecError
			switch {
			case tc.field == "" && err != nil:
				t.Errorf("%s\ngot %v", tc.reason, err)
			case tc.field != "" && !errors.As(err, &bad):
				t.Errorf("%s\ngot %v, want an error about %s", tc.reason, err, tc.field)
			case tc.field != "" && (bad.Field.String() != tc.field || bad.Hint == ""):
				t.Errorf("%s\ngot field %q, hint %q; want %q and a hint", tc.reason, bad.Field, bad.Hint, tc.field)
			}
		})
	}
}

func TestNetworkChoose(t *testing.T) {
	t.Parallel()
	all := []Subnet{
		{ID: 1, Name: "lan", CIDR: "10.0.0.0/24", VLAN: 1, Fabric: "red", Space: "dmz"}, {ID: 2, Name: "lan6", CIDR: "fd00::/64", VLAN: 1, Fabric: "red", Space: "dmz"},
		{ID: 3, Name: "twice", CIDR: "10.1.0.0/24", VLAN: 2, VID: 20, Fabric: "red"}, {ID: 4, Name: "twice", CIDR: "10.2.0.0/24", VLAN: 3, Fabric: "blue"},
		{ID: 5, Name: "10.0.0.0/24", CIDR: "10.3.0.0/24", VLAN: 4, VID: 30, Fabric: "blue"},
	}
	twenty := 20
	cases := map[string]struct {
		reason string
		have   Network
		want   int // 0: none
	}{
		"Name":      {"A name that one subnet has.", Network{Subnet: "lan"}, 1},
		"CIDRFirst": {"A CIDR is a CIDR, whatever a subnet is called.", Network{Subnet: "10.0.0.0/24"}, 1},
		"Ambiguous": {"A name of two subnets is neither.", Network{Subnet: "twice"}, 0},
		"Narrowed":  {"Its fabric tells them apart.", Network{Subnet: "twice", Fabric: "blue"}, 4},
		"VLAN":      {"The only subnet of a VLAN.", Network{VID: &twenty}, 3},
		"DualStack": {"Of a VLAN with both families it is IPv4.", Network{Space: "dmz"}, 1},
		"Fabric":    {"Two VLANs of a fabric are not one network.", Network{Fabric: "red"}, 0},
		"Apart":     {"What does not go together is nothing.", Network{Subnet: "lan", VID: &twenty}, 0},
		"Unknown":   {"MAAS has no such space.", Network{Space: "DMZ"}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := tc.have.ChooseSubnet(all); got.ID != tc.want || ok != (tc.want != 0) {
				t.Errorf("%s\ngot %d, %v", tc.reason, got.ID, ok)
			}
		})
	}
}
