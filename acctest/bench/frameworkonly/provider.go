// Package frameworkonly is a provider with our schemas and nothing behind them.
// It measures the plugin framework's own cost. The bench runs it on states that
// our provider has written.
package frameworkonly

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	maaslxd "github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
)

// ServeProvider serves Terraform until Terraform ends it. The framework's log
// is off, as it is in our provider unless somebody reads it.
func ServeProvider(ctx context.Context) error {
	if err := os.Setenv("TF_LOG_SDK", "off"); err != nil {
		return err
	}
	return providerserver.Serve(ctx, NewProvider, providerserver.ServeOpts{Address: "registry.terraform.io/maaslxd/maaslxd"})
}

// NewProvider makes a provider that has our schemas and does nothing.
func NewProvider() provider.Provider { return idleProvider{maaslxd.New("alone")()} }

// idleProvider has the name and schema of ours, and opens nothing.
type idleProvider struct{ provider.Provider }

func (p idleProvider) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}

func (p idleProvider) Resources(ctx context.Context) []func() resource.Resource {
	var idle []func() resource.Resource
	for _, make := range p.Provider.Resources(ctx) {
		idle = append(idle, func() resource.Resource { return idleResource{make()} })
	}
	return idle
}

func (p idleProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }

var _ resource.ResourceWithIdentity = idleResource{}

// idleResource has the schema of one of our resources. Its read returns the
// state unchanged.
type idleResource struct{ wrapped resource.Resource }

func (r idleResource) Metadata(ctx context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	r.wrapped.Metadata(ctx, req, resp)
}

func (r idleResource) Schema(ctx context.Context, req resource.SchemaRequest, resp *resource.SchemaResponse) {
	r.wrapped.Schema(ctx, req, resp)
}

func (r idleResource) IdentitySchema(ctx context.Context, req resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	r.wrapped.(resource.ResourceWithIdentity).IdentitySchema(ctx, req, resp)
}

// Read leaves the state as it is. CLIs without identities send none, and the
// framework wants one back.
func (r idleResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	if resp.Identity == nil || !resp.Identity.Raw.IsNull() {
		return
	}
	var id types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("id"), &id)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("system_id"), id)...)
}

// noChangeSummary is the error of each change: the bench only plans and
// refreshes with this provider.
const noChangeSummary = "The framework alone changes nothing"

func (r idleResource) Create(_ context.Context, _ resource.CreateRequest, resp *resource.CreateResponse) {
	resp.Diagnostics.AddError(noChangeSummary, "It was asked to create.")
}

func (r idleResource) Update(_ context.Context, _ resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.Diagnostics.AddError(noChangeSummary, "It was asked to update.")
}

func (r idleResource) Delete(_ context.Context, _ resource.DeleteRequest, resp *resource.DeleteResponse) {
	resp.Diagnostics.AddError(noChangeSummary, "It was asked to delete.")
}
