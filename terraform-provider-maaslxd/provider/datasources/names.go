package datasources

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

var _ datasource.DataSourceWithConfigure = (*namesSource)(nil)

// NewZonesSource makes the data source maaslxd_zones.
func NewZonesSource() datasource.DataSource {
	return &namesSource{kind: "zones", what: "availability zones", list: engine.Names.Zones}
}

// NewPoolsSource makes the data source maaslxd_pools.
func NewPoolsSource() datasource.DataSource {
	return &namesSource{kind: "pools", what: "resource pools", list: engine.Names.Pools}
}

// NewDomainsSource makes the data source maaslxd_domains.
func NewDomainsSource() datasource.DataSource {
	return &namesSource{kind: "domains", what: "DNS domains", list: engine.Names.Domains}
}

// namesSource is a data source that only lists names.
type namesSource struct {
	backendSource
	kind string // the end of the data source's name
	what string // the word in descriptions
	list func(engine.Names, context.Context) ([]string, error)
}

type namesModel struct {
	Names []string `tfsdk:"names"`
}

// Metadata names the data source.
func (s *namesSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + s.kind
}

// Schema is the list of names.
func (s *namesSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: fmt.Sprintf("The names of the %s of MAAS. Use them, for example, to check a variable, or to make something in each of them.", s.what),
		Attributes: map[string]schema.Attribute{
			"names": schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Their names, sorted."},
		},
	}
}

// Read lists the names.
func (s *namesSource) Read(ctx context.Context, _ datasource.ReadRequest, resp *datasource.ReadResponse) {
	m := namesModel{Names: []string{}}
	s.withBackend(ctx, "list the "+s.what, &resp.Diagnostics, func(ctx context.Context, b *client.Backend) error {
		names, err := s.list(b.Names, ctx)
		m.Names = orEmptyList(names)
		return err
	})
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
	}
}
