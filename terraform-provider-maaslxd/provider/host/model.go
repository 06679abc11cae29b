package host

import (
	"cmp"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// hostModel is a maaslxd_vm_host in Terraform: configuration, plan or state.
type hostModel struct {
	ID                  types.String     `tfsdk:"id"`
	SystemID            types.String     `tfsdk:"system_id"`
	Name                types.String     `tfsdk:"name"`
	Machine             types.String     `tfsdk:"machine"`
	Adopt               types.Bool       `tfsdk:"adopt"`
	Selector            types.Object     `tfsdk:"selector"`
	Address             texttype.Address `tfsdk:"address"`
	LXDAddress          texttype.Address `tfsdk:"lxd_address"`
	ServerFingerprint   types.String     `tfsdk:"server_fingerprint"`
	AdoptExistingVMs    types.Bool       `tfsdk:"adopt_existing_vms"`
	Zone                types.String     `tfsdk:"zone"`
	Pool                types.String     `tfsdk:"pool"`
	Tags                types.Set        `tfsdk:"tags"`
	CPUOvercommit       types.Float64    `tfsdk:"cpu_overcommit"`
	MemoryOvercommit    types.Float64    `tfsdk:"memory_overcommit"`
	DefaultStoragePool  types.String     `tfsdk:"default_storage_pool"`
	Deploy              types.Object     `tfsdk:"deploy"`
	Bridge              types.Object     `tfsdk:"bridge"`
	Network             types.Object     `tfsdk:"network"`
	LXD                 types.Object     `tfsdk:"lxd"`
	Release             types.Object     `tfsdk:"release"`
	ForceDestroy        types.Bool       `tfsdk:"force_destroy"`
	OnCreateFailure     types.String     `tfsdk:"on_create_failure"`
	Hostname            types.String     `tfsdk:"hostname"`
	VMHostID            types.Int64      `tfsdk:"vm_host_id"`
	LXDVersion          types.String     `tfsdk:"lxd_version"`
	Cores               types.Object     `tfsdk:"cores"`
	MemoryMiB           types.Object     `tfsdk:"memory_mib"`
	StoragePools        types.Map        `tfsdk:"storage_pools"`
	IPAddresses         types.List       `tfsdk:"ip_addresses"`
	Fingerprint         types.String     `tfsdk:"certificate_fingerprint"`
	TrustedFingerprints types.Set        `tfsdk:"trusted_fingerprints"`
	Status              types.String     `tfsdk:"status"`
	Timeouts            timeouts.Value   `tfsdk:"timeouts"`
}

type bridgeModel struct {
	Name   types.String    `tfsdk:"name"`
	NIC    types.String    `tfsdk:"nic"`
	Subnet texttype.Subnet `tfsdk:"subnet"`
}

var (
	amountType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"total": types.Int64Type, "used": types.Int64Type, "free": types.Int64Type,
	}}
	storagePoolType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"driver": types.StringType, "total_gb": types.Int64Type, "free_gb": types.Int64Type, "default": types.BoolType,
	}}
)

// tags lists the declared tags, sorted.
func (m hostModel) tags() []string { return values.SortedStrings(m.Tags) }

// deploysMachine tells whether MAAS installs a machine for this VM host. Otherwise the host is
// taken as it is.
func (m hostModel) deploysMachine() bool { return !m.Adopt.ValueBool() && !m.registersRunningLXD() }

// lxdEndpoint is the LXD's address in a state: the given one, else the observed one.
func (m hostModel) lxdEndpoint() string {
	return cmp.Or(m.Address.ValueString(), m.LXDAddress.ValueString())
}

// registersRunningLXD tells whether this VM host is an LXD that runs already.
func (m hostModel) registersRunningLXD() bool {
	return !m.Address.IsNull() && m.Machine.IsNull() && m.Selector.IsNull()
}
