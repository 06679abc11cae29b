package texttype

import (
	"net/netip"
	"strings"
)

// Subnet names a subnet of MAAS by its name or its CIDR. Only MAAS knows which name and CIDR
// belong to one subnet.
type Subnet = Value[subnet]

// SubnetType is the type of Subnet.
var SubnetType Type[subnet]

type subnet struct{}

func (subnet) name() string { return "Subnet" }

func (subnet) equivalent(a, b string) bool { return canonicalCIDR(a) == canonicalCIDR(b) }

func (subnet) canonical(text string) string { return canonicalCIDR(text) }

// problemOf also accepts "10.0.0.5/24", because a subnet of MAAS may have that name. The plan
// reports it if MAAS knows none.
func (subnet) problemOf(text string) string {
	if strings.TrimSpace(text) == "" {
		return "It is empty. Give the name of a subnet in MAAS, or its CIDR."
	}
	return ""
}

// canonicalCIDR does not change texts that are no CIDR, such as an address with its prefix.
func canonicalCIDR(text string) string {
	if cidr, err := netip.ParsePrefix(text); err == nil && cidr == cidr.Masked() {
		return cidr.String()
	}
	return text
}
