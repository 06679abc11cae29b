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

// ValidateConfig checks what concerns several attributes at once.
func (r *machineResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config machineModel
	diags := &resp.Diagnostics
	diags.Append(req.Config.Get(ctx, &config)...)
	if diags.HasError() {
		return
	}
	if !values.IsWellFormed(ctx, req.Config) { // the types say so
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
				diagnostics.ReportError(diags, "deploy machine "+config.Name.ValueString(), err)
			}
		}
	}
}

// checkSource wants exactly one of machine and selector. What is not known yet may still
// turn out to be absent.
func checkSource(config machineModel, diags *diag.Diagnostics) {
	machine, selector := config.Machine, config.Selector
	switch {
	case values.IsSet(machine) && values.IsSet(selector):
		diags.AddAttributeError(path.Root("selector"), "Both a machine and a selector",
			"machine names a machine, and selector leaves the choice open. Leave one of them out.")
	case machine.IsNull() && selector.IsNull():
		diags.AddAttributeError(path.Root("machine"), "Neither a machine nor a selector",
			"Name a machine by machine, or say with selector which ones will do: selector = {} takes any that is Ready.")
	}
}

// sourceAttribute is the attribute that says which machine is taken.
func (m machineModel) sourceAttribute() path.Path {
	if values.IsSet(m.Machine) {
		return path.Root("machine")
	}
	return path.Root("selector")
}
