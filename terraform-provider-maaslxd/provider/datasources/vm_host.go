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

// Schema takes a name or an id, and returns the VM host.
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
		MarkdownDescription: "System id of the machine that LXD runs on. Null until MAAS has reached its LXD.",
		Validators:          []validator.String{values.NotEmpty()},
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "An LXD VM host of MAAS: its settings, its size, and its free room.",
		Attributes:          attributes,
	}
}

// ConfigValidators require exactly one of name, vm_host_id and system_id.
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

// distinguishingAttribute is an attribute that differs between the hosts, for the hint of an
// error.
func distinguishingAttribute(hosts []fleet.Host) string {
	if vmHostNumber(hosts[0]) == "" {
		return "system_id"
	}
	return "vm_host_id"
}

// readHostLookup returns the attribute by which to find the VM host, and the test for it.
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

// selectMatching returns the elements that pass the test.
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

// vmHostNumber is the id of a VM host; empty where MAAS has no VM hosts.
func vmHostNumber(h fleet.Host) string {
	if h.ID == 0 {
		return ""
	}
	return fmt.Sprint(h.ID)
}

// knownNamesHint lists the existing names, as many as a reader can take in.
func knownNamesHint(names []string) string {
	const most = 12
	switch n := len(names); {
	case n == 0:
		return "There are none."
	case n > most:
		return fmt.Sprintf("Known: %s and %d more.", strings.Join(names[:most], ", "), n-most)
	default:
		return fmt.Sprintf("Known: %s.", strings.Join(names, ", "))
	}
}
