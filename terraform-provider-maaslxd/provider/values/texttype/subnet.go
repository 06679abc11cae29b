package texttype

import (
	"fmt"
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

func (subnet) same(a, b string) bool { return canonicalPrefix(a) == canonicalPrefix(b) }

func (subnet) canonical(text string) string { return canonicalPrefix(text) }

func (subnet) problem(text string) string {
	if strings.TrimSpace(text) == "" {
		return "It is empty. Give a name, or leave the attribute out."
	}
	host, bits, found := strings.Cut(text, "/")
	if _, err := netip.ParseAddr(host); !found || err != nil || bits == "" || strings.Trim(bits, "0123456789") != "" {
		return "" // a name
	}
	cidr, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return fmt.Sprintf(`%s is no CIDR: its prefix is too long. Write one such as "10.0.0.0/24".`, quoted(text))
	case cidr != cidr.Masked():
		return fmt.Sprintf("%s is an address in a subnet. Write the subnet: %q.", quoted(text), cidr.Masked())
	}
	return ""
}
