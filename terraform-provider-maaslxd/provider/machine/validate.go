package machine

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// ValidateConfig checks attributes that depend on each other.
func (r *machineResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config machineModel
	diags := &resp.Diagnostics
	diags.Append(req.Config.Get(ctx, &config)...)
	if diags.HasError() {
		return
	}
	if !values.IsWellFormed(ctx, req.Config) { // the types report it
		return
	}
	checkSource(config, diags)
	interfaces := config.interfaces(ctx, diags)
	values.CheckAddresses(sortedLabels(interfaces), func(label string) (subnet texttype.Subnet, ip texttype.IP) {
		return interfaces[label].Subnet, interfaces[label].IP
	}, diags)
	if d := config.deploy(ctx, diags); d != nil {
		values.CheckUserData("machine", d.UserDataWO, d.UserDataWOVersion, diags)
		if values.IsFullyKnown(ctx, d.StorageLayout) && !d.Ephemeral.IsUnknown() {
			if err := d.spec().ValidateStorage(); err != nil {
				diagnostics.ReportError(diags, "deploy "+values.ObjectTitle("machine", config.Name), err)
			}
		}
	}
}

// checkSource wants exactly one of machine and selector. A value that is not known yet may
// still turn out to be null.
func checkSource(config machineModel, diags *diag.Diagnostics) {
	machine, selector := config.Machine, config.Selector
	switch {
	case values.IsSet(machine) && values.IsSet(selector):
		diags.AddAttributeError(path.Root("selector"), "Both a machine and a selector",
			"machine names one machine, and selector lets the provider choose. Remove one of them.")
	case machine.IsNull() && selector.IsNull():
		diags.AddAttributeError(path.Root("machine"), "Neither a machine nor a selector",
			"Name a machine with machine, or describe it with selector: selector = {} takes any that is Ready.")
	}
}

// sourceAttribute is the attribute that chooses the machine.
func (m machineModel) sourceAttribute() path.Path {
	if values.IsSet(m.Machine) {
		return path.Root("machine")
	}
	return path.Root("selector")
}
