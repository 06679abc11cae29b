package engine

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// CheckMayCompose says whether VMs can be made at all, with this MAAS and this key.
func (c Config) CheckMayCompose(ctx context.Context) error {
	if err := c.Composer.Able(ctx); err != nil {
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

// CheckName looks a name up in one of MAAS's lists. No name is no error.
func CheckName(ctx context.Context, names Names, field, kind, name string, list func(context.Context) ([]string, error)) error {
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
var namedLists = map[string]List{"zone": ListZones, "resource pool": ListPools, "domain": ListDomains}

// FindInList returns what matches in a cached list, and the list. It looks once more
// in a fresh list before it finds nothing: in one apply, another resource may
// just have made what is named.
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

// UnknownNameError says that MAAS has nothing of a name, and what it has. A name that differs
// by case alone is pointed out.
func UnknownNameError(field, kind, name string, known []string) error {
	return unknownError(field, fmt.Sprintf("MAAS knows no %s %q", kind, name), name, known)
}

// NoStoragePoolError is UnknownNameError for a storage pool of a VM host, or, without one,
// of all of them.
func NoStoragePoolError(field, host, name string, known []string) error {
	of := "VM host " + host + " has no"
	if host == "" {
		of = "no VM host has a"
	}
	return unknownError(field, fmt.Sprintf("%s storage pool %q", of, name), name, known)
}

func unknownError(field, message, name string, known []string) error {
	const most = 12
	hint := "There is none."
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
func (c Config) FindSubnet(ctx context.Context, field, wanted string) (Subnet, error) {
	found, all, err := FindInList(ctx, c.Names, ListSubnets, c.Names.Subnets, func(s Subnet) bool { return s.CIDR == wanted || s.Name == wanted })
	if err != nil {
		return Subnet{}, err
	}
	switch {
	case len(found) == 0:
		return Subnet{}, UnknownNameError(field+".subnet", "subnet", wanted, SubnetCIDRs(all))
	case len(found) > 1 && found[0].CIDR != wanted:
		return Subnet{}, &SpecError{
			Field: field + ".subnet", Message: fmt.Sprintf("%d subnets are called %q", len(found), wanted),
			Hint: "Name one by its CIDR: " + strings.Join(SubnetCIDRs(found), ", ") + ".",
		}
	}
	return found[0], nil
}

// CheckDHCP refuses a subnet from which no VM boots.
func (s Subnet) CheckDHCP(field string) error {
	if s.DHCP {
		return nil
	}
	return &SpecError{
		Field: field + ".subnet", Message: fmt.Sprintf("MAAS serves no DHCP on the VLAN of %s", s.CIDR),
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

// label is one DNS label. MAAS would also take a dot, and LXD then refuses
// the instance.
var (
	label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	digit = regexp.MustCompile(`^[0-9]`)
)
