package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// check looks in MAAS for everything that the spec names, before anything is
// made, and returns where the VM may go.
func (v *vms) check(ctx context.Context, key Key, want VMSpec) (sites, error) {
	if err := v.capable(ctx); err != nil {
		return sites{}, err
	}
	for _, check := range []func() error{
		func() error { return v.checkNames(ctx, want) },
		func() error { return v.checkInterfaces(ctx, want.Interfaces) },
		func() error { return v.checkImage(ctx, want.Deploy) },
		func() error { return v.checkAddresses(ctx, key, want) },
	} {
		if err := check(); err != nil {
			return sites{}, err
		}
	}
	return v.sites(ctx, key, want, nil)
}

// capable says whether VMs can be made at all, with this MAAS and this key.
func (c Config) capable(ctx context.Context) error {
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

func (v *vms) checkNames(ctx context.Context, want VMSpec) error {
	for _, n := range v.namesOf(want) {
		if err := checkName(ctx, v.Names, n.field, n.kind, n.name, n.list); err != nil {
			return err
		}
	}
	return nil
}

// nameOf is a name in a spec, with the list of MAAS's that it must be in.
type nameOf struct {
	field, kind, name string
	list              func(context.Context) ([]string, error)
}

func (v *vms) namesOf(want VMSpec) []nameOf {
	return []nameOf{
		{"placement.zone", "zone", want.Placement.Zone, v.Names.Zones},
		{"placement.pool", "resource pool", want.Placement.Pool, v.Names.Pools},
		{"zone", "zone", want.Zone, v.Names.Zones},
		{"pool", "resource pool", want.Pool, v.Names.Pools},
		{"domain", "domain", want.Domain, v.Names.Domains},
	}
}

// checkName looks a name up in one of MAAS's lists. No name is no error.
func checkName(ctx context.Context, names Names, field, kind, name string, list func(context.Context) ([]string, error)) error {
	if name == "" {
		return nil
	}
	found, all, err := find(ctx, names, namedLists[kind], list, func(n string) bool { return n == name })
	if err == nil && len(found) == 0 {
		err = unknown(field, kind, name, all)
	}
	return err
}

// namedLists are the cached lists of the kinds that checkName looks up.
var namedLists = map[string]List{"zone": ListZones, "resource pool": ListPools, "domain": ListDomains}

// find returns what matches in a cached list, and the list. It looks once more
// in a fresh list before it finds nothing: in one apply, another resource may
// just have made what is named.
func find[T any](
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

func (v *vms) checkInterfaces(ctx context.Context, interfaces []Interface) error {
	for n, i := range interfaces {
		field := "interfaces." + i.Name
		subnet, err := v.subnet(ctx, field, i.Subnet)
		if err != nil {
			return err
		}
		if n == 0 {
			if err := subnet.boots(field); err != nil {
				return err
			}
		}
	}
	return nil
}

// boots refuses a subnet from which no VM boots.
func (s Subnet) boots(field string) error {
	if s.DHCP {
		return nil
	}
	return &SpecError{
		Field: field + ".subnet", Message: fmt.Sprintf("MAAS serves no DHCP on the VLAN of %s", s.CIDR),
		Hint: "A VM boots from the network of its first interface: turn DHCP on for that VLAN, or put another interface first.",
	}
}

// subnet finds a subnet by CIDR or name. Names of subnets need not be unique.
func (c Config) subnet(ctx context.Context, field, wanted string) (Subnet, error) {
	found, all, err := find(ctx, c.Names, ListSubnets, c.Names.Subnets, func(s Subnet) bool { return s.CIDR == wanted || s.Name == wanted })
	if err != nil {
		return Subnet{}, err
	}
	switch {
	case len(found) == 0:
		return Subnet{}, unknown(field+".subnet", "subnet", wanted, cidrs(all))
	case len(found) > 1 && found[0].CIDR != wanted:
		return Subnet{}, &SpecError{
			Field: field + ".subnet", Message: fmt.Sprintf("%d subnets are called %q", len(found), wanted),
			Hint: "Name one by its CIDR: " + strings.Join(cidrs(found), ", ") + ".",
		}
	}
	return found[0], nil
}

func cidrs(subnets []Subnet) []string {
	list := make([]string, len(subnets))
	for n, s := range subnets {
		list[n] = s.CIDR
	}
	return list
}

func (c Config) checkImage(ctx context.Context, d *Deployment) error {
	if d == nil || d.Image == "" {
		return nil
	}
	found, images, err := find(ctx, c.Names, ListImages, c.Catalog.Images, d.installs)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return unknown("deploy.image", "image", d.Image, imageNames(images))
	}
	return d.checkKernel(found)
}

func unknown(field, kind, name string, known []string) error {
	const most = 12
	hint := "MAAS has none."
	if n := slices.IndexFunc(known, func(k string) bool { return k != name && strings.EqualFold(k, name) }); n >= 0 {
		hint = fmt.Sprintf("Did you mean %q? Names differ by case.", known[n])
	} else if len(known) > 0 {
		hint = "Known: " + strings.Join(known[:min(most, len(known))], ", ")
		if len(known) > most {
			hint += fmt.Sprintf(" and %d more", len(known)-most)
		}
		hint += "."
	}
	return &SpecError{
		Field: field, Message: fmt.Sprintf("MAAS knows no %s %q", kind, name), Hint: hint, Err: ErrNotFound,
	}
}
