package datasources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

var _ datasource.DataSourceWithConfigure = (*vmHostsSource)(nil)

// NewVMHostsSource makes the data source maaslxd_vm_hosts.
func NewVMHostsSource() datasource.DataSource { return &vmHostsSource{} }

// vmHostsSource is the data source maaslxd_vm_hosts.
type vmHostsSource struct{ backendSource }

type vmHostsModel struct {
	Filter  *vmHostFilter     `tfsdk:"filter"`
	VMHosts []vmHostDataModel `tfsdk:"vm_hosts"`
}

// vmHostFilter says which VM hosts to list; a null value matches all.
type vmHostFilter struct {
	Zone             types.String `tfsdk:"zone"`
	Pool             types.String `tfsdk:"pool"`
	Tags             types.Set    `tfsdk:"tags"`
	StoragePool      types.String `tfsdk:"storage_pool"`
	MinFreeCores     types.Int64  `tfsdk:"min_free_cores"`
	MinFreeMemoryMiB types.Int64  `tfsdk:"min_free_memory_mib"`
}

// Metadata names the data source.
func (s *vmHostsSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_vm_hosts"
}

// Schema takes a filter, and returns the VM hosts that match it.
func (s *vmHostsSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The LXD VM hosts of MAAS, or some of them. If nothing matches, the list is empty.",
		Attributes: map[string]schema.Attribute{
			"filter": schema.SingleNestedAttribute{
				Optional: true, MarkdownDescription: "Which VM hosts to list: those that match all that you set.",
				Attributes: map[string]schema.Attribute{
					"zone":         filterTextAttribute("In this availability zone. If MAAS does not know it, the read fails."),
					"pool":         filterTextAttribute("In this resource pool. If MAAS does not know it, the read fails."),
					"tags":         filterTagsAttribute("With all of these tags."),
					"storage_pool": filterTextAttribute("With a storage pool of this name."),
					"min_free_cores": schema.Int64Attribute{
						Optional: true, MarkdownDescription: "With at least as many cores left, by `cores.free`.",
						Validators: []validator.Int64{int64validator.AtLeast(1)},
					},
					"min_free_memory_mib": schema.Int64Attribute{
						Optional: true, MarkdownDescription: "With at least as much memory left, in MiB, by `memory_mib.free`.",
						Validators: []validator.Int64{int64validator.AtLeast(1)},
					},
				},
			},
			"vm_hosts": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The VM hosts, sorted by name.",
				NestedObject: schema.NestedAttributeObject{Attributes: vmHostAttributes()},
			},
		},
	}
}

func filterTextAttribute(description string) schema.Attribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: []validator.String{values.NotEmpty()}}
}

func filterTagsAttribute(description string) schema.Attribute {
	return schema.SetAttribute{
		Optional: true, ElementType: types.StringType, MarkdownDescription: description,
		Validators: []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(values.Tag())},
	}
}

// Read lists the VM hosts.
func (s *vmHostsSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m vmHostsModel
	diags := &resp.Diagnostics
	diags.Append(req.Config.Get(ctx, &m)...)
	if diags.HasError() {
		return
	}
	const doing = "list the VM hosts"
	fleet := s.readFleet(ctx, doing, diags)
	s.withBackend(ctx, doing, diags, m.Filter.checkNames)
	if diags.HasError() {
		return
	}
	m.VMHosts = []vmHostDataModel{}
	for _, h := range selectMatching(fleet.Hosts, m.Filter.matchesHost) {
		m.VMHosts = append(m.VMHosts, newVMHostDataModel(h))
	}
	diags.Append(resp.State.Set(ctx, m)...)
}

// checkNames refuses a zone or pool that does not exist.
func (f *vmHostFilter) checkNames(ctx context.Context, b *client.Backend) error {
	if f == nil {
		return nil
	}
	return b.CheckFilterNames(ctx, filterField, f.Zone, f.Pool)
}

func (f *vmHostFilter) matchesHost(h fleet.Host) bool {
	return f == nil || matchesText(f.Zone, h.Zone) && matchesText(f.Pool, h.Pool) &&
		len(values.Difference(values.SortedStrings(f.Tags), h.Tags)) == 0 &&
		(f.StoragePool.IsNull() || hasPool(h, f.StoragePool.ValueString())) &&
		h.FreeCores >= f.MinFreeCores.ValueInt64() && h.FreeMemoryMiB >= f.MinFreeMemoryMiB.ValueInt64()
}

// matchesText compares a text with a wanted value; null matches all.
func matchesText(wanted types.String, have string) bool {
	return wanted.IsNull() || wanted.ValueString() == have
}

func hasPool(h fleet.Host, name string) bool {
	return len(selectMatching(h.StoragePools, func(p engine.StoragePool) bool { return p.Name == name })) > 0
}
