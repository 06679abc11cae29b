package datasources

import (
	"cmp"
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
)

var _ datasource.DataSourceWithConfigure = (*subnetsSource)(nil)

// NewSubnetsSource makes the data source maaslxd_subnets.
func NewSubnetsSource() datasource.DataSource { return &subnetsSource{} }

// subnetsSource is the data source maaslxd_subnets.
type subnetsSource struct{ backendSource }

type subnetsModel struct {
	Filter  *subnetFilter `tfsdk:"filter"`
	Subnets []subnetModel `tfsdk:"subnets"`
}

// subnetFilter says which subnets to list; a null value matches all.
type subnetFilter struct {
	Fabric types.String `tfsdk:"fabric"`
	Space  types.String `tfsdk:"space"`
	VID    types.Int64  `tfsdk:"vid"`
	DHCP   types.Bool   `tfsdk:"dhcp"`
}

type subnetModel struct {
	ID       int64   `tfsdk:"id"`
	Name     string  `tfsdk:"name"`
	CIDR     string  `tfsdk:"cidr"`
	Gateway  *string `tfsdk:"gateway"`
	DHCP     bool    `tfsdk:"dhcp"`
	VLANID   int64   `tfsdk:"vlan_id"`
	VLANName *string `tfsdk:"vlan_name"`
	VID      int64   `tfsdk:"vid"`
	Fabric   *string `tfsdk:"fabric"`
	Space    *string `tfsdk:"space"`
}

// Metadata names the data source.
func (s *subnetsSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_subnets"
}

// Schema takes a filter, and returns the subnets that match it.
func (s *subnetsSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The subnets of MAAS, or some of them, with their VLANs. If nothing matches, the list is empty.",
		Attributes: map[string]schema.Attribute{
			"filter": schema.SingleNestedAttribute{
				Optional: true, MarkdownDescription: "Which subnets to list: those that match all that you set.",
				Attributes: map[string]schema.Attribute{
					"fabric": filterTextAttribute("In the fabric of this name. If MAAS knows no subnet in it, the read fails."),
					"space":  filterTextAttribute("In the space of this name. If MAAS knows no subnet in it, the read fails."),
					"vid": schema.Int64Attribute{
						Optional: true, MarkdownDescription: "On a VLAN with this tag, 0 to 4094; 0 is the untagged VLAN.",
						Validators: []validator.Int64{int64validator.Between(0, 4094)},
					},
					"dhcp": schema.BoolAttribute{Optional: true, MarkdownDescription: "`true`: only subnets on whose VLAN MAAS serves DHCP. VMs that " +
						"boot from a subnet need that. `false`: only the others."},
				},
			},
			"subnets": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The subnets, sorted by name, then CIDR.",
				NestedObject: schema.NestedAttributeObject{Attributes: subnetAttributes()},
			},
		},
	}
}

// subnetAttributes are the values of a subnet that MAAS reports.
func subnetAttributes() map[string]schema.Attribute {
	number := func(description string) schema.Attribute {
		return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
	}
	text := func(description string) schema.Attribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"id":        number("MAAS's number of the subnet."),
		"name":      text("Name. It is the CIDR if nobody has named the subnet."),
		"cidr":      text("Addresses of the subnet, such as `10.0.0.0/24`."),
		"gateway":   text("Address of its gateway. Null if it has none."),
		"dhcp":      schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether MAAS serves DHCP on its VLAN. VMs that boot from the subnet need that."},
		"vlan_id":   number("MAAS's number of its VLAN."),
		"vlan_name": text("Name of its VLAN, such as `untagged`."),
		"vid":       number("Tag of its VLAN, 0 to 4094; 0 is the untagged VLAN."),
		"fabric":    text("Name of the fabric of its VLAN."),
		"space":     text("Name of the space of its VLAN. Null if it has none."),
	}
}

// Read lists the subnets.
func (s *subnetsSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m subnetsModel
	diags := &resp.Diagnostics
	diags.Append(req.Config.Get(ctx, &m)...)
	s.withBackend(ctx, "list the subnets", diags, func(ctx context.Context, b *client.Backend) error {
		if err := m.Filter.checkNames(ctx, b); err != nil {
			return err
		}
		subnets, err := b.Names.Subnets(ctx)
		slices.SortFunc(subnets, func(a, b engine.Subnet) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.CIDR, b.CIDR), cmp.Compare(a.ID, b.ID))
		})
		m.Subnets = []subnetModel{}
		for _, n := range selectMatching(subnets, m.Filter.matchesSubnet) {
			m.Subnets = append(m.Subnets, subnetModel{
				ID: int64(n.ID), Name: n.Name, CIDR: n.CIDR, Gateway: textOrNull(n.Gateway), DHCP: n.DHCP,
				VLANID: int64(n.VLAN), VLANName: textOrNull(n.VLANName), VID: int64(n.VID), Fabric: textOrNull(n.Fabric), Space: textOrNull(n.Space),
			})
		}
		return err
	})
	if !diags.HasError() {
		diags.Append(resp.State.Set(ctx, m)...)
	}
}

// checkNames refuses a fabric or a space in which MAAS has no subnet.
func (f *subnetFilter) checkNames(ctx context.Context, b *client.Backend) error {
	if f == nil {
		return nil
	}
	return engine.CheckNetworkNames(ctx, b.Names, filterField, engine.Network{Fabric: f.Fabric.ValueString(), Space: f.Space.ValueString()})
}

func (f *subnetFilter) matchesSubnet(n engine.Subnet) bool {
	return f == nil || matchesText(f.Fabric, n.Fabric) && matchesText(f.Space, n.Space) &&
		(f.VID.IsNull() || f.VID.ValueInt64() == int64(n.VID)) && (f.DHCP.IsNull() || f.DHCP.ValueBool() == n.DHCP)
}
