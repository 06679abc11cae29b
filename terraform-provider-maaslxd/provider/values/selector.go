package values

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
)

// selectorModel is the attribute selector.
type selectorModel struct {
	Zone         types.String `tfsdk:"zone"`
	Pool         types.String `tfsdk:"pool"`
	Tags         types.Set    `tfsdk:"tags"`
	Architecture types.String `tfsdk:"architecture"`
	MinCores     types.Int64  `tfsdk:"min_cores"`
	MinMemoryMiB types.Int64  `tfsdk:"min_memory_mib"`
	MinDiskGB    types.Int64  `tfsdk:"min_disk_gb"`
}

// SelectorSpec reads the attribute selector. It is the zero value if the attribute is null or
// not known.
func SelectorSpec(ctx context.Context, o types.Object, diags *diag.Diagnostics) engine.Selector {
	s := DecodeObject[selectorModel](ctx, o, diags)
	if s == nil {
		return engine.Selector{}
	}
	return engine.Selector{
		Zone: s.Zone.ValueString(), Pool: s.Pool.ValueString(), Tags: SortedStrings(s.Tags), Architecture: s.Architecture.ValueString(),
		MinCores: int(s.MinCores.ValueInt64()), MinMemoryMiB: s.MinMemoryMiB.ValueInt64(), MinDiskGB: s.MinDiskGB.ValueInt64(),
	}
}

// WarnSelectorStays warns that another selector moves nothing. The selector matters only at a
// moment such as "a host is made".
func WarnSelectorStays(had, want types.Object, moment string, name, hostname types.String, diags *diag.Diagnostics) {
	if had.IsNull() || want.IsNull() || want.Equal(had) {
		return
	}
	diags.AddAttributeWarning(path.Root("selector"), "The machine stays", fmt.Sprintf(
		"selector matters only when %s. %s stays on machine %s; only the state changes. `terraform apply -replace=ADDRESS` chooses again.",
		moment, name.ValueString(), hostname.ValueString()))
}

// SelectorAttribute is the schema of the attribute selector.
func SelectorAttribute(description string) schema.Attribute {
	name := func(description string) schema.Attribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description + " Default: any.", Validators: []validator.String{NotEmpty()}}
	}
	least := func(description string) schema.Attribute {
		return schema.Int64Attribute{Optional: true, MarkdownDescription: description + " Default: any.", Validators: []validator.Int64{int64validator.AtLeast(1)}}
	}
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"zone": name("Availability zone of the machine, by name."),
			"pool": name("Resource pool of the machine, by name."),
			"tags": schema.SetAttribute{
				Optional: true, ElementType: types.StringType, MarkdownDescription: "Tags that the machine must carry, all of them. Default: none.",
				Validators: []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(Tag())},
			},
			"architecture":   name("Architecture, such as `amd64` or `amd64/generic`."),
			"min_cores":      least("Least number of cores."),
			"min_memory_mib": least("Least memory in MiB."),
			"min_disk_gb":    least("Least size of the largest disk in GB. MAAS counts disks decimally: 1 GB is 1000000000 bytes."),
		},
	}
}
