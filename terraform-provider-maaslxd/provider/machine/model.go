package machine

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// machineModel is a maaslxd_machine in Terraform: configuration, plan or state.
type machineModel struct {
	ID            types.String   `tfsdk:"id"`
	Name          types.String   `tfsdk:"name"`
	Machine       types.String   `tfsdk:"machine"`
	Selector      types.Object   `tfsdk:"selector"`
	Interfaces    types.Map      `tfsdk:"interfaces"`
	Deploy        types.Object   `tfsdk:"deploy"`
	Release       types.Object   `tfsdk:"release"`
	Hostname      types.String   `tfsdk:"hostname"`
	Domain        types.String   `tfsdk:"domain"`
	FQDN          types.String   `tfsdk:"fqdn"`
	Zone          types.String   `tfsdk:"zone"`
	Pool          types.String   `tfsdk:"pool"`
	Tags          types.Set      `tfsdk:"tags"`
	Description   types.String   `tfsdk:"description"`
	Annotations   types.Map      `tfsdk:"annotations"`
	Protection    types.Bool     `tfsdk:"deletion_protection"`
	Architecture  types.String   `tfsdk:"architecture"`
	Cores         types.Int64    `tfsdk:"cores"`
	MemoryMiB     types.Int64    `tfsdk:"memory_mib"`
	IPAddresses   types.List     `tfsdk:"ip_addresses"`
	Status        types.String   `tfsdk:"status"`
	StatusMessage types.String   `tfsdk:"status_message"`
	Timeouts      timeouts.Value `tfsdk:"timeouts"`
}

// interfaceModel is an interface with a fixed address.
type interfaceModel struct {
	NIC    types.String    `tfsdk:"nic"`
	Subnet texttype.Subnet `tfsdk:"subnet"`
	IP     texttype.IP     `tfsdk:"ip"`
}

var interfaceType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"nic": types.StringType, "subnet": texttype.SubnetType, "ip": texttype.IPType,
}}

// deployModel is the attribute deploy.
type deployModel struct {
	values.Deployment
	Ephemeral    types.Bool `tfsdk:"ephemeral"`
	HardwareSync types.Bool `tfsdk:"enable_hw_sync"`
}

var deployType = types.ObjectType{AttrTypes: deployTypes()}

func deployTypes() map[string]attr.Type {
	all := maps.Clone(values.DeploymentType.AttrTypes)
	all["ephemeral"], all["enable_hw_sync"] = types.BoolType, types.BoolType
	return all
}

// spec converts it for the engine.
func (d deployModel) spec() *engine.Deployment {
	out := d.Spec()
	out.Ephemeral, out.HardwareSync = d.Ephemeral.ValueBool(), d.HardwareSync.ValueBool()
	return out
}

// interfaces decodes the interfaces; nil if there are none or they are not known.
func (m machineModel) interfaces(ctx context.Context, diags *diag.Diagnostics) map[string]interfaceModel {
	return values.DecodeMap[interfaceModel](ctx, m.Interfaces, diags)
}

// deploy decodes the attribute deploy; nil if it is null or not known.
func (m machineModel) deploy(ctx context.Context, diags *diag.Diagnostics) *deployModel {
	return values.DecodeObject[deployModel](ctx, m.Deploy, diags)
}

// deployOrNothing is deploy; all is null if it is not set.
func (m machineModel) deployOrNothing(ctx context.Context, diags *diag.Diagnostics) deployModel {
	if d := m.deploy(ctx, diags); d != nil {
		return *d
	}
	return deployModel{}
}

// sortedLabels are the labels of the interfaces, sorted.
func sortedLabels(interfaces map[string]interfaceModel) []string {
	return slices.Sorted(maps.Keys(interfaces))
}

// namedMachine is the machine of a state with its former name.
func (m machineModel) namedMachine() client.NamedMachine {
	return client.NamedMachine{Object: "machine " + m.Name.ValueString(), ConfiguredName: m.Machine, ID: m.ID, Hostname: m.Hostname}
}
