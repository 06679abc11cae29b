package world

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
)

// Addresses are the addresses of the machine's links. Without any, they are those that
// commissioning discovered.
func (m *Machine) Addresses() []string {
	var assigned, discovered []string
	for _, n := range m.NICs {
		for _, l := range n.Links {
			if l.IP != "" {
				assigned = append(assigned, l.IP)
			}
		}
		for _, d := range n.Discovered {
			discovered = append(discovered, d.IP)
		}
	}
	if len(assigned) > 0 {
		return assigned
	}
	return discovered
}

// Addresses are the addresses of the NIC's links. Without any, they are those that
// commissioning discovered.
func (n *NIC) Addresses() (ips []string) {
	for _, l := range n.Links {
		if l.IP != "" {
			ips = append(ips, l.IP)
		}
	}
	if len(ips) > 0 {
		return ips
	}
	for _, d := range n.Discovered {
		ips = append(ips, d.IP)
	}
	return ips
}

// Gateways is the default route and its link's id: the link that a user chose, or else the
// first whose subnet has a gateway. In the second case no link is named.
func (m *Machine) Gateways() rest.Object {
	v4 := rest.Object{"gateway_ip": nil, "link_id": nil}
	for _, n := range m.NICs {
		if m.GatewayLink != nil && slices.Contains(n.Links, m.GatewayLink) {
			v4 = rest.Object{"gateway_ip": m.GatewayLink.Subnet.Gateway, "link_id": m.GatewayLink.ID}
		}
	}
	for _, n := range m.NICs {
		for _, l := range n.Links {
			if l.Subnet != nil && l.Subnet.Gateway != "" && v4["gateway_ip"] == nil {
				v4["gateway_ip"] = l.Subnet.Gateway
			}
		}
	}
	return rest.Object{"ipv4": v4, "ipv6": rest.Object{"gateway_ip": nil, "link_id": nil}}
}

// AssignAddresses gives every auto link an address, as a deployment does. It skips an
// address at which an unknown server answers (models/node.py, _claim_auto_ips).
func (m *Machine) AssignAddresses() {
	for _, n := range m.NICs {
		for _, l := range n.Links {
			if l.Mode == "auto" && l.IP == "" && l.Subnet != nil {
				l.IP = silentAddress(m.World, l.Subnet)
			}
		}
	}
}

// ReleaseAddresses releases the addresses of auto links and DHCP leases.
func (m *Machine) ReleaseAddresses() {
	for _, n := range m.NICs {
		for _, l := range n.Links {
			if l.Mode == "auto" || l.Mode == "dhcp" {
				l.IP = ""
			}
		}
	}
}

// RemoveLinks removes all links, as the start of commissioning does.
func (m *Machine) RemoveLinks() {
	for _, n := range m.NICs {
		n.Links = nil
	}
}

// ResetLinks sets the links as commissioning does: the boot interface is auto, and all
// others are only up (models/node.py, set_initial_networking_configuration).
func (m *Machine) ResetLinks() {
	for i, n := range m.NICs {
		n.Links = nil
		if i > 0 {
			n.EnsureLinkUp(m.World)
		} else {
			n.ForceAuto(m.World)
		}
	}
}

// IsAddressTaken tells whether the address is in use: by a machine's link, a user, the
// gateway, or a simulated server.
func IsAddressTaken(w *World, ip netip.Addr) bool {
	text := ip.String()
	for _, m := range w.Machines {
		for _, n := range m.NICs {
			for _, l := range n.Links {
				if l.IP == text {
					return true
				}
			}
		}
	}
	for _, r := range w.ReservedIPs {
		if r.IP == ip {
			return true
		}
	}
	n := w.SubnetOf(ip)
	return n != nil && (n.Gateway == text || n.HasRack && ip == RackAddress(w, n))
}

// HasAddressRow tells whether MAAS's database has a row for the address: for a link, a
// user, its own server, or an address that commissioning discovered. A gateway has no row
// (models/staticipaddress.py).
func HasAddressRow(w *World, ip netip.Addr, withDiscovered bool) bool {
	text := ip.String()
	for _, m := range w.Machines {
		for _, n := range m.NICs {
			isThis := func(l *Link) bool { return l.IP == text }
			wasThis := func(d Discovery) bool { return withDiscovered && d.IP == text }
			if slices.ContainsFunc(n.Links, isThis) || slices.ContainsFunc(n.Discovered, wasThis) {
				return true
			}
		}
	}
	n := w.SubnetOf(ip)
	return slices.ContainsFunc(w.ReservedIPs, func(r *ReservedIP) bool { return r.IP == ip }) || n != nil && n.HasRack && ip == RackAddress(w, n)
}

// RackAddress is the address of MAAS's own server on a subnet with DHCP.
func RackAddress(w *World, n *Subnet) netip.Addr { return NthAddress(n.CIDR, 2) }

// RangeOf is the range that contains an address, or nil.
func RangeOf(w *World, ip netip.Addr) *IPRange {
	for _, r := range w.IPRanges {
		if r.Start.Compare(ip) <= 0 && ip.Compare(r.End) <= 0 {
			return r
		}
	}
	return nil
}

// FreeAddress is the next address that MAAS assigns: the first of the smallest gap between
// used ones. It is empty if the subnet is full.
func (w *World) FreeAddress(n *Subnet) string {
	gaps := FreeSpans(w, n)
	if len(gaps) == 0 {
		return ""
	}
	smallest := slices.MinFunc(gaps, func(a, b Span) int { return cmp.Compare(a.Count(), b.Count()) })
	return NthAddress(n.CIDR, smallest.Start).String()
}

// silentAddress is FreeAddress, or the next free address at which no server answers.
func silentAddress(w *World, n *Subnet) string {
	first := w.FreeAddress(n)
	if first == "" || !hasServerAt(w, n, first) {
		return first
	}
	for _, gap := range FreeSpans(w, n) {
		for at := gap.Start; at <= gap.End; at++ {
			if ip := NthAddress(n.CIDR, at).String(); !hasServerAt(w, n, ip) {
				return ip
			}
		}
	}
	return ""
}

// hasServerAt tells whether a server has the address on its bridge, whether or not MAAS
// knows it.
func hasServerAt(w *World, n *Subnet, ip string) bool {
	first := firstServer(w)
	return first != nil && slices.Contains(first.Subnets, n) && BridgeAddress(w, n, first) == ip
}

// BridgeAddress is the address that a server has on its bridge from the start: .1 for the
// first server. It is empty for the others, which get addresses when MAAS takes their
// inventory.
func BridgeAddress(w *World, n *Subnet, l *LXD) string {
	if l != firstServer(w) {
		return ""
	}
	return NthAddress(n.CIDR, 1).String()
}

// firstServer is the first LXD, or nil.
func firstServer(w *World) *LXD {
	if len(w.LXDs) == 0 {
		return nil
	}
	return w.LXDs[slices.Min(slices.Collect(maps.Keys(w.LXDs)))]
}

// LeaseAddress is the next address of the dynamic range, as DHCP gives it to a guest.
// After the last one it starts again with the first.
func LeaseAddress(w *World, n *Subnet) string {
	for _, r := range w.IPRanges {
		if r.Subnet == n && r.Kind == "dynamic" {
			size := n.position(r.End) - n.position(r.Start) + 1
			return NthAddress(netip.PrefixFrom(r.Start, 32), w.NextID("lease "+n.Name)%size).String()
		}
	}
	return ""
}
