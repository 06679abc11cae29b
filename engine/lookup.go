package engine

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// CheckMayCompose returns an error if this MAAS or this API key cannot make VMs at all.
func (c Config) CheckMayCompose(ctx context.Context) error {
	if err := c.Composer.CheckCanCompose(ctx); err != nil {
		return err
	}
	can, err := c.Catalog.Capabilities(ctx)
	if err != nil || can.Admin {
		return err
	}
	return &Refusal{
		Message: fmt.Sprintf("the user %q of MAAS may not compose VMs", can.Username),
		Hint:    "MAAS reserves that to administrators: use the API key of one.", Err: ErrForbidden,
	}
}

// CheckName looks a name up in one of MAAS's lists. An empty name is no error.
func CheckName(ctx context.Context, names Names, field fieldpath.Path, kind, name string, list func(context.Context) ([]string, error)) error {
	if name == "" {
		return nil
	}
	found, all, err := FindInList(ctx, names, namedLists[kind], list, func(n string) bool { return n == name })
	if err == nil && len(found) == 0 {
		err = UnknownNameError(field, kind, name, all)
	}
	return err
}

// namedLists are the cached lists of the kinds that CheckName looks up.
var namedLists = map[string]List{
	"zone": ListZones, "resource pool": ListPools, "domain": ListDomains, kindFabric: ListSubnets, kindSpace: ListSubnets, kindVLAN: ListSubnets,
}

// FindInList returns the match in a cached list, and the list. Before it reports no match, it
// looks in a fresh list: in one apply, another resource may just have made the named object.
func FindInList[T any](
	ctx context.Context, names Names, what List, list func(context.Context) ([]T, error), matches func(T) bool,
) (found, all []T, err error) {
	for range 2 {
		if all, err = list(ctx); err != nil {
			return nil, nil, err
		}
		for _, item := range all {
			if matches(item) {
				found = append(found, item)
			}
		}
		if len(found) > 0 {
			break
		}
		names.Refresh(what)
	}
	return found, all, nil
}

// UnknownNameError says that MAAS knows no such name, and which names it knows. It points out a
// name that differs by case alone.
func UnknownNameError(field fieldpath.Path, kind, name string, known []string) error {
	return unknownError(field, fmt.Sprintf("MAAS knows no %s %q", kind, name), name, known)
}

// NoStoragePoolError is UnknownNameError for a storage pool of a VM host, or of all VM hosts if
// host is empty.
func NoStoragePoolError(field fieldpath.Path, host, name string, known []string) error {
	of := "VM host " + host + " has no"
	if host == "" {
		of = "no VM host has a"
	}
	return unknownError(field, fmt.Sprintf("%s storage pool %q", of, name), name, known)
}

func unknownError(field fieldpath.Path, message, name string, known []string) error {
	const most = 12
	hint := "None exists yet. Make it first, or correct the name."
	if n := slices.IndexFunc(known, func(k string) bool { return k != name && strings.EqualFold(k, name) }); n >= 0 {
		hint = fmt.Sprintf("Did you mean %q? Names differ by case.", known[n])
	} else if len(known) > 0 {
		hint = "Known: " + strings.Join(known[:min(most, len(known))], ", ")
		if len(known) > most {
			hint += fmt.Sprintf(" and %d more", len(known)-most)
		}
		hint += "."
	}
	return &SpecError{Field: field, Message: message, Hint: hint, Err: ErrNotFound}
}

// FindSubnet finds a subnet by CIDR or name. Names of subnets need not be unique.
func (c Config) FindSubnet(ctx context.Context, field fieldpath.Path, wanted string) (Subnet, error) {
	found, all, err := FindInList(ctx, c.Names, ListSubnets, c.Names.Subnets, func(s Subnet) bool { return s.CIDR == wanted || s.Name == wanted })
	if err != nil {
		return Subnet{}, err
	}
	switch {
	case len(found) == 0:
		return Subnet{}, unknownSubnetError(field.Child("subnet"), wanted, all)
	case len(found) > 1 && found[0].CIDR != wanted:
		return Subnet{}, &SpecError{
			Field: field.Child("subnet"), Message: fmt.Sprintf("%d subnets are called %q", len(found), wanted),
			Hint: "Name one by its CIDR: " + strings.Join(SubnetCIDRs(found), ", ") + ".",
		}
	}
	return found[0], nil
}

// unknownSubnetError is UnknownNameError for a subnet. It lists names and CIDRs, because a spec may
// have either.
func unknownSubnetError(field fieldpath.Path, wanted string, all []Subnet) error {
	known := make([]string, len(all))
	for n, s := range all {
		if strings.EqualFold(s.Name, wanted) {
			return UnknownNameError(field, "subnet", wanted, []string{s.Name})
		}
		known[n] = s.Text()
	}
	return UnknownNameError(field, "subnet", wanted, known)
}

