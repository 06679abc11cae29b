package datasources

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/datasourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

var (
	_ datasource.DataSourceWithConfigure        = (*vmHostSource)(nil)
	_ datasource.DataSourceWithConfigValidators = (*vmHostSource)(nil)
)

// NewVMHostSource makes the data source maaslxd_vm_host.
func NewVMHostSource() datasource.DataSource { return &vmHostSource{} }

// vmHostSource is the data source maaslxd_vm_host.
type vmHostSource struct{ backendSource }

// Metadata names the data source.
func (s *vmHostSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_vm_host"
}

// Schema is that of one VM host, found by a name or an id.
func (s *vmHostSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := vmHostAttributes()
	const exactly = " Exactly one of `name`, `vm_host_id` and `system_id` must be set."
	attributes["name"] = schema.StringAttribute{
		Optional: true, Computed: true, MarkdownDescription: "Name of the VM host." + exactly,
		Validators: []validator.String{values.NotEmpty()},
	}
	attributes["vm_host_id"] = schema.Int64Attribute{
		Optional: true, Computed: true, MarkdownDescription: "Id of the VM host in MAAS. Null where MAAS has no VM hosts.",
		Validators: []validator.Int64{int64validator.AtLeast(1)},
	}
	attributes["system_id"] = schema.StringAttribute{
		Optional: true, Computed: true,
		MarkdownDescription: "System id of the machine that LXD runs on. Null as long as its LXD was never reached.",
		Validators:          []validator.String{values.NotEmpty()},
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "An LXD VM host of MAAS: what it is, what it has, and what is left of it.",
		Attributes:          attributes,
	}
}

// ConfigValidators want one way to find the VM host.
func (s *vmHostSource) ConfigValidators(context.Context) []datasource.ConfigValidator {
	return []datasource.ConfigValidator{datasourcevalidator.ExactlyOneOf(
		path.MatchRoot("name"), path.MatchRoot("vm_host_id"), path.MatchRoot("system_id"),
	)}
}

// Read finds the VM host.
func (s *vmHostSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	diags := &resp.Diagnostics
	at, text, matches := readHostLookup(ctx, req.Config, diags)
	if diags.HasError() {
		return
	}
	fleet := s.readFleet(ctx, fmt.Sprintf("read VM host %s", text), diags)
	if diags.HasError() {
		return
	}
	found, names := selectMatching(fleet.Hosts, matches), hostNames(fleet.Hosts)
	switch len(found) {
	case 1:
		diags.Append(resp.State.Set(ctx, newVMHostDataModel(found[0]))...)
	case 0:
		diags.AddAttributeError(at, "No such VM host", fmt.Sprintf("MAAS knows no VM host with %s %s. %s", at, text, knownNamesHint(names)))
	default:
		diags.AddAttributeError(at, "Several such VM hosts", fmt.Sprintf(
			"%d VM hosts of MAAS have %s %s. Set %s instead: %s.", len(found), at, text, distinguishingAttribute(found), strings.Join(hostIDs(found), ", ")))
	}
}

// distinguishingAttribute is by which attribute each of the hosts can be told from the others.
func distinguishingAttribute(hosts []fleet.Host) string {
	if vmHostNumber(hosts[0]) == "" {
		return "system_id"
	}
	return "vm_host_id"
}

// readHostLookup says by which attribute the VM host is to be found, and how.
func readHostLookup(ctx context.Context, config tfsdk.Config, diags *diag.Diagnostics) (path.Path, string, func(fleet.Host) bool) {
	var name, systemID types.String
	var id types.Int64
	diags.Append(config.GetAttribute(ctx, path.Root("name"), &name)...)
	diags.Append(config.GetAttribute(ctx, path.Root("vm_host_id"), &id)...)
	diags.Append(config.GetAttribute(ctx, path.Root("system_id"), &systemID)...)
	switch {
	case !name.IsNull():
		return path.Root("name"), name.String(), func(h fleet.Host) bool { return h.Name == name.ValueString() }
	case !id.IsNull():
		return path.Root("vm_host_id"), id.String(), func(h fleet.Host) bool { return int64(h.ID) == id.ValueInt64() }
	default:
		return path.Root("system_id"), systemID.String(), func(h fleet.Host) bool { return h.MachineID == systemID.ValueString() }
	}
}

// selectMatching returns what matches.
func selectMatching[T any](all []T, matches func(T) bool) []T {
	found := []T{}
	for _, item := range all {
		if matches(item) {
			found = append(found, item)
		}
	}
	return found
}

func hostNames(hosts []fleet.Host) []string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
	}
	return names
}

func hostIDs(hosts []fleet.Host) []string {
	ids := make([]string, len(hosts))
	for i, h := range hosts {
		ids[i] = cmp.Or(vmHostNumber(h), h.MachineID)
	}
	return ids
}

// vmHostNumber is the id of a VM host, empty where MAAS has none.
func vmHostNumber(h fleet.Host) string {
	if h.ID == 0 {
		return ""
	}
	return fmt.Sprint(h.ID)
}

// knownNamesHint lists what there is instead, or as much of it as can be read.
func knownNamesHint(names []string) string {
	const most = 12
	switch n := len(names); {
	case n == 0:
		return "There is none."
	case n > most:
		return fmt.Sprintf("Known: %s and %d more.", strings.Join(names[:most], ", "), n-most)
	default:
		return fmt.Sprintf("Known: %s.", strings.Join(names, ", "))
	}
}
