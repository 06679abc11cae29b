package world

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SubnetOn is the subnet on a VLAN, or nil.
func (w *World) SubnetOn(v *VLAN) *Subnet {
	for _, n := range w.Subnets {
		if v != nil && n.VLAN == v {
			return n
		}
	}
	return nil
}

// SubnetOf is the subnet that contains an address, or nil.
func (w *World) SubnetOf(ip netip.Addr) *Subnet {
	for _, n := range w.Subnets {
		if n.CIDR.Contains(ip) {
			return n
		}
	}
	return nil
}

// AddNetwork makes a network that MAAS does not know yet. It is alone on the untagged VLAN
// of its own fabric.
func (w *World) AddNetwork(name string, cidr netip.Prefix, gateway string, dhcp bool) *Subnet {
	f := NewFabric(w, "")
	v := &VLAN{ID: w.NextID("vlan"), MTU: DefaultMTU, Name: "untagged", Fabric: f, DHCP: dhcp}
	n := &Subnet{ID: w.NextID("subnet"), Name: name, CIDR: cidr, Gateway: gateway, VLAN: v, HasRack: dhcp}
	w.Networks = append(w.Networks, n)
	return n
}

// DefaultMTU is the MTU of a VLAN without a given one (models/vlan.py).
const DefaultMTU = 1500

// NewFabric makes a fabric. MAAS names a fabric without a name after its number, which
// starts at 0.
func NewFabric(w *World, name string) *Fabric {
	id := w.NextID("fabric") - 1
	return &Fabric{ID: id, Name: cmp.Or(name, "fabric-"+strconv.Itoa(id))}
}

// GuessOrMakeVLAN is the VLAN of an interface whose VLAN MAAS does not know. It is the
// first VLAN of all while that has no other interface, else a new one on its own fabric
// (builtin_scripts/network.py, guess_vlan_for_interface).
func GuessOrMakeVLAN(w *World) *VLAN {
	isUsed := len(w.VLANs) == 0 || slices.ContainsFunc(w.Subnets, func(n *Subnet) bool { return n.HasRack && n.VLAN == w.VLANs[0] })
	for _, m := range w.Machines {
		isUsed = isUsed || slices.ContainsFunc(m.NICs, func(n *NIC) bool { return n.VLAN == w.VLANs[0] })
	}
	if !isUsed {
		return w.VLANs[0]
	}
	f := NewFabric(w, "")
	v := &VLAN{ID: w.NextID("vlan"), MTU: DefaultMTU, Name: "untagged", Fabric: f}
	w.Fabrics, w.VLANs = append(w.Fabrics, f), append(w.VLANs, v)
	return v
}

// RemoveUnusedFabric removes a fabric whose VLANs are unused
// (models/signals/interfaces.py, interface_vlan_update). The first fabric stays.
func RemoveUnusedFabric(w *World, f *Fabric) {
	isOn := func(v *VLAN) bool { return v != nil && v.Fabric == f }
	for _, m := range w.Machines {
		if slices.ContainsFunc(m.NICs, func(n *NIC) bool { return isOn(n.VLAN) }) {
			return
		}
	}
	if f.ID == 0 || slices.ContainsFunc(w.Subnets, func(n *Subnet) bool { return isOn(n.VLAN) }) {
		return
	}
	w.VLANs = slices.DeleteFunc(w.VLANs, isOn)
	w.Fabrics = slices.DeleteFunc(w.Fabrics, func(other *Fabric) bool { return other == f })
}

// VLANsOf are a fabric's VLANs, with the default one first (models/fabric.py,
// get_default_vlan).
func VLANsOf(w *World, f *Fabric) []*VLAN {
	own := slices.DeleteFunc(slices.Clone(w.VLANs), func(v *VLAN) bool { return v.Fabric != f })
	slices.SortFunc(own, func(a, b *VLAN) int { return cmp.Compare(a.ID, b.ID) })
	return own
}

// SubnetsOn are all subnets on a VLAN.
func SubnetsOn(w *World, v *VLAN) []*Subnet {
	return slices.DeleteFunc(slices.Clone(w.Subnets), func(n *Subnet) bool { return n.VLAN != v })
}

