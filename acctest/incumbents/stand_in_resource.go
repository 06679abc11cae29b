package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// standInResource is a resource that has only the attribute that names an
// object. It ignores the rest of a state.
type standInResource struct {
	name     string
	identity string // the attribute that names the object
}

// Metadata names the kind.
func (k standInResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + k.name
}

// Schema has that one attribute.
func (k standInResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{k.identity: schema.StringAttribute{Optional: true, Computed: true}}}
}

// ImportState accepts any id.
func (k standInResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root(k.identity), req, resp)
}

// Read leaves the state as it is.
func (standInResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

const standInSummary = "A stand-in makes and changes nothing"

// Create returns an error: the stand-in makes nothing.
func (standInResource) Create(_ context.Context, _ resource.CreateRequest, resp *resource.CreateResponse) {
	resp.Diagnostics.AddError(standInSummary, "No test creates an object of another provider.")
}

// Update returns an error: the stand-in changes nothing.
func (standInResource) Update(_ context.Context, _ resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.Diagnostics.AddError(standInSummary, "No test changes an object of another provider.")
}

// Delete returns an error: the stand-in deletes nothing.
func (standInResource) Delete(_ context.Context, _ resource.DeleteRequest, resp *resource.DeleteResponse) {
	resp.Diagnostics.AddError(standInSummary, "No test destroys an object of another provider.")
}
