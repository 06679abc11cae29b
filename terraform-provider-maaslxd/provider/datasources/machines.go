package datasources

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

var _ datasource.DataSourceWithConfigure = (*machinesSource)(nil)

// NewMachinesSource makes the data source maaslxd_machines.
func NewMachinesSource() datasource.DataSource { return &machinesSource{} }

// machinesSource is the data source maaslxd_machines.
type machinesSource struct{ backendSource }

type machinesModel struct {
	Filter   *machineFilter     `tfsdk:"filter"`
	Machines []machineDataModel `tfsdk:"machines"`
}

// machineFilter says which machines to list; a null value matches all.
type machineFilter struct {
	Status       types.String `tfsdk:"status"`
	Zone         types.String `tfsdk:"zone"`
	Pool         types.String `tfsdk:"pool"`
	Tags         types.Set    `tfsdk:"tags"`
	Architecture types.String `tfsdk:"architecture"`
	MinCores     types.Int64  `tfsdk:"min_cores"`
	MinMemoryMiB types.Int64  `tfsdk:"min_memory_mib"`
	Virtual      types.Bool   `tfsdk:"virtual"`
}

// machineDataModel is a machine of MAAS in the data source.
type machineDataModel struct {
	ID            string          `tfsdk:"id"`
	Hostname      string          `tfsdk:"hostname"`
	FQDN          string          `tfsdk:"fqdn"`
	Status        string          `tfsdk:"status"`
	StatusMessage *string         `tfsdk:"status_message"`
	PowerState    string          `tfsdk:"power_state"`
	Locked        bool            `tfsdk:"locked"`
	Username      *string         `tfsdk:"username"`
	Zone          string          `tfsdk:"zone"`
	Pool          string          `tfsdk:"pool"`
	Domain        string          `tfsdk:"domain"`
	Tags          []string        `tfsdk:"tags"`
	Architecture  *string         `tfsdk:"architecture"`
	Cores         int64           `tfsdk:"cores"`
	MemoryMiB     int64           `tfsdk:"memory_mib"`
	Disks         []diskDataModel `tfsdk:"disks"`
	IPAddresses   []string        `tfsdk:"ip_addresses"`
	Virtual       bool            `tfsdk:"virtual"`
}

// statusNames are MAAS's names of the statuses, in the order of its numbers.
var statusNames = []string{
	"New", "Commissioning", "Failed commissioning", "Missing", "Ready", "Reserved", "Deployed", "Retired", "Broken", "Deploying", "Allocated",
	"Failed deployment", "Releasing", "Releasing failed", "Disk erasing", "Failed disk erasing", "Rescue mode", "Entering rescue mode",
	"Failed to enter rescue mode", "Exiting rescue mode", "Failed to exit rescue mode", "Testing", "Failed testing",
}

// Metadata names the data source.
func (s *machinesSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_machines"
}

// Schema takes a filter, and returns the machines that match it.
func (s *machinesSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The machines of MAAS, or some of them: bare metal and VMs. If nothing matches, the list is empty. Each data source lists the " +
			"machines once, so use a filter where MAAS has many.",
		Attributes: map[string]schema.Attribute{
			"filter": schema.SingleNestedAttribute{
				Optional: true, MarkdownDescription: "Which machines to list: those that match all that you set.",
				Attributes: machineFilterAttributes(),
			},
			"machines": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The machines, sorted by hostname.",
				NestedObject: schema.NestedAttributeObject{Attributes: machineAttributes()},
			},
		},
	}
}

func machineFilterAttributes() map[string]schema.Attribute {
	atLeast := func(description string) schema.Attribute {
		return schema.Int64Attribute{Optional: true, MarkdownDescription: description, Validators: []validator.Int64{int64validator.AtLeast(1)}}
	}
	return map[string]schema.Attribute{
		"status": schema.StringAttribute{
			Optional: true, MarkdownDescription: "In this status, by MAAS's name, such as `Ready` or `Failed commissioning`.",
			Validators: []validator.String{stringvalidator.OneOfCaseInsensitive(statusNames...)},
		},
		"zone":           filterTextAttribute("In this availability zone. If MAAS does not know it, the read fails."),
		"pool":           filterTextAttribute("In this resource pool. If MAAS does not know it, the read fails."),
		"tags":           filterTagsAttribute("With all of these tags."),
		"architecture":   filterTextAttribute("Of this architecture: `amd64`, or `amd64/generic`."),
		"min_cores":      atLeast("With at least as many cores."),
		"min_memory_mib": atLeast("With at least as much memory, in MiB."),
		"virtual":        schema.BoolAttribute{Optional: true, MarkdownDescription: "`true`: only VMs. `false`: only bare metal."},
	}
}

