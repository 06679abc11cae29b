package values

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// ImportID is what an import names: a text, or the system id of an identity.
func ImportID(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) string {
	if req.ID != "" || req.Identity == nil {
		return req.ID
	}
	var identity identityModel
	diags.Append(req.Identity.Get(ctx, &identity)...)
	return identity.SystemID.ValueString()
}

// identityModel is what tells one machine of MAAS from all others.
type identityModel struct {
	SystemID types.String `tfsdk:"system_id"`
}

// MachineIdentity is the schema of an identity: the system id of a machine of MAAS, which
// the text says.
func MachineIdentity(machine string) identityschema.Schema {
	return identityschema.Schema{
		Version: 0,
		Attributes: map[string]identityschema.Attribute{
			"system_id": identityschema.StringAttribute{
				RequiredForImport: true,
				Description:       "MAAS's system id of " + machine + ", such as \"4y3h7n\".",
			},
		},
	}
}

// SaveIdentity is for CLIs that know identities; others ignore it.
func SaveIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, systemID string, diags *diag.Diagnostics) {
	if identity != nil {
		diags.Append(identity.Set(ctx, identityModel{SystemID: types.StringValue(systemID)})...)
	}
}
