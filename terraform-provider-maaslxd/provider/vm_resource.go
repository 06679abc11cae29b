package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
)

// How long each verb waits unless timeouts says otherwise. They are said in
// the schema's descriptions too.
const (
	createTimeout = 30 * time.Minute
	readTimeout   = 2 * time.Minute
	updateTimeout = 10 * time.Minute
	deleteTimeout = 20 * time.Minute
)

var (
	_ resource.ResourceWithConfigure      = (*vmResource)(nil)
	_ resource.ResourceWithIdentity       = (*vmResource)(nil)
	_ resource.ResourceWithImportState    = (*vmResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*vmResource)(nil)
	_ resource.ResourceWithValidateConfig = (*vmResource)(nil)
)

func newVMResource() resource.Resource { return &vmResource{} }

// vmResource is maaslxd_vm. Its verbs have a file each.
type vmResource struct {
	client *client
}

func (r *vmResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_vm"
}

func (r *vmResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = vmIdentitySchema()
}

func (r *vmResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.client = clientOf(req.ProviderData, &resp.Diagnostics)
}

// ref names the VM of a state, by the key that it was made with.
func (r *vmResource) ref(state vmModel, n notes) engine.Ref {
	name, key := state.Name.ValueString(), n.Key
	if key == "" {
		key = r.client.key(name)
	}
	return engine.Ref{Key: key, Name: name, SystemID: state.ID.ValueString()}
}

// save writes the state of a VM that exists.
func save(ctx context.Context, state *tfsdk.State, identity *tfsdk.ResourceIdentity, m vmModel, diags *diag.Diagnostics) {
	diags.Append(state.Set(ctx, &m)...)
	saveIdentity(ctx, identity, m.ID.ValueString(), diags)
}

// saveIdentity is for CLIs that know identities; others ignore it.
func saveIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, systemID string, diags *diag.Diagnostics) {
	if identity != nil {
		diags.Append(identity.Set(ctx, vmIdentity{SystemID: types.StringValue(systemID)})...)
	}
}

// within applies a timeout of the configuration to a call.
func within(
	ctx context.Context, read func(context.Context, time.Duration) (time.Duration, diag.Diagnostics),
	fallback time.Duration, diags *diag.Diagnostics,
) (context.Context, context.CancelFunc) {
	d, ds := read(ctx, fallback)
	diags.Append(ds...)
	return context.WithTimeout(ctx, d)
}