// machineAttributes are the values of a machine that MAAS reports.
func machineAttributes() map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{
		"locked":       schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether it is locked in MAAS."},
		"virtual":      schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether MAAS knows it as a VM: it is on a VM host, or its power driver is LXD or libvirt."},
		"cores":        schema.Int64Attribute{Computed: true, MarkdownDescription: "Cores; 0 before it was commissioned."},
		"memory_mib":   schema.Int64Attribute{Computed: true, MarkdownDescription: "Memory, in MiB; 0 before it was commissioned."},
		"disks":        disksAttribute(),
		"tags":         schema.SetAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "All tags."},
		"ip_addresses": schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Its addresses that MAAS knows."},
	}
	for name, description := range map[string]string{
		"id":             "MAAS's system id.",
		"hostname":       "Hostname.",
		"fqdn":           "Hostname and domain.",
		"status":         "Status, by MAAS's name, such as `Ready`.",
		"status_message": "MAAS's message about the status. Null for none.",
		"power_state":    "`on`, `off`, `error` or `unknown`, as MAAS last saw it.",
		"username":       "User of MAAS who has acquired it. Null if nobody has.",
		"zone":           "Availability zone.",
		"pool":           "Resource pool.",
		"domain":         "DNS domain.",
		"architecture":   "Architecture, such as `amd64/generic`. Null if MAAS knows none.",
	} {
		attributes[name] = schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	return attributes
}

// Read lists the machines.
func (s *machinesSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m machinesModel
	diags := &resp.Diagnostics
	diags.Append(req.Config.Get(ctx, &m)...)
	s.withBackend(ctx, "list the machines", diags, func(ctx context.Context, b *client.Backend) error {
		if err := m.Filter.checkNames(ctx, b); err != nil {
			return err
		}
		machines, err := b.Machines.MachinesWhere(ctx, m.Filter.maasFilter())
		if err != nil {
			return err
		}
		warnUnreadableMachines(machines, diags)
		m.Machines = []machineDataModel{}
		slices.SortFunc(machines, func(a, b engine.Machine) int {
			return cmp.Or(cmp.Compare(a.Hostname, b.Hostname), cmp.Compare(a.SystemID, b.SystemID))
		})
		for _, found := range selectMatching(machines, m.Filter.matchesMachine) {
			m.Machines = append(m.Machines, newMachineDataModel(found))
		}
		return nil
	})
	if !diags.HasError() {
		diags.Append(resp.State.Set(ctx, m)...)
	}
}

// warnUnreadableMachines names the machines whose records in MAAS it cannot read.
func warnUnreadableMachines(machines []engine.Machine, diags *diag.Diagnostics) {
	for _, m := range machines {
		if m.Err != nil {
			diags.AddWarning(fmt.Sprintf("Machine %s is left out", m.SystemID), m.Err.Error())
		}
	}
}

// checkNames refuses a zone or pool that does not exist.
func (f *machineFilter) checkNames(ctx context.Context, b *client.Backend) error {
	if f == nil {
		return nil
	}
	return b.CheckFilterNames(ctx, filterField, f.Zone, f.Pool)
}

// maasFilter is the part of the filter that MAAS applies. It leaves out the status New, which
// [engine.MachineFilter] takes for all.
func (f *machineFilter) maasFilter() engine.MachineFilter {
	if f == nil {
		return engine.MachineFilter{}
	}
	status := slices.IndexFunc(statusNames, func(name string) bool { return strings.EqualFold(name, f.Status.ValueString()) })
	return engine.MachineFilter{
		Status: engine.Status(max(status, 0)), Zone: f.Zone.ValueString(), Pool: f.Pool.ValueString(), Tags: values.SortedStrings(f.Tags),
	}
}

func (f *machineFilter) matchesMachine(m engine.Machine) bool {
	if m.Err != nil {
		return false
	}
	architecture := func(wanted string) bool {
		return m.Architecture == wanted || strings.HasPrefix(m.Architecture, wanted+"/")
	}
	return f == nil || matchesText(f.Zone, m.Zone) && matchesText(f.Pool, m.Pool) &&
		(f.Status.IsNull() || strings.EqualFold(f.Status.ValueString(), m.StatusName)) &&
		(f.Architecture.IsNull() || architecture(f.Architecture.ValueString())) &&
		int64(m.Cores) >= f.MinCores.ValueInt64() && m.MemoryMiB >= f.MinMemoryMiB.ValueInt64() &&
		(f.Virtual.IsNull() || f.Virtual.ValueBool() == m.IsVirtual())
}

func newMachineDataModel(m engine.Machine) machineDataModel {
	return machineDataModel{
		ID: m.SystemID, Hostname: m.Hostname, FQDN: m.FQDN, Status: m.StatusName, StatusMessage: textOrNull(m.StatusMessage),
		PowerState: m.PowerState, Locked: m.Locked, Username: textOrNull(m.Owner), Zone: m.Zone, Pool: m.Pool, Domain: m.Domain,
		Tags: orEmptyList(m.Tags), Architecture: textOrNull(m.Architecture), Cores: int64(m.Cores), MemoryMiB: m.MemoryMiB,
		Disks: newDiskDataModels(m.Disks), IPAddresses: orEmptyList(m.IPAddresses), Virtual: m.IsVirtual(),
	}
}
