package vm

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

// sameSubnet tells whether two texts name one subnet, by its name or its CIDR.
// Where MAAS cannot be asked, only equal texts do.
func (p *vmPlan) sameSubnet(ctx context.Context, want, had types.String) bool {
	if want.Equal(had) {
		return true
	}
	if want.IsUnknown() || had.IsNull() {
		return false
	}
	all, err := p.subnets(ctx)
	if err != nil {
		return false
	}
	wanted, found := subnetOf(all, want.ValueString())
	before, known := subnetOf(all, had.ValueString())
	return found && known && wanted.ID == before.ID
}

// subnetOf finds the one subnet of a CIDR or a name. Names need not be unique.
func subnetOf(all []engine.Subnet, text string) (engine.Subnet, bool) {
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

// subnets lists the subnets of MAAS.
func (r *vmResource) subnets(ctx context.Context) ([]engine.Subnet, error) {
	b, err := r.client.Use()
	if err != nil {
		return nil, err
	}
	look, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	return b.Names.Subnets(look)
}
