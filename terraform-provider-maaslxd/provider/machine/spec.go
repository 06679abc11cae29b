package machine

import (
	"context"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// spec turns a plan into what the engine is to bring about. The configuration adds what a
// plan does not hold, the user-data.
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

// plannedDeployment is what a plan installs, with the user-data of the configuration. It is for a machine
// that is there: a line that was removed is in the plan alone.
func (m machineModel) plannedDeployment(ctx context.Context, config machineModel, diags *diag.Diagnostics) *engine.Deployment {
	d := m.deployOrNothing(ctx, diags)
	d.UserDataWO = config.deployOrNothing(ctx, diags).UserDataWO
	return d.spec()
}

// fixedAddresses are those of interfaces whose address is known.
func fixedAddresses(interfaces map[string]interfaceModel) []engine.FixedAddress {
	var all []engine.FixedAddress
	for _, label := range sortedLabels(interfaces) {
		i := interfaces[label]
		ip, err := netip.ParseAddr(i.IP.ValueString())
		if err != nil {
			continue // unknown
		}
		all = append(all, engine.FixedAddress{Name: label, NIC: i.NIC.ValueString(), Subnet: i.Subnet.Canonical(), IP: ip})
	}
	return all
}
