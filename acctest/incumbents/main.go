// Command incumbents stands in for the providers that states are moved from. To move a
// state, the CLI wants its provider at hand, and asks it for schemas alone. The stand-in
// is canonical/maas by the file name terraform-provider-maas, and terraform-lxd/lxd by
// the file name terraform-provider-lxd. It knows no MAAS, and makes nothing. Of an LXD it asks
// whether that lets it in.
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

// standIns are the providers, by their file names.
var standIns = map[string]standIn{
	"terraform-provider-maas": {"maas", "registry.terraform.io/canonical/maas", []standInResource{
		{"vm_host", "id"}, {"vm_host_machine", "id"}, {"instance", "id"},
	}},
	"terraform-provider-lxd": {"lxd", "registry.terraform.io/terraform-lxd/lxd", []standInResource{{"instance", "name"}}},
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

// standIn is a provider.
type standIn struct {
	name    string
	address string
	kinds   []standInResource
}

// Metadata names the provider.
func (s standIn) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = s.name
}

// Schema is empty for MAAS, and says for LXD how one is reached.
func (s standIn) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	if s.name == "lxd" {
		resp.Schema = lxdSchema()
	}
}

// Configure hands over nothing. It asks an LXD that is named.
func (s standIn) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	if s.name == "lxd" {
		checkLXD(ctx, req, resp)
	}
}

// Resources are the kinds.
func (s standIn) Resources(context.Context) []func() resource.Resource {
	var all []func() resource.Resource
	for _, k := range s.kinds {
		all = append(all, func() resource.Resource { return k })
	}
	return all
}

// DataSources are none.
func (standIn) DataSources(context.Context) []func() datasource.DataSource { return nil }
