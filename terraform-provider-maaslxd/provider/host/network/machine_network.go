package network

import (
	"context"
	"net/netip"
	"reflect"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// MachineNetwork is the network of a VM host's machine as MAAS lists it now. It tells whether two texts
// mean the same NIC or subnet.
type MachineNetwork struct {
	// Machine reads the machine; the zero Machine: MAAS does not answer.
	Machine func() engine.Machine
	// Subnets lists the subnets of MAAS.
	Subnets func(context.Context) ([]engine.Subnet, error)
}

// IsSameNetwork tells whether two specs describe the same interfaces. The order of the NICs of a
// bond does not count.
func (p MachineNetwork) IsSameNetwork(ctx context.Context, want, had *engine.NetworkSpec) bool {
	if want == nil || had == nil {
		return want == had
	}
	wanted, before := want.Interfaces(), had.Interfaces()
	if len(wanted) != len(before) {
		return false
	}
	for n, w := range wanted {
		if !p.isSameInterface(ctx, w, before[n]) {
			return false
		}
	}
	return true
}

func (p MachineNetwork) isSameInterface(ctx context.Context, want, had engine.NetworkInterface) bool {
	if !slices.Equal(want.Parents, had.Parents) && !slices.Equal(p.nicNames(want.Parents), p.nicNames(had.Parents)) || len(want.Links) != len(had.Links) {
		return false
	}
	for n, w := range want.Links {
		b := had.Links[n]
		if !p.isSameSubnet(ctx, w.Subnet, b.Subnet, p.placeOf(want.Name, client.WhichAddress{Index: n, Count: len(had.Links), IP: addressText(b.IP)})) {
			return false
		}
		if w.Subnet = b.Subnet; w != b {
			return false
		}
	}
	want.Parents, want.Links = had.Parents, had.Links
	return reflect.DeepEqual(want, had)
}

// IsSameBridge is IsSameNetwork for the attribute bridge. A line that names the NIC or the subnet
// where the bridge is already changes nothing.
func (p MachineNetwork) IsSameBridge(ctx context.Context, want, had *engine.BridgeSpec) bool {
	if want == nil || had == nil || want.Name != had.Name {
		return want == had
	}
	return (want.NIC == had.NIC || p.isOnNIC(*want)) && p.isSameSubnet(ctx, want.Subnet, had.Subnet, p.placeOf(want.Name, client.WhichAddress{}))
}

// isOnNIC tells whether the bridge is on the wanted NIC now.
func (p MachineNetwork) isOnNIC(want engine.BridgeSpec) bool {
	bridge := p.interfaceNamed(want.Name)
	return bridge.Kind == engine.ChildBridge && slices.Contains(bridge.Parents, want.NIC)
}

func (p MachineNetwork) isSameSubnet(ctx context.Context, want, had string, now func() client.Place) bool {
	return want == had || client.IsSameSubnet(ctx, p.Subnets, texttype.SubnetType.FromText(want), texttype.SubnetType.FromText(had), now)
}

// nicNames are the names of NICs, sorted.
func (p MachineNetwork) nicNames(texts []string) []string {
	names := make([]string, len(texts))
	for n, text := range texts {
		names[n] = client.NICName(p.Machine(), text)
	}
	slices.Sort(names)
	return names
}

// placeOf is the place of an address of an interface.
func (p MachineNetwork) placeOf(name string, which client.WhichAddress) func() client.Place {
	return func() client.Place {
		i := p.interfaceNamed(name)
		return client.PlaceOf(i.Links, i.VLAN, which)
	}
}

// addressText is the text of an address; empty: there is none.
func addressText(ip netip.Addr) string {
	if !ip.IsValid() {
		return ""
	}
	return ip.String()
}

// interfaceNamed is the bond, VLAN interface or bridge of that name; the zero value: there is
// none.
func (p MachineNetwork) interfaceNamed(name string) engine.ChildInterface {
	children := p.Machine().Children
	if n := slices.IndexFunc(children, func(c engine.ChildInterface) bool { return c.Name == name }); n >= 0 {
		return children[n]
	}
	return engine.ChildInterface{}
}
