package world

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
)

// Span is a range of a subnet's addresses, counted from its network address. It includes
// both ends.
type Span struct {
	Start, End int
	Purpose    string // why it is used; empty if it is free
}

// Count is how many addresses the span has.
func (s Span) Count() int { return s.End - s.Start + 1 }

// maxHostBits limits an IPv6 subnet to its first 2^30 addresses.
const maxHostBits = 30

// Size is the number of a subnet's host addresses.
func (n *Subnet) Size() int {
	bits := n.CIDR.Addr().BitLen() - n.CIDR.Bits()
	if !n.CIDR.Addr().Is4() {
		bits = min(bits, maxHostBits)
	}
	return 1<<bits - 2
}

// position is an address's number within the subnet.
func (n *Subnet) position(ip netip.Addr) int {
	return int(low32Bits(ip) - low32Bits(n.CIDR.Addr()))
}

// low32Bits is the last 32 bits of an address.
func low32Bits(ip netip.Addr) uint32 {
	b := ip.AsSlice()
	return binary.BigEndian.Uint32(b[len(b)-4:])
}

// UsedSpans are the addresses that MAAS does not assign: ranges, and the addresses of
// users, machines, the gateway and MAAS's own server.
func UsedSpans(w *World, n *Subnet) []Span {
	var spans []Span
	add := func(ip netip.Addr) {
		spans = append(spans, Span{Start: n.position(ip), End: n.position(ip), Purpose: "assigned-ip"})
	}
	for _, r := range w.IPRanges {
		if r.Subnet == n {
			spans = append(spans, Span{Start: n.position(r.Start), End: n.position(r.End), Purpose: r.Kind})
		}
	}
	for _, r := range w.ReservedIPs {
		if r.Subnet == n {
			add(r.IP)
		}
	}
	VisitLinks(w, n, func(_ *Machine, _ *NIC, _ *Link, ip netip.Addr) { add(ip) })
	if gateway, err := netip.ParseAddr(n.Gateway); err == nil {
		at := n.position(gateway)
		spans = append(spans, Span{Start: at, End: at, Purpose: "gateway-ip"})
	}
	if n.HasRack {
		add(RackAddress(w, n))
	}
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	return slices.CompactFunc(spans, func(a, b Span) bool { return a.Start == b.Start && a.End == b.End })
}

// FreeSpans are the spans between the used ones.
func FreeSpans(w *World, n *Subnet) (free []Span) {
	next := 1
	for _, used := range UsedSpans(w, n) {
		if used.Start > next {
			free = append(free, Span{Start: next, End: used.Start - 1})
		}
		next = max(next, used.End+1)
	}
	if next <= n.Size() {
		free = append(free, Span{Start: next, End: n.Size()})
	}
	return free
}

// JoinSpans joins overlapping spans, and adjacent ones with the same purpose, as MAAS
// lists them (utils/network.py, MAASIPSet). Spaces separate several purposes.
func JoinSpans(spans []Span) (joined []Span) {
	for _, s := range spans {
		last := len(joined) - 1
		switch {
		case last >= 0 && s.Start <= joined[last].End:
			joined[last].End = max(joined[last].End, s.End)
			if !slices.Contains(strings.Fields(joined[last].Purpose), s.Purpose) {
				joined[last].Purpose += " " + s.Purpose
			}
		case last >= 0 && s.Start == joined[last].End+1 && s.Purpose == joined[last].Purpose:
			joined[last].End = s.End
		default:
			joined = append(joined, s)
		}
	}
	return joined
}

// VisitLinks visits the machines' addresses on a subnet.
func VisitLinks(w *World, n *Subnet, visit func(*Machine, *NIC, *Link, netip.Addr)) {
	for _, m := range SortedMachines(w.Machines) {
		for _, i := range m.NICs {
			for _, l := range i.Links {
				if ip, err := netip.ParseAddr(l.IP); err == nil && l.Subnet == n {
					visit(m, i, l, ip)
				}
			}
		}
	}
}
