package cloudinit

import (
	"fmt"
	"net/netip"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

func (h Host) checkNetworks(p *problems) {
	for _, name := range sortedNames(h.Networks) {
		if !interfacePattern.MatchString(name) {
			p.add(fieldpath.New("networks"), fmt.Sprintf("%q is not a valid name of a network", name),
				"use up to 15 letters, digits, '-', '_' and '.', as Linux allows for interfaces")
			continue
		}
		network, field := h.Networks[name], fieldpath.New("networks").Key(name)
		network.check(p, field)
		if network.Kind == Managed && h.Project.Features["networks"] {
			p.add(field.Child("kind"), "a project with the feature networks does not see the host's LXD networks", "leave out project.features.networks")
		}
	}
}

func (n Network) check(p *problems, field fieldpath.Path) {
	switch n.Kind {
	case Bridge:
		n.refuseParent(p, field, "MAAS makes the bridge, and knows its NIC")
		n.refuseAddresses(p, field)
	case Macvlan:
		if !interfacePattern.MatchString(n.Parent) {
			p.add(field.Child("parent"), fmt.Sprintf("%q is not a valid name of a NIC", n.Parent), "name the machine's NIC that VMs connect to, such as eno1")
		}
		n.refuseAddresses(p, field)
	case Managed:
		n.refuseParent(p, field, "LXD makes the bridge by itself")
		n.checkAddress(p, field.Child("ipv4_address"), n.IPv4Address, netip.Addr.Is4)
		n.checkAddress(p, field.Child("ipv6_address"), n.IPv6Address, netip.Addr.Is6)
		if n.IPv4Address == "none" && n.IPv6Address == "none" {
			p.add(field.Child("ipv4_address"), "the network has no address at all", "give an IPv4 or an IPv6 address")
		}
	default:
		p.add(field.Child("kind"), fmt.Sprintf("there is no kind of network %q", n.Kind),
			"take bridge (made by MAAS), macvlan, or managed (made by LXD)")
	}
}

func (n Network) refuseParent(p *problems, field fieldpath.Path, why string) {
	if n.Parent != "" {
		p.add(field.Child("parent"), "only a macvlan network has a parent: "+why, "leave it out")
	}
}

func (n Network) refuseAddresses(p *problems, field fieldpath.Path) {
	for _, each := range []struct {
		key string
		set bool
	}{{"ipv4_address", n.IPv4Address != ""}, {"ipv6_address", n.IPv6Address != ""}, {"nat", n.NAT}} {
		if each.set {
			p.add(field.Child(each.key), fmt.Sprintf("a network of the kind %s has none: MAAS gives the addresses", n.Kind), "leave it out, or set kind to managed")
		}
	}
}

// checkAddress requires the bridge's own address. LXD's "auto" can search for minutes and
// then fail.
func (n Network) checkAddress(p *problems, field fieldpath.Path, text string, family func(netip.Addr) bool) {
	if text == "none" {
		return
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil || !family(prefix.Addr()) || prefix.Addr() == prefix.Masked().Addr() {
		p.add(field, fmt.Sprintf("%q is not an address with a prefix", text), `give one with its prefix, such as 10.10.0.1/24 or fd42::1/64, or "none"; LXD's own choice is not reliable`)
	}
}