// FindNetwork finds the subnet that a network chooses. Of several on one VLAN, it takes the
// IPv4 one. The error is a *SpecError if there is none, or more than one.
func (c Config) FindNetwork(ctx context.Context, field fieldpath.Path, n Network) (Subnet, error) {
	found, all, err := FindInList(ctx, c.Names, ListSubnets, c.Names.Subnets, n.matchesSubnet)
	if err != nil {
		return Subnet{}, err
	}
	if chosen, ok := n.ChooseSubnet(found); ok {
		return chosen, nil
	}
	switch {
	case len(found) == 0:
		return Subnet{}, c.noNetworkError(ctx, field, n, all)
	case n.Subnet != "":
		return c.FindSubnet(ctx, field, n.Subnet)
	}
	return Subnet{}, &SpecError{
		Field: field, Message: fmt.Sprintf("%d subnets are %s", len(found), n.describe()),
		Hint: "Name one by subnet: " + SubnetTexts(found) + ".",
	}
}

// ChooseSubnet finds the one subnet of the network, if there is one.
func (n Network) ChooseSubnet(all []Subnet) (Subnet, bool) {
	found := slices.DeleteFunc(slices.Clone(all), func(s Subnet) bool { return !n.matchesSubnet(s) })
	by := func(s Subnet) bool { return s.CIDR != n.Subnet } // a CIDR always means the CIDR, even if a subnet has that name
	if n.Subnet == "" {
		by = Subnet.isIPv6
	}
	if len(found) > 1 && (n.Subnet != "" || areOnOneVLAN(found)) {
		found = slices.DeleteFunc(found, by)
	}
	if len(found) != 1 {
		return Subnet{}, false
	}
	return found[0], true
}

// matchesSubnet tells whether a subnet belongs to the network.
func (n Network) matchesSubnet(s Subnet) bool {
	return (n.Subnet == "" || s.CIDR == n.Subnet || s.Name == n.Subnet) &&
		(n.VID == nil || s.VID == *n.VID) && (n.Fabric == "" || s.Fabric == n.Fabric) && (n.Space == "" || s.Space == n.Space)
}

// describe says where the subnets of the network are: "on VLAN 10 in space dmz".
func (n Network) describe() string {
	var words []string
	if n.VID != nil {
		words = append(words, fmt.Sprintf("on VLAN %d", *n.VID))
	}
	if n.Fabric != "" {
		words = append(words, "in fabric "+n.Fabric)
	}
	if n.Space != "" {
		words = append(words, "in space "+n.Space)
	}
	return strings.Join(words, " ")
}

func (s Subnet) isIPv6() bool { return strings.Contains(s.CIDR, ":") }

func areOnOneVLAN(subnets []Subnet) bool {
	return !slices.ContainsFunc(subnets, func(s Subnet) bool { return s.VLAN != subnets[0].VLAN })
}

// noNetworkError says which part of a network is unknown, or that its parts contradict each
// other.
func (c Config) noNetworkError(ctx context.Context, field fieldpath.Path, n Network, all []Subnet) error {
	if err := n.unknownPartError(field, all); err != nil {
		return err
	}
	if n.Subnet == "" {
		return &SpecError{Field: field, Message: "MAAS has no subnet " + n.describe(), Hint: "Correct one of them, or leave one out.", Err: ErrNotFound}
	}
	subnet, err := c.FindSubnet(ctx, field, n.Subnet)
	if err != nil {
		return err
	}
	return &SpecError{
		Field: field.Child("subnet"), Message: fmt.Sprintf("subnet %s is not %s", n.Subnet, n.describe()),
		Hint: fmt.Sprintf("It is %s. Correct one of them, or leave one out.", Network{VID: &subnet.VID, Fabric: subnet.Fabric, Space: subnet.Space}.describe()), Err: ErrInvalid,
	}
}

// CheckNetworkNames refuses a fabric, a space or a VLAN tag in which MAAS has no subnet. Parts
// that are known may contradict each other.
func CheckNetworkNames(ctx context.Context, names Names, field fieldpath.Path, n Network) error {
	for _, part := range n.parts() {
		list := func(ctx context.Context) ([]string, error) {
			all, err := names.Subnets(ctx)
			return knownParts(all, part.of), err
		}
		if err := CheckName(ctx, names, field.Child(part.attribute), part.kind, part.name, list); err != nil {
			return err
		}
	}
	return nil
}