// VisitInterfacesOn visits the interfaces that are connected to a VLAN.
func VisitInterfacesOn(w *World, v *VLAN, visit func(*Machine, *NIC)) {
	for _, m := range SortedMachines(w.Machines) {
		for _, n := range m.NICs {
			if n.VLAN == v {
				visit(m, n)
			}
		}
	}
}

// LearnSubnet makes a network known to MAAS. Repeating it changes nothing.
func (w *World) LearnSubnet(n *Subnet) {
	if !slices.Contains(w.Subnets, n) {
		w.Fabrics, w.VLANs, w.Subnets = append(w.Fabrics, n.VLAN.Fabric), append(w.VLANs, n.VLAN), append(w.Subnets, n)
	}
}

// AddRange makes a range of a subnet, unless an end is empty.
func AddRange(w *World, kind string, n *Subnet, start, end string) {
	if start == "" || end == "" {
		return
	}
	w.IPRanges = append(w.IPRanges, &IPRange{ID: w.NextID("iprange"), Kind: kind, Start: netip.MustParseAddr(start), End: netip.MustParseAddr(end), Subnet: n})
}

// DefaultDynamicRange is the last third of a network, without its broadcast address.
func DefaultDynamicRange(network netip.Prefix) (start, end string) {
	size := 1 << (32 - network.Bits())
	return NthAddress(network, size-size/3).String(), NthAddress(network, size-2).String()
}

// NthAddress is the nth address of a network.
func NthAddress(network netip.Prefix, n int) netip.Addr {
	b := network.Addr().AsSlice()
	binary.BigEndian.PutUint32(b[len(b)-4:], low32Bits(network.Addr())+uint32(n))
	nth, _ := netip.AddrFromSlice(b)
	return nth
}

// FindSubnet finds a subnet by the text in a path or a form.
func FindSubnet(w *World, text string) *Subnet {
	kind, rest, isSpecified := strings.Cut(text, ":")
	if isSpecified {
		text = rest
	}
	for _, n := range w.Subnets {
		byCIDR, byName := n.CIDR.String() == text, n.Name == text
		if isSpecified && (kind == "cidr" && byCIDR || kind == "name" && byName) || !isSpecified && (byCIDR || byName || strconv.Itoa(n.ID) == text) {
			return n
		}
	}
	return nil
}

// MaxPrefixBits is the longest prefix of a simulated network. It has four addresses, of
// which two can be assigned.
const MaxPrefixBits = 30

// Fabric is a group of VLANs. A subnet of a model has its own fabric and VLAN.
type Fabric struct {
	ID        int
	Name      string
	ClassType string
}

// Space groups VLANs.
type Space struct {
	ID                int
	Name, Description string
}

// VLAN is a VLAN of a fabric.
type VLAN struct {
	ID, VID, MTU int
	Name         string
	Fabric       *Fabric
	DHCP         bool
	Relay        *VLAN  // the VLAN whose DHCP serves it, or nil
	Space        *Space // nil for undefined
}

// Subnet is a network, whether or not MAAS knows it yet.
type Subnet struct {
	ID         int
	Name       string
	CIDR       netip.Prefix
	Gateway    string
	DNSServers []string
	VLAN       *VLAN
	HasRack    bool // whether MAAS's own server has an address on it

	DisabledBoot                                            []string // boot methods that its machines cannot use
	Description                                             string
	RDNSMode                                                int  // MAAS's mode minus 2, so that zero is MAAS's default
	IsUnmanaged, ForbidsDNS, ForbidsProxy, IsActivelyLooked bool // all false by default in MAAS
}

// IPRange is a dynamic or a reserved range of a subnet. It includes both ends.
type IPRange struct {
	ID         int
	Kind       string // "dynamic" or "reserved"
	Start, End netip.Addr
	Subnet     *Subnet
	Comment    string
	Owner      *User // nil for a range of the model
}

// ReservedIP is an address that a user reserved, or that a DNS record left
// behind.
type ReservedIP struct {
	IP      netip.Addr
	Subnet  *Subnet // nil for an address outside of all subnets
	Owner   *User
	Created time.Time
}

// StaticRoute is a route from one subnet to another through a gateway.
type StaticRoute struct {
	ID, Metric          int
	Source, Destination *Subnet
	Gateway             netip.Addr
}
