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

// releaseModel is the attribute release.
type releaseModel struct {
	Erase types.String `tfsdk:"erase"`
}

// eraseNone is the value of erase that leaves the disks as they are.
const eraseNone = "none"

// EraseMode reads the attribute release.
func EraseMode(ctx context.Context, o types.Object, diags *diag.Diagnostics) engine.Erase {
	if r := DecodeObject[releaseModel](ctx, o, diags); r != nil && r.Erase.ValueString() != eraseNone {
		return engine.Erase(r.Erase.ValueString())
	}
	return engine.EraseNone
}

// ReleaseAttribute is the schema of the attribute release.
func ReleaseAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "How MAAS releases the machine. Changes in place.",
		Attributes: map[string]schema.Attribute{
			"erase": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString(eraseNone),
				MarkdownDescription: "How MAAS erases its disks. `none`: not at all. `quick`: it overwrites their beginning and end. `secure`: it uses " +
					"the disks' own feature. `full`: it overwrites all, which takes hours. Default `none`.",
				Validators: []validator.String{stringvalidator.OneOf(eraseNone, "quick", "secure", "full")},
			},
		},
	}
}
