package providertest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Resource is one resource of a provider without a configuration.
type Resource struct {
	Name   string       // such as "maaslxd_vm"
	Type   tftypes.Type // the type of its configuration, plan and state
	Server tfprotov6.ProviderServer
	Schema schema.Schema

	t *testing.T
}

// ServeResource serves one resource.
func ServeResource(t *testing.T, constructor func() resource.Resource) *Resource {
	t.Helper()
	var named resource.MetadataResponse
	constructor().Metadata(t.Context(), resource.MetadataRequest{ProviderTypeName: providerName}, &named)
	var described resource.SchemaResponse
	constructor().Schema(t.Context(), resource.SchemaRequest{}, &described)
	return &Resource{
		Name: named.TypeName, Type: described.Schema.Type().TerraformType(t.Context()),
		Server: providerserver.NewProtocol6(unconfiguredProvider{constructor})(), Schema: described.Schema, t: t,
	}
}

// ForTest is the same resource for another test, with the same server.
func (r *Resource) ForTest(t *testing.T) *Resource {
	in := *r
	in.t = t
	return &in
}

// nullValue is the value of a resource that does not exist.
func (r *Resource) nullValue() *tfprotov6.DynamicValue {
	r.t.Helper()
	none, err := tfprotov6.NewDynamicValue(r.Type, tftypes.NewValue(r.Type, nil))
	if err != nil {
		r.t.Fatal(err)
	}
	return &none
}

// Plan makes a plan. A nil state is a create, and a nil config is a destroy. notes are the
// private state, by its keys.
func (r *Resource) Plan(config, state Object, notes map[string]any) *Plan {
	r.t.Helper()
	prior := r.nullValue()
	if state != nil {
		prior = state.DynamicValue(r.t)
	}
	configured, wished := r.nullValue(), r.nullValue()
	if config != nil {
		configured, wished = config.DynamicValue(r.t), proposedState(r.Schema.Attributes, config, state).DynamicValue(r.t)
	}
	resp, err := r.Server.PlanResourceChange(r.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: r.Name, PriorState: prior, PriorPrivate: r.encodePrivateState(notes), Config: configured, ProposedNewState: wished,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	value, err := resp.PlannedState.Unmarshal(r.Type)
	if err != nil {
		r.t.Fatal(err)
	}
	return &Plan{Diagnostics: resp.Diagnostics, resource: r, resp: resp, value: value}
}

// encodePrivateState is a private state in the protocol's form.
func (r *Resource) encodePrivateState(notes map[string]any) []byte {
	r.t.Helper()
	raw := map[string][]byte{}
	for key, n := range notes {
		text, err := json.Marshal(n)
		if err != nil {
			r.t.Fatal(err)
		}
		raw[key] = text
	}
	private, err := json.Marshal(raw)
	if err != nil {
		r.t.Fatal(err)
	}
	return private
}

// Validate validates a configuration.
func (r *Resource) Validate(config Object) []*tfprotov6.Diagnostic {
	r.t.Helper()
	resp, err := r.Server.ValidateResourceConfig(r.t.Context(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: r.Name, Config: config.DynamicValue(r.t),
		ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.Diagnostics
}

const providerName = "maaslxd"

// unconfiguredProvider is a provider with one resource, and without a configuration.
type unconfiguredProvider struct {
	constructor func() resource.Resource
}

// Metadata names the provider.
func (unconfiguredProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = providerName
}

// Schema is empty.
func (unconfiguredProvider) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {
}

// Configure does nothing.
func (unconfiguredProvider) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}

// Resources are the one resource.
func (p unconfiguredProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{p.constructor}
}

// DataSources are none.
func (unconfiguredProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }
