package maas

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// resolve looks up the numbers of all that the composition names.
func (c *Client) resolve(ctx context.Context, comp engine.Composition) (composeIDs, error) {
	var ids composeIDs
	var err error
	if ids.zone, err = idOf(ctx, c.zones, "zone", comp.Zone); err != nil {
		return ids, err
	}
	if ids.pool, err = idOf(ctx, c.pools, "pool", comp.Pool); err != nil {
		return ids, err
	}
	if ids.domain, err = idOf(ctx, c.domains, "domain", comp.Domain); err != nil {
		return ids, err
	}
	for _, i := range comp.Interfaces {
		subnet, err := c.subnetOf(ctx, i)
		if err != nil {
			return ids, err
		}
		ids.subnets = append(ids.subnets, subnet.ID)
	}
	return ids, nil
}

// find looks for what matches in a cached list, and once more in a fresh one.
func find[T any](ctx context.Context, list *cached[[]T], matches func(T) bool) (found, all []T, err error) {
	for _, read := range []func(context.Context) ([]T, error){list.get, list.reread} {
		if all, err = read(ctx); err != nil {
			return nil, nil, err
		}
		if found = filter(all, matches); len(found) > 0 {
			break
		}
	}
	return found, all, nil
}

func filter[T any](all []T, matches func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(item T) bool { return !matches(item) })
}

// idOf returns the number of a zone, pool or domain, empty for no name.
func idOf(ctx context.Context, list *cached[[]named], field, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	found, all, err := find(ctx, list, func(n named) bool { return n.Name == name })
	if err != nil {
		return "", fmt.Errorf("cannot look up %s %s: %w", field, name, err)
	}
	if len(found) == 0 {
		known, _ := onlyNames(all, nil)
		return "", unknown(field, field, name, known)
	}
	return strconv.Itoa(found[0].ID), nil
}

// subnetOf returns the subnet that an interface names, by CIDR or by name. A
// subnet's name need not be unique, its CIDR is.
func (c *Client) subnetOf(ctx context.Context, i engine.Interface) (engine.Subnet, error) {
	field := "interfaces." + i.Name + ".subnet"
	found, all, err := find(ctx, c.subnets, func(s engine.Subnet) bool { return s.CIDR == i.Subnet || s.Name == i.Subnet })
	if err != nil {
		return engine.Subnet{}, fmt.Errorf("cannot look up subnet %s: %w", i.Subnet, err)
	}
	if byCIDR := filter(found, func(s engine.Subnet) bool { return s.CIDR == i.Subnet }); len(byCIDR) > 0 {
		return byCIDR[0], nil
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return engine.Subnet{}, unknown(field, "subnet", i.Subnet, cidrs(all))
	}
	return engine.Subnet{}, &engine.SpecError{
		Field:   field,
		Message: fmt.Sprintf("%d subnets have the name %q", len(found), i.Subnet),
		Hint:    "Name it by its CIDR: " + strings.Join(cidrs(found), ", ") + ".",
	}
}

func cidrs(subnets []engine.Subnet) []string {
	var list []string
	for _, s := range subnets {
		list = append(list, s.CIDR)
	}
	slices.Sort(list)
	return list
}

// maxKnown bounds the names in a hint.
const maxKnown = 20

func unknown(field, what, name string, known []string) error {
	hint := "MAAS has none."
	if more := len(known) - maxKnown; more > 0 {
		known = append(known[:maxKnown:maxKnown], fmt.Sprintf("and %d more", more))
	}
	if len(known) > 0 {
		hint = "MAAS has: " + strings.Join(known, ", ") + "."
	}
	return &engine.SpecError{
		Field:   field,
		Message: fmt.Sprintf("MAAS has no %s %q", what, name),
		Hint:    hint,
		Err:     engine.ErrNotFound,
	}
}
