package datasources

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/datasourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

var (
	_ datasource.DataSourceWithConfigure        = (*vmSource)(nil)
	_ datasource.DataSourceWithConfigValidators = (*vmSource)(nil)
)

// NewVMSource makes the data source maaslxd_vm.
func NewVMSource() datasource.DataSource { return &vmSource{} }

// vmSource is the data source maaslxd_vm.
type vmSource struct{ backendSource }

// Metadata names the data source.
func (s *vmSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_vm"
}

// Schema takes a name or a system id, and returns the VM.
func (s *vmSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := vmAttributes()
	attributes["id"] = schema.StringAttribute{
		Optional: true, Computed: true,
		MarkdownDescription: "MAAS's system id of the VM. Exactly one of `id` and `name` must be set.",
		Validators:          []validator.String{values.NotEmpty()},
	}
	attributes["name"] = schema.StringAttribute{
		Optional: true, Computed: true, MarkdownDescription: "Hostname, without the domain.",
		Validators: []validator.String{values.NotEmpty()},
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "A VM on an LXD VM host of MAAS, whoever made it.",
		Attributes:          attributes,
	}
}

// ConfigValidators require exactly one of id and name.
func (s *vmSource) ConfigValidators(context.Context) []datasource.ConfigValidator {
	return []datasource.ConfigValidator{datasourcevalidator.ExactlyOneOf(path.MatchRoot("id"), path.MatchRoot("name"))}
}

// Read finds the VM.
func (s *vmSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var id, name types.String
	diags := &resp.Diagnostics
	diags.Append(req.Config.GetAttribute(ctx, path.Root("id"), &id)...)
	diags.Append(req.Config.GetAttribute(ctx, path.Root("name"), &name)...)
	if diags.HasError() {
		return
	}
	at, text := path.Root("name"), name.String()
	if name.IsNull() {
		at, text = path.Root("id"), id.String()
	}
	seen := s.readFleet(ctx, fmt.Sprintf("read VM %s", text), diags)
	if diags.HasError() {
		return
	}
	found := selectMatching(seen.VMs, func(vm fleet.VM) bool { return matchesText(id, vm.SystemID) && matchesText(name, vm.Hostname) })
	switch len(found) {
	case 1:
		diags.Append(resp.State.Set(ctx, newVMDataModel(found[0]))...)
	case 0:
		diags.AddAttributeError(at, "No such VM", fmt.Sprintf(
			"MAAS knows no VM with %s %s on an LXD VM host. Other machines are not searched.", at, text))
	default:
		diags.AddAttributeError(at, "Several such VMs", fmt.Sprintf(
			"%d VMs have %s %s. Set id instead: %s.", len(found), at, text, strings.Join(systemIDs(found), ", ")))
	}
}

func systemIDs(vms []fleet.VM) []string {
	ids := make([]string, len(vms))
	for i, vm := range vms {
		ids[i] = vm.SystemID
	}
	return ids
}
