package vm

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/vm/instance"
)

// vmModel is a maaslxd_vm in Terraform: configuration, plan or state.
type vmModel struct {
	ID            types.String   `tfsdk:"id"`
	Name          types.String   `tfsdk:"name"`
	VMHost        types.String   `tfsdk:"vm_host"`
	Placement     types.Object   `tfsdk:"placement"`
	VMHostID      types.Int64    `tfsdk:"vm_host_id"`
	VMHostName    types.String   `tfsdk:"vm_host_name"`
	Cores         types.Int64    `tfsdk:"cores"`
	PinnedCores   types.List     `tfsdk:"pinned_cores"`
	MemoryMiB     types.Int64    `tfsdk:"memory_mib"`
	HugePages     types.Bool     `tfsdk:"hugepages"`
	Profile       types.String   `tfsdk:"profile"`
	Config        types.Map      `tfsdk:"config"`
	Devices       types.Map      `tfsdk:"devices"`
	Disks         types.Map      `tfsdk:"disks"`
	Interfaces    types.Map      `tfsdk:"interfaces"`
	Zone          types.String   `tfsdk:"zone"`
	Pool          types.String   `tfsdk:"pool"`
	Domain        types.String   `tfsdk:"domain"`
	Tags          types.Set      `tfsdk:"tags"`
	Description   types.String   `tfsdk:"description"`
	Deploy        types.Object   `tfsdk:"deploy"`
	Triggers      types.Map      `tfsdk:"redeploy_triggers"`
	Annotations   types.Map      `tfsdk:"annotations"`
	PowerState    types.String   `tfsdk:"power_state"`
	AllowStopping types.Bool     `tfsdk:"allow_stopping_for_update"`
	Protection    types.Bool     `tfsdk:"deletion_protection"`
	FQDN          types.String   `tfsdk:"fqdn"`
	Status        types.String   `tfsdk:"status"`
	IPAddresses   types.List     `tfsdk:"ip_addresses"`
	Timeouts      timeouts.Value `tfsdk:"timeouts"`
}

// inState is the VM as the notes of a run know it.
func (m vmModel) inState(n privateState) client.StateVM {
	room := client.Room{Cores: m.Cores.ValueInt64(), MemoryMiB: m.MemoryMiB.ValueInt64()}
	if m.HugePages.ValueBool() {
		room.HugePagesMiB = room.MemoryMiB
	}
	return client.StateVM{SystemID: m.ID.ValueString(), HostMachine: n.HostMachine, HostID: int(m.VMHostID.ValueInt64()), Room: room}
}

type diskModel struct {
	SizeGB types.Int64  `tfsdk:"size_gb"`
	Pool   types.String `tfsdk:"pool"`
}

type interfaceModel struct {
	Subnet      texttype.Subnet `tfsdk:"subnet"`
	VLAN        types.Int64     `tfsdk:"vlan"`
	Fabric      types.String    `tfsdk:"fabric"`
	Space       types.String    `tfsdk:"space"`
	Mode        types.String    `tfsdk:"mode"`
	IP          texttype.IP     `tfsdk:"ip"`
	Addresses   types.List      `tfsdk:"addresses"`
	Bridge      types.String    `tfsdk:"bridge"`
	MACAddress  types.String    `tfsdk:"mac_address"`
	IPAddresses types.List      `tfsdk:"ip_addresses"`
}

// addressModel is an address of an interface after its first one.
type addressModel struct {
	Subnet texttype.Subnet `tfsdk:"subnet"`
	IP     texttype.IP     `tfsdk:"ip"`
	Mode   types.String    `tfsdk:"mode"`
}

type deployModel struct {
	Image             texttype.Image `tfsdk:"image"`
	Kernel            types.String   `tfsdk:"kernel"`
	Ephemeral         types.Bool     `tfsdk:"ephemeral"`
	UserDataWO        types.String   `tfsdk:"user_data_wo"`
	UserDataWOVersion types.Int64    `tfsdk:"user_data_wo_version"`
}

var (
	diskType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"size_gb": types.Int64Type, "pool": types.StringType,
	}}
	addressType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"subnet": texttype.SubnetType, "ip": texttype.IPType, "mode": types.StringType,
	}}
	interfaceType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"subnet": texttype.SubnetType, "vlan": types.Int64Type, "fabric": types.StringType, "space": types.StringType, "mode": types.StringType,
		"ip": texttype.IPType, "addresses": types.ListType{ElemType: addressType}, "bridge": types.StringType, "mac_address": types.StringType,
		"ip_addresses": types.ListType{ElemType: types.StringType},
	}}
	deployType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"image": texttype.ImageType, "kernel": types.StringType, "ephemeral": types.BoolType,
		"user_data_wo": types.StringType, "user_data_wo_version": types.Int64Type,
	}}
)

// disks decodes the disks; nil if there are none or they are not known.
func (m vmModel) disks(ctx context.Context, diags *diag.Diagnostics) map[string]diskModel {
	return values.DecodeMap[diskModel](ctx, m.Disks, diags)
}

func (m vmModel) interfaces(ctx context.Context, diags *diag.Diagnostics) map[string]interfaceModel {
	return values.DecodeMap[interfaceModel](ctx, m.Interfaces, diags)
}

// deploy decodes the attribute deploy; nil if it is null or not known.
func (m vmModel) deploy(ctx context.Context, diags *diag.Diagnostics) *deployModel {
	return values.DecodeObject[deployModel](ctx, m.Deploy, diags)
}

// tags lists the declared tags, sorted.
func (m vmModel) tags() []string { return values.SortedStrings(m.Tags) }

// settings are the VM's options and devices of LXD.
func (m vmModel) settings() instance.Settings {
	return instance.Settings{Config: m.Config, Devices: m.Devices}
}

// setSettings replaces options and devices.
func (m *vmModel) setSettings(s instance.Settings) { m.Config, m.Devices = s.Config, s.Devices }

func encodeDeploy(ctx context.Context, d *deployModel, diags *diag.Diagnostics) types.Object {
	if d == nil {
		return types.ObjectNull(deployType.AttrTypes)
	}
	return values.EncodeObject(ctx, deployType, d, diags)
}
