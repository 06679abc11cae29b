// Package host is the resource maaslxd_vm_host: an LXD host in MAAS, which the engine's
// kind Host makes.
package host

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

// These are the timeouts for a VM host unless timeouts sets others. The schema's descriptions
// name them too.
const (
	hostCreateTimeout = 60 * time.Minute
	hostUpdateTimeout = 10 * time.Minute
	hostDeleteTimeout = 30 * time.Minute
)

var (
	_ resource.ResourceWithConfigure       = (*hostResource)(nil)
	_ resource.ResourceWithUpgradeIdentity = (*hostResource)(nil)
	_ resource.ResourceWithIdentity        = (*hostResource)(nil)
	_ resource.ResourceWithImportState     = (*hostResource)(nil)
	_ resource.ResourceWithModifyPlan      = (*hostResource)(nil)
	_ resource.ResourceWithMoveState       = (*hostResource)(nil)
	_ resource.ResourceWithUpgradeState    = (*hostResource)(nil)
	_ resource.ResourceWithValidateConfig  = (*hostResource)(nil)
)

// NewResource makes the resource maaslxd_vm_host.
func NewResource() resource.Resource { return &hostResource{} }

// hostResource is maaslxd_vm_host. Each verb has a file.
type hostResource struct {
	client *client.Client
}

// Metadata names the resource.
func (r *hostResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_vm_host"
}

// IdentitySchema is the identity of the host's machine.
func (r *hostResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = hostIdentitySchema()
}

// UpgradeIdentity reads the identities of earlier versions.
func (r *hostResource) UpgradeIdentity(context.Context) map[int64]resource.IdentityUpgrader {
	return values.IdentityUpgraders()
}

// Configure takes the client of the provider block.
func (r *hostResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.client = client.FromProviderData(req.ProviderData, &resp.Diagnostics)
}

// ref names the VM host of a state. Its key is the one that it was made by, also after a
// rename.
func (r *hostResource) ref(state hostModel, n privateState) engine.Ref {
	key := n.Key
	if key == "" {
		key = r.client.Owner.HostKey(state.Name.ValueString())
	}
	ref := engine.Ref{Key: key, Name: state.Name.ValueString(), SystemID: state.ID.ValueString()}
	if !n.Pending { // an unfinished host may be deployed anew, and only its machine knows
		ref.ServerFingerprint = state.ServerFingerprint.ValueString()
	}
	return ref
}

// saveState writes the state of a VM host that exists.
func saveState(ctx context.Context, state *tfsdk.State, identity *tfsdk.ResourceIdentity, m hostModel, diags *diag.Diagnostics) {
	diags.Append(state.Set(ctx, &m)...)
	values.SaveIdentity(ctx, identity, values.Identity{SystemID: m.ID.ValueString()}, diags)
}
