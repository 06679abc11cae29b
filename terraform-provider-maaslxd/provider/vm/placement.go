package vm

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/placement"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

type placementModel struct {
	Zone     types.String `tfsdk:"zone"`
	Pool     types.String `tfsdk:"pool"`
	Tags     types.Set    `tfsdk:"tags"`
	Group    types.String `tfsdk:"group"`
	Strategy types.String `tfsdk:"strategy"`
}

var placementType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"zone": types.StringType, "pool": types.StringType, "tags": types.SetType{ElemType: types.StringType},
	"group": types.StringType, "strategy": types.StringType,
}}

func placementAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Which VM hosts will do, instead of one by name. The VM goes to one that has room for it; `placement = {}` takes any. " +
			"Exactly one of `vm_host` and `placement` must be set. It is looked at when the VM is made, and at no other time: the VM " +
			"stays on the VM host that was chosen, which `vm_host` tells, and a change of `placement` moves nothing. " +
			"`terraform apply -replace=ADDRESS` makes the VM anew by the present one.",
		Attributes: placementAttributes(),
	}
}

// placementAttributes say which VM hosts will do.
func placementAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"zone": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Availability zone that the VM host must be in, by name. Default: any.",
			Validators:          []validator.String{values.NotEmpty()},
		},
		"pool": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Resource pool that the VM host must be in, by name. Default: any.",
			Validators:          []validator.String{values.NotEmpty()},
		},
		"tags": schema.SetAttribute{
			Optional:            true,
			ElementType:         types.StringType,
			MarkdownDescription: "Tags that the VM host must carry, all of them. Default: none.",
			Validators:          []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(values.Tag())},
		},
		"group": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Name of a group of VMs that shall stand apart: they spread over the availability zones first, then over the " +
				"VM hosts. VMs of other configurations with the same ledger and MAAS count, if their group has the same name. " +
				"1 to 128 letters, digits, `.`, `_`, `-` and `/`. Default: no group.",
			Validators: []validator.String{groupNameValidator()},
		},
		"strategy": schema.StringAttribute{
			Optional: true,
			Computed: true,
			Default:  stringdefault.StaticString(string(placement.Spread)),
			MarkdownDescription: "Which VM host is taken where the group does not decide: `spread` takes the one that is the least full with " +
				"the VM on it, `pack` the fullest. Default `spread`.",
			Validators: []validator.String{stringvalidator.OneOf(string(placement.Spread), string(placement.Pack))},
		},
	}
}

// placement decodes which VM hosts will do; nil if that is not said or not
// known.
func (m vmModel) placement(ctx context.Context, diags *diag.Diagnostics) *placementModel {
	return values.DecodeObject[placementModel](ctx, m.Placement, diags)
}

func (p placementModel) spec() engine.Placement {
	return engine.Placement{
		Zone: p.Zone.ValueString(), Pool: p.Pool.ValueString(), Tags: values.SortedStrings(p.Tags),
		Group: p.Group.ValueString(), Strategy: placement.Strategy(p.Strategy.ValueString()),
	}
}

// checkHostOrPlacement wants exactly one of vm_host and placement. What is not known yet
// may still turn out to be absent.
func checkHostOrPlacement(config vmModel, diags *diag.Diagnostics) {
	host, place := config.VMHost, config.Placement
	switch {
	case !host.IsNull() && !host.IsUnknown() && !place.IsNull() && !place.IsUnknown():
		diags.AddAttributeError(path.Root("placement"), "Both a VM host and a placement",
			"vm_host names the VM host, and placement leaves the choice open. Leave one of them out.")
	case host.IsNull() && place.IsNull():
		diags.AddAttributeError(path.Root("vm_host"), "Neither a VM host nor a placement",
			"Name a VM host by vm_host, or say with placement which ones will do: placement = {} takes any that has room.")
	}
}

// warnPlacementIgnored tells that another placement does not move the VM.
func (p *vmPlan) warnPlacementIgnored() {
	had, want := p.state.Placement, p.plan.Placement
	if had.IsNull() || want.IsNull() || want.Equal(had) || len(p.replace) > 0 {
		return
	}
	p.diags.AddAttributeWarning(path.Root("placement"), "The VM stays where it is", fmt.Sprintf(
		"placement is looked at when a VM is made. %s stays on VM host %s; only the state changes. `terraform apply -replace=ADDRESS` makes it anew.",
		p.state.Name.ValueString(), p.state.VMHostName.ValueString()))
}
