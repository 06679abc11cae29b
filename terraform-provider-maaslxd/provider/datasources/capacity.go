package datasources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/engine/placement"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

var _ datasource.DataSourceWithConfigure = (*capacitySource)(nil)

// NewCapacitySource makes the data source maaslxd_capacity.
func NewCapacitySource() datasource.DataSource { return &capacitySource{} }

// capacitySource is the data source maaslxd_capacity.
type capacitySource struct{ backendSource }

type capacityModel struct {
	Cores        types.Int64         `tfsdk:"cores"`
	MemoryMiB    types.Int64         `tfsdk:"memory_mib"`
	HugePages    types.Bool          `tfsdk:"hugepages"`
	Architecture types.String        `tfsdk:"architecture"`
	Disks        []capacityDiskModel `tfsdk:"disks"`
	Zone         types.String        `tfsdk:"zone"`
	Pool         types.String        `tfsdk:"pool"`
	Tags         types.Set           `tfsdk:"tags"`
	VMs          types.Int64         `tfsdk:"vms"`
	VMHosts      []hostCapacityModel `tfsdk:"vm_hosts"`
}

type capacityDiskModel struct {
	SizeGB types.Int64  `tfsdk:"size_gb"`
	Pool   types.String `tfsdk:"pool"`
}

// hostCapacityModel is a VM host and the number of VMs that fit on it.
type hostCapacityModel struct {
	Name          string  `tfsdk:"name"`
	SystemID      *string `tfsdk:"system_id"`
	Zone          string  `tfsdk:"zone"`
	VMs           int64   `tfsdk:"vms"`
	Reason        *string `tfsdk:"reason"`
	FreeCores     int64   `tfsdk:"free_cores"`
	FreeMemoryMiB int64   `tfsdk:"free_memory_mib"`
}

// Metadata names the data source.
func (s *capacitySource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_capacity"
}

// Schema takes the size of a VM, and returns how many fit where.
func (s *capacitySource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := vmNeedAttributes()
	attributes["vms"] = schema.Int64Attribute{
		Computed: true, MarkdownDescription: "How many such VMs fit on all VM hosts together. At most 1000 count for one VM host.",
	}
	attributes["vm_hosts"] = schema.ListNestedAttribute{
		Computed: true, MarkdownDescription: "The VM hosts, sorted by name, also those without room.",
		NestedObject: schema.NestedAttributeObject{Attributes: hostCapacityAttributes()},
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "How many VMs of one size fit, and on which VM hosts. The rules are those of `placement` of `maaslxd_vm`: over-commit " +
			"counts, and so do the reservations of other runs. The answer holds for this moment: only an apply reserves room.",
		Attributes: attributes,
	}
}

// vmNeedAttributes are the needs of one VM.
func vmNeedAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"cores": schema.Int64Attribute{
			Required: true, MarkdownDescription: "Number of virtual CPUs of one VM.", Validators: []validator.Int64{int64validator.Between(1, maxCores)},
		},
		"memory_mib": schema.Int64Attribute{
			Required: true, MarkdownDescription: "Memory of one VM, in MiB.", Validators: []validator.Int64{int64validator.Between(1, maxMemoryMiB)},
		},
		"hugepages":    schema.BoolAttribute{Optional: true, MarkdownDescription: "Whether the memory is huge pages. VM hosts with too few free huge pages then do not count. MAAS does not report them: where MAAS makes the VMs, all VM hosts count."},
		"architecture": filterTextAttribute("Architecture of the VM, such as `amd64`, or `amd64/generic`."),
		"zone":         filterTextAttribute("Only VM hosts in this availability zone have room."),
		"pool":         filterTextAttribute("Only VM hosts in this resource pool have room."),
		"tags":         filterTagsAttribute("Only VM hosts with all of these tags have room."),
		"disks": schema.ListNestedAttribute{
			Optional: true, MarkdownDescription: "Disks of one VM. Without them, room in storage pools does not count.", Validators: []validator.List{listvalidator.NoNullValues()},
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"size_gb": schema.Int64Attribute{
					Required: true, MarkdownDescription: "Size in GB of 1000000000 bytes.", Validators: []validator.Int64{int64validator.Between(1, maxDiskGB)},
				},
				"pool": filterTextAttribute("Storage pool of the VM host. Default: the VM host's default pool."),
			}},
		},
	}
}

// These bounds only catch typing errors: no VM has more.
const (
	maxCores     = 1 << 16
	maxMemoryMiB = 1 << 30
	maxDiskGB    = 1 << 30
)

func hostCapacityAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name":            schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the VM host."},
		"system_id":       schema.StringAttribute{Computed: true, MarkdownDescription: "MAAS's id of the machine of the VM host. Null if MAAS knows none."},
		"zone":            schema.StringAttribute{Computed: true, MarkdownDescription: "Availability zone of the VM host."},
		"vms":             schema.Int64Attribute{Computed: true, MarkdownDescription: "How many such VMs fit on it, at most 1000."},
		"reason":          schema.StringAttribute{Computed: true, MarkdownDescription: "Why none fits, such as `too few cores: 8 cores needed, 3 of 16 free`. Null if some do."},
		"free_cores":      schema.Int64Attribute{Computed: true, MarkdownDescription: "Cores that are left, after over-commit."},
		"free_memory_mib": schema.Int64Attribute{Computed: true, MarkdownDescription: "Memory that is left, in MiB, after over-commit."},
	}
}

// Read counts the VMs that fit.
func (s *capacitySource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m capacityModel
	diags := &resp.Diagnostics
	diags.Append(req.Config.Get(ctx, &m)...)
	if diags.HasError() {
		return
	}
	const doing = "tell the capacity of the VM hosts"
	all := s.readFleet(ctx, doing, diags)
	s.withBackend(ctx, doing, diags, func(ctx context.Context, b *client.Backend) error {
		return b.CheckFilterNames(ctx, fieldpath.Path{}, m.Zone, m.Pool)
	})
	if diags.HasError() {
		return
	}
	found, err := all.Capacity(m.need())
	if err != nil {
		diagnostics.ReportError(diags, doing, err)
		return
	}
	m.fill(found)
	diags.Append(resp.State.Set(ctx, m)...)
}

func (m capacityModel) need() placement.Need {
	need := placement.Need{
		Zone: m.Zone.ValueString(), Pool: m.Pool.ValueString(), Tags: values.SortedStrings(m.Tags),
		Cores: int(m.Cores.ValueInt64()), MemoryMiB: m.MemoryMiB.ValueInt64(), HugePages: m.HugePages.ValueBool(),
	}
	if architecture := m.Architecture.ValueString(); architecture != "" {
		need.Architectures = []string{architecture}
	}
	var disks []engine.Disk
	for _, d := range m.Disks {
		disks = append(disks, engine.Disk{SizeGB: d.SizeGB.ValueInt64(), Pool: d.Pool.ValueString()})
	}
	need.Disks = engine.PlacementDisks(disks)
	return need
}

func (m *capacityModel) fill(found []fleet.HostCapacity) {
	var total int64
	m.VMHosts = []hostCapacityModel{}
	for _, h := range found {
		total += int64(h.VMs)
		m.VMHosts = append(m.VMHosts, hostCapacityModel{
			Name: h.Name, SystemID: textOrNull(h.MachineID), Zone: h.Zone, VMs: int64(h.VMs), Reason: textOrNull(h.NoRoomReason),
			FreeCores: h.FreeCores, FreeMemoryMiB: h.FreeMemoryMiB,
		})
	}
	m.VMs = types.Int64Value(total)
}
