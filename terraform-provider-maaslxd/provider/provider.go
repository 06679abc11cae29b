// Package provider is the Terraform front end of the engine. It has the schemas, the
// conversion between Terraform's values and the engine's specs, and the diagnostics. The
// engine decides what to do in MAAS, and in which order.
package provider

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/actions"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/datasources"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/ephemerals"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/functions"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/host"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/machine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/vm"
)

var (
	_ provider.ProviderWithActions            = (*maaslxdProvider)(nil)
	_ provider.ProviderWithEphemeralResources = (*maaslxdProvider)(nil)
	_ provider.ProviderWithFunctions          = (*maaslxdProvider)(nil)
	_ provider.ProviderWithListResources      = (*maaslxdProvider)(nil)
)

// New returns a constructor of the provider. The version goes to MAAS in the
// User-Agent header.
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &maaslxdProvider{version: version} }
}

type maaslxdProvider struct {
	version    string
	ledgers    client.Ledgers
	configured atomic.Pointer[client.Client] // nil before Configure
}

// Close closes what the provider blocks have opened. Main calls it when Terraform no longer
// needs the process.
func (p *maaslxdProvider) Close() error { return p.ledgers.Close() }

func (p *maaslxdProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "maaslxd"
	resp.Version = p.version
}

func (p *maaslxdProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var model providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	set, diags := model.settings()
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	set.UserAgent = userAgent(p.version, req.TerraformVersion)
	if set.IsUnknown && req.ClientCapabilities.DeferralAllowed {
		resp.Deferred = &provider.Deferred{Reason: provider.DeferredReasonProviderConfigUnknown}
	}
	c, err := client.New(set, &p.ledgers)
	if err != nil {
		model.reportSettingError(&resp.Diagnostics, err)
		return
	}
	if err := c.CheckLedger(ctx); err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("ledger"), "The ledger cannot be used", diagnostics.ExplainError(err))
		return
	}
	if err := c.CheckOwner(); err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("owner"), "The owner is missing or cannot be used", diagnostics.ExplainError(err))
		return
	}
	p.configured.Store(c)
	resp.ResourceData, resp.DataSourceData, resp.ListResourceData, resp.ActionData, resp.EphemeralResourceData = c, c, c, c, c
}

// AnnounceRead notes that Terraform has handed over the state of a resource, as JSON. In a
// refresh, Terraform reads the resource next.
func (p *maaslxdProvider) AnnounceRead(ctx context.Context, state []byte) {
	var object struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(state, &object) == nil { // the framework reports a broken state
		p.configured.Load().AnnounceRead(ctx, object.ID)
	}
}

func (p *maaslxdProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{vm.NewResource, host.NewResource, machine.NewResource}
}

func (p *maaslxdProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		datasources.NewVMHostSource, datasources.NewVMHostsSource, datasources.NewVMSource, datasources.NewVMsSource,
		datasources.NewRegionSource, datasources.NewImagesSource, datasources.NewZonesSource, datasources.NewPoolsSource, datasources.NewDomainsSource, datasources.NewSubnetsSource,
		datasources.NewMachinesSource, datasources.NewCapacitySource,
	}
}

func (p *maaslxdProvider) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{vm.NewList, host.NewList, machine.NewList}
}

func (p *maaslxdProvider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{
		actions.NewPower, actions.NewCommission, actions.NewVMHostRefresh, actions.NewSnapshot, actions.NewRestore, actions.NewRedeploy, actions.NewRescue,
	}
}

func (p *maaslxdProvider) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{ephemerals.NewLXDClient}
}

func (p *maaslxdProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{functions.NewParseID, functions.NewProviderID, host.NewCloudConfig}
}

// userAgent names the program and the CLI that runs it.
func userAgent(version, terraform string) string {
	ua := "terraform-provider-maaslxd/" + version
	if terraform != "" {
		ua += " terraform/" + terraform
	}
	return ua
}
