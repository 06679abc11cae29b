package machine

import (
	"context"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// spec turns a plan into a spec for the engine. The configuration has the user-data, which a
// plan does not hold.
func (m machineModel) spec(ctx context.Context, config machineModel, diags *diag.Diagnostics) engine.MachineSpec {
	spec := engine.MachineSpec{
		Machine: m.Machine.ValueString(), Select: values.SelectorSpec(ctx, m.Selector, diags),
		Interfaces: fixedAddresses(m.interfaces(ctx, diags)), Deploy: &engine.Deployment{},
	}
	if d := config.deploy(ctx, diags); d != nil {
		spec.Deploy = d.spec()
	}
	spec.Hostname = config.Hostname.ValueString()
	spec.InPlaceSettings = engine.InPlaceSettings{
		Zone: config.Zone.ValueString(), Pool: config.Pool.ValueString(), Domain: config.Domain.ValueString(),
		Tags: values.SortedStrings(m.Tags), Description: config.Description.ValueStringPointer(),
		Locked: config.Protection.ValueBoolPointer(), Annotations: values.DeclaredAnnotations(m.Annotations),
	}
	return spec
}

// plannedDeployment is the deployment of a plan, with the user-data of the configuration. It
// is for an existing machine: the value of a removed line is only in the plan.
func (m machineModel) plannedDeployment(ctx context.Context, config machineModel, diags *diag.Diagnostics) *engine.Deployment {
	d := m.deployOrNothing(ctx, diags)
	d.UserDataWO = config.deployOrNothing(ctx, diags).UserDataWO
	return d.spec()
}

// fixedAddresses are the interfaces whose address is known.
func fixedAddresses(interfaces map[string]interfaceModel) []engine.FixedAddress {
	var all []engine.FixedAddress
	for _, label := range sortedLabels(interfaces) {
		i := interfaces[label]
		ip, err := netip.ParseAddr(i.IP.ValueString())
		if err != nil {
			continue // the address is unknown
		}
		all = append(all, engine.FixedAddress{Name: label, NIC: i.NIC.ValueString(), Subnet: i.Subnet.Canonical(), IP: ip})
	}
	return all
}
