package datasources

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

var _ datasource.DataSourceWithConfigure = (*vmsSource)(nil)

// NewVMsSource makes the data source maaslxd_vms.
func NewVMsSource() datasource.DataSource { return &vmsSource{} }

// vmsSource is the data source maaslxd_vms.
type vmsSource struct{ backendSource }

type vmsModel struct {
	Filter *vmFilter     `tfsdk:"filter"`
	VMs    []vmDataModel `tfsdk:"vms"`
}

// vmFilter says which VMs to list; a null value matches all.
type vmFilter struct {
	VMHost  types.String `tfsdk:"vm_host"`
	Zone    types.String `tfsdk:"zone"`
	Pool    types.String `tfsdk:"pool"`
	Tags    types.Set    `tfsdk:"tags"`
	Owner   types.String `tfsdk:"owner"`
	Managed types.Bool   `tfsdk:"managed"`
}

// Metadata names the data source.
func (s *vmsSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_vms"
}

// Schema takes a filter, and returns the VMs that match it.
func (s *vmsSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The VMs on the LXD VM hosts of MAAS, or some of them, whoever made them. If nothing matches, the list is empty.",
		Attributes: map[string]schema.Attribute{
			"filter": schema.SingleNestedAttribute{
				Optional: true, MarkdownDescription: "Which VMs to list: those that match all that you set.",
				Attributes: map[string]schema.Attribute{
					"vm_host": filterTextAttribute("On this VM host: its name, or its id in MAAS. If MAAS does not know it, the read fails."),
					"zone":    filterTextAttribute("In this availability zone. If MAAS does not know it, the read fails."),
					"pool":    filterTextAttribute("In this resource pool. If MAAS does not know it, the read fails."),
					"tags":    filterTagsAttribute("With all of these tags."),
					"owner":   filterTextAttribute("Made by a provider block with this `owner`."),
					"managed": schema.BoolAttribute{
						Optional: true, MarkdownDescription: "`true`: only VMs with a mark of this provider. `false`: only VMs without one.",
					},
				},
			},
			"vms": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The VMs, sorted by name.",
				NestedObject: schema.NestedAttributeObject{Attributes: vmAttributes()},
			},
		},
	}
}

// Read lists the VMs.
func (s *vmsSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m vmsModel
	diags := &resp.Diagnostics
	diags.Append(req.Config.Get(ctx, &m)...)
	if diags.HasError() {
		return
	}
	const doing = "list the VMs"
	fleet := s.readFleet(ctx, doing, diags)
	s.withBackend(ctx, doing, diags, func(ctx context.Context, b *client.Backend) error { return m.Filter.checkNames(ctx, b, fleet.Hosts) })
	if diags.HasError() {
		return
	}
	m.VMs = []vmDataModel{}
	for _, vm := range selectMatching(fleet.VMs, m.Filter.matchesVM) {
		m.VMs = append(m.VMs, newVMDataModel(vm))
	}
	diags.Append(resp.State.Set(ctx, m)...)
}

// checkNames refuses a VM host, a zone or a pool that does not exist.
func (f *vmFilter) checkNames(ctx context.Context, b *client.Backend, hosts []fleet.Host) error {
	if f == nil {
		return nil
	}
	return errors.Join(client.CheckFilterHost(filterField, f.VMHost, hosts), b.CheckFilterNames(ctx, filterField, f.Zone, f.Pool))
}

func (f *vmFilter) matchesVM(vm fleet.VM) bool {
	return f == nil || (f.VMHost.IsNull() || f.matchesHostOf(vm)) &&
		matchesText(f.Zone, vm.Zone) && matchesText(f.Pool, vm.Pool) &&
		len(values.Difference(values.SortedStrings(f.Tags), vm.Tags)) == 0 &&
		matchesText(f.Owner, ownerOf(vm.Key)) &&
		(f.Managed.IsNull() || f.Managed.ValueBool() == (vm.Key != ""))
}

// matchesHostOf tells whether the VM is on the filter's VM host.
func (f *vmFilter) matchesHostOf(vm fleet.VM) bool {
	return engine.VMHost{ID: vm.HostID, Name: vm.HostName, MachineID: vm.HostKey}.MatchesName(f.VMHost.ValueString())
}
