package datasources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

var _ datasource.DataSourceWithConfigure = (*regionSource)(nil)

// NewRegionSource makes the data source maaslxd_region.
func NewRegionSource() datasource.DataSource { return &regionSource{} }

// regionSource is the data source maaslxd_region.
type regionSource struct{ backendSource }

type regionModel struct {
	Version       string  `tfsdk:"version"`
	Mark          *string `tfsdk:"mark"`
	VMHosts       bool    `tfsdk:"vm_hosts"`
	Composer      string  `tfsdk:"composer"`
	Username      string  `tfsdk:"username"`
	Administrator bool    `tfsdk:"administrator"`
}

// Metadata names the data source.
func (s *regionSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_region"
}

// Schema is the version of a MAAS and what it can do.
func (s *regionSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The MAAS of the provider block: its version, and what it can do.",
		Attributes: map[string]schema.Attribute{
			"version": schema.StringAttribute{Computed: true, MarkdownDescription: "Version of MAAS, such as `3.6.0`."},
			"mark": schema.StringAttribute{
				Computed: true,
				MarkdownDescription: "The mark of this MAAS, by which states know it at any address: a random word in the tag `maaslxd-region`. Null " +
					"before this provider has made anything there.",
			},
			"vm_hosts": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether MAAS has VM hosts. MAAS up to 3.8 has."},
			"composer": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "How this provider block makes VMs. `maas`: MAAS composes them. `lxd`: the provider makes them in LXD and enlists them in MAAS.",
			},
			"username":      schema.StringAttribute{Computed: true, MarkdownDescription: "User of MAAS who has this API key."},
			"administrator": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether that user is an administrator. Making VMs needs one."},
		},
	}
}

// Read asks MAAS.
func (s *regionSource) Read(ctx context.Context, _ datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m regionModel
	s.withBackend(ctx, "read the version of this MAAS", &resp.Diagnostics, func(ctx context.Context, b *client.Backend) error {
		can, err := b.Catalog.Capabilities(ctx)
		if err != nil {
			return err
		}
		chosen, err := b.ChosenComposer(ctx)
		if err != nil {
			return err
		}
		mark, err := b.RegionMark(ctx)
		m = regionModel{
			Version: can.Version, Mark: textOrNull(mark), VMHosts: can.VMHosts, Composer: string(chosen), Username: can.Username, Administrator: can.Admin,
		}
		return err
	})
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
	}
}
