package engine

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// FindSubnetOf finds MAAS's subnet of an address; of several, the narrowest. The error is a
// *SpecError of the field if there is none.
func (c Config) FindSubnetOf(ctx context.Context, field fieldpath.Path, ip netip.Addr) (Subnet, error) {
	found, all, err := FindInList(ctx, c.Names, ListSubnets, c.Names.Subnets, func(s Subnet) bool { return prefixLengthFor(s, ip) >= 0 })
	if err != nil {
		return Subnet{}, err
	}
	if len(found) == 0 {
		return Subnet{}, &SpecError{
			Field: field, Message: fmt.Sprintf("%s is in no subnet of MAAS", ip),
			Hint: "Known: " + SubnetTexts(all) + ".", Err: ErrNotFound,
		}
	}
	return slices.MaxFunc(found, func(x, y Subnet) int { return prefixLengthFor(x, ip) - prefixLengthFor(y, ip) }), nil
}

// prefixLengthFor is the prefix length of a subnet that the address lies in, -1 if it lies
// elsewhere.
func prefixLengthFor(s Subnet, ip netip.Addr) int {
	prefix, err := netip.ParsePrefix(s.CIDR)
	if err != nil || !prefix.Contains(ip) {
		return -1
	}
	return prefix.Bits()
}

// CheckAddress checks whether an address of the subnet can be given to a machine, before
// anything is made. The machine self, which may be empty, may have it already. The error is a
// *SpecError of the field, which must end in .ip.
//
// A free address is no promise: the first to link it gets it. Claims keep other runs in this
// process apart. Against everything else, MAAS refuses the link with ErrConflict.
func (c Config) CheckAddress(ctx context.Context, field fieldpath.Path, subnet Subnet, ip netip.Addr, self string) error {
	use, err := c.LookUpAddress(ctx, field, subnet, ip)
	if err != nil || use.Purpose == AddressFree || self != "" && use.SystemID == self {
		return err
	}
	return use.UnusableError(field, ip)
}

// LookUpAddress returns the use of an address, if a machine of the subnet can have the address.
func (c Config) LookUpAddress(ctx context.Context, field fieldpath.Path, subnet Subnet, ip netip.Addr) (AddressUse, error) {
	prefix, err := netip.ParsePrefix(subnet.CIDR)
	if err != nil {
		return AddressUse{}, fmt.Errorf("MAAS has a subnet %q, which is not a CIDR: %w", subnet.CIDR, ErrUnavailable)
	}
	if problem := addressProblem(prefix, ip); problem != "" {
		return AddressUse{}, &SpecError{Field: field, Message: fmt.Sprintf("%s %s %s", ip, problem, subnet.CIDR), Hint: "Give a host address of the interface's subnet."}
	}
	use, err := c.Names.AddressUse(ctx, subnet, ip)
	if err != nil {
		return AddressUse{}, fmt.Errorf("cannot tell whether %s is free: %w", ip, err)
	}
	return use, nil
}

// UnusableError says why the address is not free.
func (u AddressUse) UnusableError(field fieldpath.Path, ip netip.Addr) *SpecError {
	bad := &SpecError{Field: field, Message: fmt.Sprintf("%s %s", ip, u.describe()), Hint: "Give a free address.", Err: ErrConflict}
	if u.NearbyFree.IsValid() {
		bad.Hint = fmt.Sprintf("%s is free.", u.NearbyFree)
	}
	return bad
}

// addressProblem says why no machine of the network can have an address; empty: one can.
func addressProblem(network netip.Prefix, ip netip.Addr) string {
	network = network.Masked()
	pointToPoint := network.Bits() >= ip.BitLen()-1
	switch {
	case !network.Contains(ip):
		return "is not in"
	case pointToPoint:
		return ""
	case ip == network.Addr():
		return "is the address of the network"
	case ip.Is4() && !network.Contains(ip.Next()):
		return "is the broadcast address of"
	}
	return ""
}

// describe says why the address is not free, as the end of a sentence.
func (u AddressUse) describe() string {
	switch u.Purpose {
	case AddressDynamic:
		return fmt.Sprintf("is in the dynamic range %s to %s, from which MAAS lends addresses to guests", u.First, u.Last)
	case AddressReserved:
		return fmt.Sprintf("is in the range %s to %s, which is reserved in MAAS", u.First, u.Last)
	case AddressGateway:
		return "is the subnet's gateway or DNS server"
	default:
		return "is in use by " + u.Holder
	}
}
