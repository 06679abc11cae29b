package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// kind is a resource that has nothing but what names an object. Of states with more in
// them, the rest is ignored.
type kind struct {
	name     string
	identity string // the attribute that names the object
}

// Metadata names the kind.
func (k kind) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + k.name
}

// Schema has the one attribute.
func (k kind) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{k.identity: schema.StringAttribute{Optional: true, Computed: true}}}
}

// ImportState believes what it is told.
func (k kind) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root(k.identity), req, resp)
}

// Read leaves the state as it is.
func (kind) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

const nothing = "A stand-in makes and changes nothing"

// Create fails.
func (kind) Create(_ context.Context, _ resource.CreateRequest, resp *resource.CreateResponse) {
	resp.Diagnostics.AddError(nothing, "No test creates an object of another provider.")
}

// Update fails.
func (kind) Update(_ context.Context, _ resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.Diagnostics.AddError(nothing, "No test changes an object of another provider.")
}

// Delete fails.
func (kind) Delete(_ context.Context, _ resource.DeleteRequest, resp *resource.DeleteResponse) {
	resp.Diagnostics.AddError(nothing, "No test destroys an object of another provider.")
}
