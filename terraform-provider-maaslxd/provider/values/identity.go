package values

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
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

// SaveIdentity is for CLIs that know identities; others ignore it.
func SaveIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, systemID string, diags *diag.Diagnostics) {
	if identity != nil {
		diags.Append(identity.Set(ctx, identityModel{SystemID: types.StringValue(systemID)})...)
	}
}
