// Package machine is the resource maaslxd_machine: bare metal that MAAS deploys without
// LXD, which the engine's kind Machine makes.
package machine

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// These are the timeouts for a machine unless timeouts sets others. The schema's descriptions
// name them too.
const (
	createTimeout = 60 * time.Minute
	updateTimeout = 10 * time.Minute
	deleteTimeout = 30 * time.Minute
)

var (
	_ resource.ResourceWithConfigure       = (*machineResource)(nil)
	_ resource.ResourceWithUpgradeIdentity = (*machineResource)(nil)
	_ resource.ResourceWithIdentity        = (*machineResource)(nil)
	_ resource.ResourceWithImportState     = (*machineResource)(nil)
	_ resource.ResourceWithModifyPlan      = (*machineResource)(nil)
	_ resource.ResourceWithValidateConfig  = (*machineResource)(nil)
)

// NewResource makes the resource maaslxd_machine.
func NewResource() resource.Resource { return &machineResource{} }

// machineResource is maaslxd_machine. Each verb has a file.
type machineResource struct {
	client *client.Client
}

// Metadata names the resource.
func (r *machineResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_machine"
}

// IdentitySchema is the identity of a machine.
func (r *machineResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = machineIdentitySchema()
}

// UpgradeIdentity reads the identities of earlier versions.
func (r *machineResource) UpgradeIdentity(context.Context) map[int64]resource.IdentityUpgrader {
	return values.IdentityUpgraders()
}

// Configure takes the client of the provider block.
func (r *machineResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.client = client.FromProviderData(req.ProviderData, &resp.Diagnostics)
}

// ref names the machine of a state. Its key is the one that it was made by, also after a
// rename.
func (r *machineResource) ref(state machineModel, n privateState) engine.Ref {
	key := n.Key
	if key == "" {
		key = r.client.Owner.MachineKey(state.Name.ValueString())
	}
	return engine.Ref{Key: key, Name: state.Name.ValueString(), SystemID: state.ID.ValueString()}
}

// saveState writes the state of a machine that exists.
func saveState(ctx context.Context, state *tfsdk.State, identity *tfsdk.ResourceIdentity, m machineModel, diags *diag.Diagnostics) {
	diags.Append(state.Set(ctx, &m)...)
	values.SaveIdentity(ctx, identity, values.Identity{SystemID: m.ID.ValueString()}, diags)
}
