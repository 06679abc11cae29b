package values

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Identity names a machine of MAAS in an import or a state.
type Identity struct {
	// SystemID of the machine. An import by a text has the text here, which may be a name.
	SystemID string
	// MAAS is the mark of the machine's MAAS; empty: any.
	MAAS string
}

// ImportedIdentity is the machine that an import names, by a text or by an identity.
func ImportedIdentity(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) Identity {
	if req.ID != "" || req.Identity == nil {
		return Identity{SystemID: req.ID}
	}
	var m identityModel
	diags.Append(req.Identity.Get(ctx, &m)...)
	return Identity{SystemID: m.SystemID.ValueString(), MAAS: m.MAAS.ValueString()}
}

// identityModel is the identity of a machine in Terraform.
type identityModel struct {
	SystemID types.String `tfsdk:"system_id"`
	MAAS     types.String `tfsdk:"maas"`
}

// MachineIdentity is the schema of an identity: the system id of the machine, and the mark of
// its MAAS. The text names the machine in the description.
func MachineIdentity(machine string) identityschema.Schema {
	return identityschema.Schema{
		Version: 1,
		Attributes: map[string]identityschema.Attribute{
			"system_id": identityschema.StringAttribute{
				RequiredForImport: true,
				Description:       "MAAS's system id of " + machine + ", such as \"4y3h7n\".",
			},
			"maas": identityschema.StringAttribute{
				OptionalForImport: true,
				Description: "The mark of the MAAS: the first word in the comment of its tag maaslxd-region. An import from another MAAS is refused. " +
					"Without it, any MAAS is accepted.",
			},
		},
	}
}

// IdentityUpgraders read the identities that earlier versions wrote.
func IdentityUpgraders() map[int64]resource.IdentityUpgrader {
	return map[int64]resource.IdentityUpgrader{0: {IdentityUpgrader: upgradeIdentityV0}}
}

// upgradeIdentityV0 accepts an identity that names no MAAS. A CLI with identities also asks
// for this where a CLI without them has written the state. Then there is nothing to read, and
// the identity has only nulls.
func upgradeIdentityV0(ctx context.Context, req resource.UpgradeIdentityRequest, resp *resource.UpgradeIdentityResponse) {
	var was struct {
		SystemID *string `json:"system_id"`
	}
	if raw := req.RawIdentity.JSON; len(raw) > 0 {
		if err := json.Unmarshal(raw, &was); err != nil {
			resp.Diagnostics.AddError("Cannot read the identity in the state", err.Error())
			return
		}
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, identityModel{SystemID: types.StringPointerValue(was.SystemID)})...)
}

// SaveIdentity gives an object its identity, for CLIs that know identities. An object keeps
// the identity that it has: Terraform forbids changing it.
func SaveIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, of Identity, diags *diag.Diagnostics) {
	if identity == nil {
		return
	}
	if !identity.Raw.IsNull() {
		var has identityModel
		diags.Append(identity.Get(ctx, &has)...)
		if has.SystemID.ValueString() == of.SystemID {
			return
		}
	}
	ReplaceIdentity(ctx, identity, of, diags)
}

// SaveSeenIdentity is SaveIdentity for a defer at the begin of a read: the read sets the
// values that the pointers name.
func SaveSeenIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, systemID *types.String, mark *string, diags *diag.Diagnostics) {
	SaveIdentity(ctx, identity, Identity{SystemID: systemID.ValueString(), MAAS: *mark}, diags)
}

// ReplaceIdentity is SaveIdentity for an import, which completes the identity that was given
// to it.
func ReplaceIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, of Identity, diags *diag.Diagnostics) {
	if identity != nil {
		diags.Append(identity.Set(ctx, identityModel{SystemID: types.StringValue(of.SystemID), MAAS: OptionalString(of.MAAS)})...)
	}
}
