package sim

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
)

// span is a run of a subnet's addresses, counted from its network address;
// both ends included.
type span struct {
	start, end int
	purpose    string // why it is not free
}

func (s span) count() int { return s.end - s.start + 1 }

func (s span) view(n *subnet) object {
	return object{"start": offset(n.cidr, s.start).String(), "end": offset(n.cidr, s.end).String(), "num_addresses": s.count()}
}

// size is the number of addresses of a subnet that a computer can have.
func (n *subnet) size() int { return 1<<(32-n.cidr.Bits()) - 2 }

// position is an address's number within the subnet.
func (n *subnet) position(ip netip.Addr) int {
	return int(asNumber(ip) - asNumber(n.cidr.Addr()))
}

func asNumber(ip netip.Addr) uint32 {
	b := ip.As4()
	return binary.BigEndian.Uint32(b[:])
}

// usedSpans are the addresses that MAAS does not give away: ranges, and what
// users, machines, the gateway and MAAS's own server have.
func (w *world) usedSpans(n *subnet) []span {
	var spans []span
	add := func(ip netip.Addr) {
		spans = append(spans, span{start: n.position(ip), end: n.position(ip), purpose: "assigned-ip"})
	}
	for _, r := range w.ranges {
		if r.subnet == n {
			spans = append(spans, span{start: n.position(r.start), end: n.position(r.end), purpose: r.kind})
		}
	}
	for _, r := range w.reserved {
		if r.subnet == n {
			add(r.ip)
		}
	}
	w.eachLink(n, func(_ *machine, _ *nic, _ *link, ip netip.Addr) { add(ip) })
	if gateway, err := netip.ParseAddr(n.gateway); err == nil {
		at := n.position(gateway)
		spans = append(spans, span{start: at, end: at, purpose: "gateway-ip"})
	}
	if n.vlan.dhcp {
		add(w.rackAddress(n))
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return slices.CompactFunc(spans, func(a, b span) bool { return a.start == b.start && a.end == b.end })
}

// freeSpans are the runs between the used ones.
func (w *world) freeSpans(n *subnet) (free []span) {
	next := 1
	for _, used := range w.usedSpans(n) {
		if used.start > next {
			free = append(free, span{start: next, end: used.start - 1})
		}
		next = max(next, used.end+1)
	}
	if next <= n.size() {
		free = append(free, span{start: next, end: n.size()})
	}
	return free
}

// condensed joins spans that overlap, and those that follow each other for the
// same purpose, as MAAS lists them (utils/network.py, MAASIPSet). Several
// purposes are separated by spaces.
func condensed(spans []span) (joined []span) {
	for _, s := range spans {
		last := len(joined) - 1
		switch {
		case last >= 0 && s.start <= joined[last].end:
			joined[last].end = max(joined[last].end, s.end)
			if !slices.Contains(strings.Fields(joined[last].purpose), s.purpose) {
				joined[last].purpose += " " + s.purpose
			}
		case last >= 0 && s.start == joined[last].end+1 && s.purpose == joined[last].purpose:
			joined[last].end = s.end
		default:
			joined = append(joined, s)
		}
	}
	return joined
}
