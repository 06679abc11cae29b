// Package vm is the resource maaslxd_vm: a virtual machine on a VM host of MAAS, which
// the engine's kind VM makes.
package vm

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

// These are the timeouts unless timeouts sets others. The schema's descriptions name them too.
const (
	createTimeout = 30 * time.Minute
	updateTimeout = 10 * time.Minute
	deleteTimeout = 20 * time.Minute
)

var (
	_ resource.ResourceWithConfigure       = (*vmResource)(nil)
	_ resource.ResourceWithUpgradeIdentity = (*vmResource)(nil)
	_ resource.ResourceWithIdentity        = (*vmResource)(nil)
	_ resource.ResourceWithImportState     = (*vmResource)(nil)
	_ resource.ResourceWithModifyPlan      = (*vmResource)(nil)
	_ resource.ResourceWithMoveState       = (*vmResource)(nil)
	_ resource.ResourceWithValidateConfig  = (*vmResource)(nil)
)

// NewResource makes the resource maaslxd_vm.
func NewResource() resource.Resource { return &vmResource{} }

// vmResource is maaslxd_vm. Each verb has a file.
type vmResource struct {
	client *client.Client
}

func (r *vmResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_vm"
}

func (r *vmResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = vmIdentitySchema()
}

// UpgradeIdentity reads the identities of earlier versions.
func (r *vmResource) UpgradeIdentity(context.Context) map[int64]resource.IdentityUpgrader {
	return values.IdentityUpgraders()
}

func (r *vmResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.client = client.FromProviderData(req.ProviderData, &resp.Diagnostics)
}

// ref names the VM of a state by the key that it was made with.
func (r *vmResource) ref(state vmModel, n privateState) engine.Ref {
	ref := engine.Ref{Key: n.Key, Name: state.Name.ValueString(), SystemID: state.ID.ValueString()}
	if ref.Key == "" {
		ref.Key, ref.Guessed = r.client.Owner.VMKey(ref.Name), true
	}
	return ref
}

// saveState writes the state of a VM that exists.
func saveState(ctx context.Context, state *tfsdk.State, identity *tfsdk.ResourceIdentity, m vmModel, diags *diag.Diagnostics) {
	diags.Append(state.Set(ctx, &m)...)
	values.SaveIdentity(ctx, identity, values.Identity{SystemID: m.ID.ValueString()}, diags)
}
