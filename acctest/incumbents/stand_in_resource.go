package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// standInResource is a resource with the attributes that users configure. It
// ignores the rest of a state.
type standInResource struct {
	name    string
	texts   []string            // the first one names the object
	numbers []string            // whole numbers
	blocks  map[string][]string // texts by the block that has them
}

// Metadata names the kind.
func (k standInResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + k.name
}

// Schema has these attributes. All are optional, because an imported object has
// only its identity.
func (k standInResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: textAttributes(k.texts), Blocks: map[string]schema.Block{}}
	for _, name := range k.numbers {
		resp.Schema.Attributes[name] = schema.Int64Attribute{Optional: true, Computed: true}
	}
	for name, texts := range k.blocks {
		resp.Schema.Blocks[name] = schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: textAttributes(texts)}}
	}
}

// textAttributes are attributes that a configuration may leave out.
func textAttributes(names []string) map[string]schema.Attribute {
	all := map[string]schema.Attribute{}
	for _, name := range names {
		all[name] = schema.StringAttribute{Optional: true, Computed: true}
	}
	return all
}

// ImportState accepts any id.
func (k standInResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root(k.texts[0]), req, resp)
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
