package sim

import (
	"cmp"
	"net/netip"
	"slices"
)

// addresses are the machine's addresses: those of its links or, while it has
// none, what commissioning discovered.
func (m *machine) addresses() []string {
	var assigned, discovered []string
	for _, n := range m.nics {
		for _, l := range n.links {
			if l.ip != "" {
				assigned = append(assigned, l.ip)
			}
		}
		for _, d := range n.discovered {
			discovered = append(discovered, d.ip)
		}
	}
	if len(assigned) > 0 {
		return assigned
	}
	return discovered
}

// gateways is the default route: the first link whose subnet has a gateway.
func (m *machine) gateways() object {
	v4 := object{"gateway_ip": nil, "link_id": nil}
	for _, n := range m.nics {
		for _, l := range n.links {
			if l.subnet != nil && l.subnet.gateway != "" && v4["link_id"] == nil {
				v4 = object{"gateway_ip": l.subnet.gateway, "link_id": l.id}
			}
		}
	}
	return object{"ipv4": v4, "ipv6": object{"gateway_ip": nil, "link_id": nil}}
}

// assignAddresses gives every auto link an address, as a deployment does.
func (m *machine) assignAddresses() {
	for _, n := range m.nics {
		for _, l := range n.links {
			if l.mode == "auto" && l.ip == "" && l.subnet != nil {
				l.ip = m.w.freeAddress(l.subnet)
			}
		}
	}
}

// releaseAddresses gives the addresses of auto links back, and those that DHCP
// lent.
func (m *machine) releaseAddresses() {
	for _, n := range m.nics {
		for _, l := range n.links {
			if l.mode == "auto" || l.mode == "dhcp" {
				l.ip = ""
			}
		}
	}
}

// unlink takes all links away: what commissioning begins with.
func (m *machine) unlink() {
	for _, n := range m.nics {
		n.links = nil
	}
}

// autoLinks replaces all links by an auto one each: what commissioning leaves.
func (m *machine) autoLinks() {
	for _, n := range m.nics {
		if s := m.w.subnetOn(n.vlan); s != nil {
			n.links = []*link{{id: m.w.nextID("link"), mode: "auto", subnet: s}}
		}
	}
}

func (w *world) subnetOn(v *vlan) *subnet {
	for _, n := range w.subnets {
		if v != nil && n.vlan == v {
			return n
		}
	}
	return nil
}

// subnetOf is the subnet of an address, nil if it is outside all.
func (w *world) subnetOf(ip netip.Addr) *subnet {
	for _, n := range w.subnets {
		if n.cidr.Contains(ip) {
			return n
		}
	}
	return nil
}

// taken says whether somebody has the address: a machine's link, a user, the
// gateway, a server of ours.
func (w *world) taken(ip netip.Addr) bool {
	text := ip.String()
	for _, m := range w.machines {
		for _, n := range m.nics {
			for _, l := range n.links {
				if l.ip == text {
					return true
				}
			}
		}
	}
	for _, r := range w.reserved {
		if r.ip == ip {
			return true
		}
	}
	n := w.subnetOf(ip)
	return n != nil && (n.gateway == text || n.vlan.dhcp && ip == w.rackAddress(n))
}

// rackAddress is the address of MAAS's own server on a subnet with DHCP.
func (w *world) rackAddress(n *subnet) netip.Addr { return offset(n.cidr, 2) }

// inRange is the range that an address lies in, nil for none.
func (w *world) inRange(ip netip.Addr) *ipRange {
	for _, r := range w.ranges {
		if r.start.Compare(ip) <= 0 && ip.Compare(r.end) <= 0 {
			return r
		}
	}
	return nil
}

// freeAddress is the address that MAAS gives away next: the first of the
// smallest gap between those that are used. Empty when the subnet is full.
func (w *world) freeAddress(n *subnet) string {
	gaps := w.freeSpans(n)
	if len(gaps) == 0 {
		return ""
	}
	smallest := slices.MinFunc(gaps, func(a, b span) int { return cmp.Compare(a.count(), b.count()) })
	return offset(n.cidr, smallest.start).String()
}

// leaseAddress is an address of the dynamic range, as DHCP gives it to a
// guest; one after the other, and then again from the start.
func (w *world) leaseAddress(n *subnet) string {
	for _, r := range w.ranges {
		if r.subnet == n && r.kind == "dynamic" {
			size := n.position(r.end) - n.position(r.start) + 1
			return offset(netip.PrefixFrom(r.start, 32), w.nextID("lease "+n.name)%size).String()
		}
	}
	return ""
}
