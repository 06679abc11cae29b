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
		MarkdownDescription: "Which VM hosts may get the VM, instead of one by name. Set exactly one of `vm_host` and `placement`. The VM goes to " +
			"a VM host that has room for it; `placement = {}` takes any. It matters only when the VM is made. Later, a change of `placement` moves " +
			"nothing, and `vm_host` shows the VM host. To use a changed `placement`, replace the VM: `terraform apply -replace=ADDRESS`.",
		Attributes: placementAttributes(),
	}
}

// placementAttributes are the conditions for VM hosts.
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
			MarkdownDescription: "Name of a group of VMs that stand apart: they spread over the availability zones first, then over the VM hosts. VMs " +
				"of other configurations count if they have the same ledger, MAAS and group. 1 to 128 letters, digits, `.`, `_`, `-` and `/`. Default: no group.",
			Validators: []validator.String{groupNameValidator()},
		},
		"strategy": schema.StringAttribute{
			Optional: true,
			Computed: true,
			Default:  stringdefault.StaticString(string(placement.Spread)),
			MarkdownDescription: "Which VM host is taken where the group does not decide. `spread` takes the one that is least full with the VM on it, " +
				"`pack` the fullest. Default `spread`.",
			Validators: []validator.String{stringvalidator.OneOf(string(placement.Spread), string(placement.Pack))},
		},
	}
}

// placement decodes the attribute placement; nil if it is not set or not known.
func (m vmModel) placement(ctx context.Context, diags *diag.Diagnostics) *placementModel {
	return values.DecodeObject[placementModel](ctx, m.Placement, diags)
}

func (p placementModel) spec() engine.Placement {
	return engine.Placement{
		Zone: p.Zone.ValueString(), Pool: p.Pool.ValueString(), Tags: values.SortedStrings(p.Tags),
		Group: p.Group.ValueString(), Strategy: placement.Strategy(p.Strategy.ValueString()),
	}
}

// checkHostOrPlacement wants exactly one of vm_host and placement. A value that is not known
// yet may still turn out to be null.
func checkHostOrPlacement(config vmModel, diags *diag.Diagnostics) {
	host, place := config.VMHost, config.Placement
	switch {
	case !host.IsNull() && !host.IsUnknown() && !place.IsNull() && !place.IsUnknown():
		diags.AddAttributeError(path.Root("placement"), "Both a VM host and a placement",
			"vm_host names one VM host, and placement lets the provider choose. Remove one of them.")
	case host.IsNull() && place.IsNull():
		diags.AddAttributeError(path.Root("vm_host"), "Neither a VM host nor a placement",
			"Name a VM host with vm_host, or describe the VM hosts that may get it with placement: placement = {} takes any that has room. If the "+
				"configuration has a vm_host, its value is null: use the id of the maaslxd_vm_host, because vm_host_id is null where MAAS has no VM hosts.")
	}
}

// warnPlacementIgnored warns that another placement does not move the VM.
func (p *vmPlan) warnPlacementIgnored() {
	had, want := p.state.Placement, p.plan.Placement
	if had.IsNull() || want.IsNull() || want.Equal(had) || len(p.replace) > 0 {
		return
	}
	p.diags.AddAttributeWarning(path.Root("placement"), "The VM stays where it is", fmt.Sprintf(
		"placement matters only when a VM is made. %s stays on VM host %s; only the state changes. "+
			"`terraform apply -replace=ADDRESS` deletes this VM and makes a new one. The data on its disks is lost.",
		p.state.Name.ValueString(), p.state.VMHostName.ValueString()))
}
