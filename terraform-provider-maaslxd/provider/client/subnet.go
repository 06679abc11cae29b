package client

import (
	"context"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// Place is where an address of an existing object is, as MAAS lists it now. The zero value: it is
// not known.
type Place struct {
	Subnet string // CIDR; empty: the interface has no address
	VLAN   int    // id of the VLAN of an interface without addresses
}

// WhichAddress says which address of an interface is meant: the one at Index of Count, or the one that
// is IP. IP is empty if the configuration had none.
type WhichAddress struct {
	Index, Count int
	IP           string
}

// PlaceOf is the place of an address of an interface, by its links. An address beside the first one
// is known by its index only if there are as many links as addresses.
func PlaceOf(links []engine.InterfaceLink, vlan int, which WhichAddress) Place {
	links = slices.DeleteFunc(slices.Clone(links), func(l engine.InterfaceLink) bool { return l.Subnet == "" })
	at := slices.IndexFunc(links, func(l engine.InterfaceLink) bool { return which.IP != "" && l.IP == which.IP })
	switch {
	case at >= 0:
	case which.Index > 0 && len(links) == which.Count:
		at = which.Index
	case which.Index > 0, which.IP != "":
		return Place{}
	case len(links) == 0:
		return Place{VLAN: vlan}
	default: // the first one with an address, if any has one
		at = max(0, slices.IndexFunc(links, func(l engine.InterfaceLink) bool { return l.Mode != engine.LinkUp }))
	}
	return Place{Subnet: links[at].Subnet}
}

// isIn tells whether the place is in a subnet. Without an address, an interface is in each subnet
// of its VLAN.
func (p Place) isIn(s engine.Subnet) bool {
	if p.Subnet != "" {
		return p.Subnet == s.CIDR
	}
	return p.VLAN != 0 && p.VLAN == s.VLAN
}

// IsSameSubnet is IsSameNetwork for texts that name a subnet by its name or its CIDR.
func IsSameSubnet(ctx context.Context, list func(context.Context) ([]engine.Subnet, error), want, had texttype.Subnet, now func() Place) bool {
	if want.MeansSame(had) {
		return true
	}
	if want.IsUnknown() {
		return false
	}
	return IsSameNetwork(ctx, list, engine.Network{Subnet: want.Canonical()}, engine.Network{Subnet: had.Canonical()}, now)
}

// IsSameNetwork tells whether the wanted network chooses the subnet that the former one chooses, or
// the one where the object is now. The latter finds a subnet whose name, fabric or space somebody
// changed in MAAS: MAAS no longer knows the former one. list returns the subnets. If MAAS cannot
// be asked, the networks are not the same.
func IsSameNetwork(ctx context.Context, list func(context.Context) ([]engine.Subnet, error), want, had engine.Network, now func() Place) bool {
	if want.IsEmpty() {
		return false
	}
	all, err := list(ctx)
	if err != nil {
		return false
	}
	to, found := want.ChooseSubnet(all)
	if !found {
		return false
	}
	from, known := had.ChooseSubnet(all)
	return known && !had.IsEmpty() && to.ID == from.ID || now().isIn(to)
}

// NICName is the name of the NIC of a machine that a text names by its name or its MAC address. A
// text that names no NIC stays.
func NICName(m engine.Machine, text string) string {
	for _, i := range m.Interfaces {
		if strings.EqualFold(i.MAC, text) {
			return i.Name
		}
	}
	return text
}

// Subnets lists the subnets of MAAS during a plan.
func (c *Client) Subnets(ctx context.Context) ([]engine.Subnet, error) {
	b, err := c.Backend()
	if err != nil {
		return nil, err
	}
	look, cancel := context.WithTimeout(ctx, ReadTimeout)
	defer cancel()
	return b.Names.Subnets(look)
}
