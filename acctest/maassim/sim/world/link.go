package world

import "slices"

// Modes of links (enum.py, INTERFACE_LINK_TYPE).
const (
	LinkAuto   = "auto"
	LinkDHCP   = "dhcp"
	LinkStatic = "static"
	LinkUp     = "link_up"
)

// Link connects a NIC to a subnet.
type Link struct {
	ID     int
	Mode   string // LinkAuto, …
	Subnet *Subnet
	IP     string
}

// AddLink links the NIC like link_subnet in models/interface.py. A NIC without a VLAN gets
// the subnet's, and any link replaces one that is only up. A new auto, static or DHCP link
// replaces a DHCP link of its address family, and so does one that is only up
// (remove_link_dhcp).
func (n *NIC) AddLink(w *World, mode string, s *Subnet, ip string) *Link {
	if n.VLAN == nil && s != nil {
		n.VLAN = s.VLAN
	}
	n.Links = slices.DeleteFunc(n.Links, func(l *Link) bool { return l.Mode == LinkUp || l.Mode == LinkDHCP && isSameFamily(l.Subnet, s) })
	l := &Link{ID: w.NextID("link"), Mode: mode, Subnet: s, IP: ip}
	n.Links = append(n.Links, l)
	return l
}

// isSameFamily tells whether two subnets are both IPv4 or both IPv6. An unknown subnet
// counts as the same.
func isSameFamily(a, b *Subnet) bool {
	return a == nil || b == nil || a.CIDR.Addr().Is4() == b.CIDR.Addr().Is4()
}

// ForceAuto links the NIC to the first subnet of its VLAN. If there is none, it sets the
// NIC to DHCP (models/interface.py, force_auto_or_dhcp_link).
func (n *NIC) ForceAuto(w *World) {
	if n.VLAN == nil {
		return
	}
	if s := w.SubnetOn(n.VLAN); s != nil {
		n.AddLink(w, LinkAuto, s, "")
	} else {
		n.AddLink(w, LinkDHCP, nil, "")
	}
}

// EnsureLinkUp gives a connected NIC without links one that is only up, on the subnet that
// commissioning observed (models/interface.py, ensure_link_up).
func (n *NIC) EnsureLinkUp(w *World) {
	if len(n.Links) > 0 || n.VLAN == nil {
		return
	}
	var seen *Subnet
	for _, d := range n.Discovered {
		if seen == nil && d.Subnet != nil && d.Subnet.VLAN == n.VLAN {
			seen = d.Subnet
		}
	}
	n.AddLink(w, LinkUp, seen, "")
}

// RemoveLink removes a link. A NIC without links stays up.
func (n *NIC) RemoveLink(w *World, gone *Link) {
	n.Links = slices.DeleteFunc(n.Links, func(l *Link) bool { return l == gone })
	n.EnsureLinkUp(w)
}

// TakeAddress removes an address and its link from their owner. MAAS does this when it
// sees the address on a server (models/interface.py, update_ip_addresses).
func TakeAddress(w *World, ip string) {
	for _, m := range w.Machines {
		for _, n := range m.NICs {
			n.Links = slices.DeleteFunc(n.Links, func(l *Link) bool { return ip != "" && l.IP == ip })
		}
	}
}

// RemoveNIC removes an interface, and the interfaces that are only on it
// (models/signals/interfaces.py, delete_children_interface_handler).
func RemoveNIC(m *Machine, gone *NIC) {
	m.NICs = slices.DeleteFunc(slices.Clone(m.NICs), func(n *NIC) bool { return n == gone })
	for _, child := range slices.Clone(m.NICs) {
		if !slices.Contains(child.Parents, gone) {
			continue
		}
		if len(child.Parents) == 1 {
			RemoveNIC(m, child)
		} else {
			child.Parents = slices.DeleteFunc(slices.Clone(child.Parents), func(p *NIC) bool { return p == gone })
		}
	}
}
