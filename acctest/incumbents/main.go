// Command incumbents stands in for the providers from which users move states.
// To move a state, the CLI needs the old provider, but asks it for schemas
// only. As terraform-provider-maas the stand-in is canonical/maas, and as
// terraform-provider-lxd it is terraform-lxd/lxd. It does not call MAAS, and
// makes nothing. It asks an LXD only whether that trusts it.
package main

import (
	"context"
	"log"
	"os"
	"path/filepath"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// standIns are the providers by their file names.
var standIns = map[string]standIn{
	"terraform-provider-maas": {"maas", "registry.terraform.io/canonical/maas", []standInResource{
		{name: "vm_host", texts: []string{"id", "type", "name", "machine", "power_address", "power_pass", "zone", "pool"}},
		{name: "vm_host_machine", texts: []string{"id", "vm_host", "hostname", "domain", "zone", "pool"}, numbers: []string{"cores", "memory"}},
		{name: "instance", texts: []string{"id"}, blocks: map[string][]string{"allocate_params": {"hostname"}, "deploy_params": {"distro_series"}}},
	}},
	"terraform-provider-lxd": {"lxd", "registry.terraform.io/terraform-lxd/lxd", []standInResource{
		{name: "instance", texts: []string{"name", "type", "remote", "project"}},
	}},
}

func main() {
	name := filepath.Base(os.Args[0])
	s, ok := standIns[name]
	if !ok {
		log.Fatalf("%s stands in for no provider", name)
	}
	err := providerserver.Serve(context.Background(), func() provider.Provider { return s }, providerserver.ServeOpts{Address: s.address})
	if err != nil {
		log.Fatal(err)
	}
}

// standIn is a provider with schemas and no function.
type standIn struct {
	name    string
	address string
	kinds   []standInResource
}

// Metadata names the provider.
func (s standIn) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = s.name
}

// Schema is empty for MAAS. For LXD it has the attributes of a connection.
func (s standIn) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	if s.name == "lxd" {
		resp.Schema = lxdSchema()
	}
}

// Configure passes on nothing. It connects to an LXD that the configuration
// names.
func (s standIn) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	if s.name == "lxd" {
		checkLXD(ctx, req, resp)
	}
}

// Resources are the kinds whose states can be moved.
func (s standIn) Resources(context.Context) []func() resource.Resource {
	var all []func() resource.Resource
	for _, k := range s.kinds {
		all = append(all, func() resource.Resource { return k })
	}
	return all
}

// DataSources returns none.
func (standIn) DataSources(context.Context) []func() datasource.DataSource { return nil }
