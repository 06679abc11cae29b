package client

import (
	"context"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// IsSameSubnet tells whether two texts name one subnet by its name or its CIDR. list returns
// the subnets. If MAAS cannot be asked, only equal texts are the same.
func IsSameSubnet(ctx context.Context, list func(context.Context) ([]engine.Subnet, error), want, had texttype.Subnet) bool {
	if want.MeansSame(had) {
		return true
	}
	if want.IsUnknown() || had.IsNull() {
		return false
	}
	all, err := list(ctx)
	if err != nil {
		return false
	}
	wanted, found := findSubnet(all, want.Canonical())
	before, known := findSubnet(all, had.Canonical())
	return found && known && wanted.ID == before.ID
}

// findSubnet finds the only subnet of a CIDR or a name. Names need not be unique.
func findSubnet(all []engine.Subnet, text string) (engine.Subnet, bool) {
	var named []engine.Subnet
	for _, s := range all {
		if s.CIDR == text {
			return s, true
		}
		if s.Name == text {
			named = append(named, s)
		}
	}
	if len(named) != 1 {
		return engine.Subnet{}, false
	}
	return named[0], true
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