// networkPart is a part by which a network chooses a subnet.
type networkPart struct {
	attribute, kind, name string
	of                    func(Subnet) string
}

// The kinds of the parts, as messages name them.
const (
	kindFabric = "fabric with a subnet, called"
	kindSpace  = "space with a subnet, called"
	kindVLAN   = "VLAN with a subnet and the tag"
)

func (n Network) parts() []networkPart {
	return []networkPart{
		{"fabric", kindFabric, n.Fabric, func(s Subnet) string { return s.Fabric }},
		{"space", kindSpace, n.Space, func(s Subnet) string { return s.Space }},
		{"vlan", kindVLAN, n.vidText(), func(s Subnet) string { return strconv.Itoa(s.VID) }},
	}
}

// unknownPartError says which part of a network none of the subnets has. It is nil if each part
// is known.
func (n Network) unknownPartError(field fieldpath.Path, all []Subnet) error {
	for _, part := range n.parts() {
		known := knownParts(all, part.of)
		if part.name != "" && !slices.Contains(known, part.name) {
			return UnknownNameError(field.Child(part.attribute), part.kind, part.name, known)
		}
	}
	return nil
}

func (n Network) vidText() string {
	if n.VID == nil {
		return ""
	}
	return strconv.Itoa(*n.VID)
}

// knownParts lists one property of the subnets, sorted, each value once.
func knownParts(all []Subnet, of func(Subnet) string) []string {
	var known []string
	for _, s := range all {
		if part := of(s); part != "" {
			known = append(known, part)
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// FindLinkSubnet finds the subnet of a link. The interface's network has the subnet network. An
// interface is on one VLAN, and so are all its addresses.
func (c Config) FindLinkSubnet(ctx context.Context, l WantedLink, network Subnet) (Subnet, error) {
	if l.Subnet == "" {
		return network, nil
	}
	subnet, err := c.FindSubnet(ctx, l.Field, l.Subnet)
	if err == nil && subnet.VLAN != network.VLAN {
		err = &SpecError{
			Field: l.Field.Child("subnet"), Message: fmt.Sprintf("subnet %s is on another VLAN than %s, but an interface is on one VLAN only", subnet.CIDR, network.CIDR),
			Hint: "Give the VM another interface for it.", Err: ErrInvalid,
		}
	}
	return subnet, err
}

// CheckDHCPLinks refuses DHCP beside another address of the same family. MAAS removes the one
// when it sets the other (models/interface.py, remove_link_dhcp).
func CheckDHCPLinks(links []WantedLink, subnets []Subnet) error {
	for n, l := range links {
		same := func(o int) bool { return o != n && subnets[o].isIPv6() == subnets[n].isIPv6() }
		if l.Mode != LinkDHCP || !slices.ContainsFunc(indexes(links), same) {
			continue
		}
		return &SpecError{
			Field: l.Field.Child("mode"), Message: "an interface with DHCP cannot have another address of the same family, IPv4 or IPv6",
			Hint: "Set the mode auto or static, or remove the other address.", Err: ErrInvalid,
		}
	}
	return nil
}

func indexes[T any](list []T) []int {
	n := make([]int, len(list))
	for i := range n {
		n[i] = i
	}
	return n
}

// CheckDHCP refuses a subnet without DHCP: no VM can boot from it.
func (s Subnet) CheckDHCP(field fieldpath.Path) error {
	if s.DHCP {
		return nil
	}
	return &SpecError{
		Field: field.Child("subnet"), Message: fmt.Sprintf("MAAS serves no DHCP on the VLAN of %s", s.CIDR),
		Hint: "A VM boots from the network of its first interface: turn DHCP on for that VLAN, or put another interface first.",
	}
}

// SubnetCIDRs are the CIDRs of the subnets, in their order.
func SubnetCIDRs(subnets []Subnet) []string {
	list := make([]string, len(subnets))
	for n, s := range subnets {
		list[n] = s.CIDR
	}
	return list
}

// Text names the subnet for people: lan (10.77.0.0/24).
func (s Subnet) Text() string {
	if s.Name == "" || s.Name == s.CIDR {
		return s.CIDR
	}
	return fmt.Sprintf("%s (%s)", s.Name, s.CIDR)
}

// SubnetTexts names subnets for people, in their order.
func SubnetTexts(subnets []Subnet) string {
	list := make([]string, len(subnets))
	for n, s := range subnets {
		list[n] = s.Text()
	}
	return JoinNames(list)
}

// dnsLabelPattern is one DNS label. MAAS would accept a dot, too, but then LXD refuses
// the instance.
var (
	dnsLabelPattern     = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	leadingDigitPattern = regexp.MustCompile(`^[0-9]`)
)
