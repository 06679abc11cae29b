package texttype

import (
	"net/netip"
	"strings"
)

// Subnet names a subnet of MAAS, by its name or its CIDR. That a name and a CIDR are of one
// subnet, only MAAS can tell.
type Subnet = Value[subnet]

// SubnetType is the type of Subnet.
var SubnetType Type[subnet]

type subnet struct{}

func (subnet) name() string { return "Subnet" }

func (subnet) equivalent(a, b string) bool { return canonicalCIDR(a) == canonicalCIDR(b) }

func (subnet) canonical(text string) string { return canonicalCIDR(text) }

// problemOf takes "10.0.0.5/24", too: a subnet of MAAS may be called so. The plan says where MAAS
// knows none.
func (subnet) problemOf(text string) string {
	if strings.TrimSpace(text) == "" {
		return "It is empty. Give the name of a subnet in MAAS, or its CIDR."
	}
	return ""
}

// canonicalCIDR leaves texts alone that are none, such as an address with its prefix.
func canonicalCIDR(text string) string {
	if cidr, err := netip.ParsePrefix(text); err == nil && cidr == cidr.Masked() {
		return cidr.String()
	}
	return text
}
