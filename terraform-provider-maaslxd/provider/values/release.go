package values

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
)

// releaseModel says how a machine is given back.
type releaseModel struct {
	Erase types.String `tfsdk:"erase"`
}

// eraseNone is how a configuration says that disks are not erased.
const eraseNone = "none"

// EraseMode reads the attribute release.
func EraseMode(ctx context.Context, o types.Object, diags *diag.Diagnostics) engine.Erase {
	if r := DecodeObject[releaseModel](ctx, o, diags); r != nil && r.Erase.ValueString() != eraseNone {
		return engine.Erase(r.Erase.ValueString())
	}
	return engine.EraseNone
}

// ReleaseAttribute says how a machine is given back.
func ReleaseAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "How the machine is given back. Changes in place.",
		Attributes: map[string]schema.Attribute{
			"erase": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(eraseNone),
				MarkdownDescription: "What MAAS does with its disks: `none`; `quick` overwrites their beginning and end; `secure` uses the disks' own " +
					"feature; `full` overwrites all, which takes hours. Default `none`.",
				Validators: []validator.String{stringvalidator.OneOf(eraseNone, "quick", "secure", "full")},
			},
		},
	}
}
