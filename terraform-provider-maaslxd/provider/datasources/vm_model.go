package datasources

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// vmDataModel is a VM in the data sources.
type vmDataModel struct {
	ID            string               `tfsdk:"id"`
	Name          string               `tfsdk:"name"`
	FQDN          string               `tfsdk:"fqdn"`
	VMHostID      *int64               `tfsdk:"vm_host_id"`
	VMHostName    string               `tfsdk:"vm_host_name"`
	Cores         int64                `tfsdk:"cores"`
	MemoryMiB     int64                `tfsdk:"memory_mib"`
	Architecture  *string              `tfsdk:"architecture"`
	Disks         []diskDataModel      `tfsdk:"disks"`
	Interfaces    []interfaceDataModel `tfsdk:"interfaces"`
	Zone          string               `tfsdk:"zone"`
	Pool          string               `tfsdk:"pool"`
	Domain        string               `tfsdk:"domain"`
	Tags          []string             `tfsdk:"tags"`
	Image         *string              `tfsdk:"image"`
	Kernel        *string              `tfsdk:"kernel"`
	Status        string               `tfsdk:"status"`
	StatusMessage *string              `tfsdk:"status_message"`
	PowerState    string               `tfsdk:"power_state"`
	IPAddresses   []string             `tfsdk:"ip_addresses"`
	Managed       bool                 `tfsdk:"managed"`
	Owner         *string              `tfsdk:"owner"`
}

type diskDataModel struct {
	Name   string  `tfsdk:"name"`
	SizeGB int64   `tfsdk:"size_gb"`
	Pool   *string `tfsdk:"pool"`
}

type interfaceDataModel struct {
	Name        string   `tfsdk:"name"`
	MACAddress  string   `tfsdk:"mac_address"`
	IPAddresses []string `tfsdk:"ip_addresses"`
}

func newVMDataModel(vm fleet.VM) vmDataModel {
	m := vmDataModel{
		ID: vm.SystemID, Name: vm.Hostname, FQDN: vm.FQDN, VMHostID: numberOrNull(vm.HostID), VMHostName: vm.HostName,
		Cores: int64(vm.Cores), MemoryMiB: vm.MemoryMiB, Architecture: textOrNull(vm.Architecture),
		Disks: newDiskDataModels(vm.Disks), Interfaces: []interfaceDataModel{},
		Zone: vm.Zone, Pool: vm.Pool, Domain: vm.Domain, Tags: orEmptyList(vm.Tags),
		Image: textOrNull(vm.Image), Kernel: textOrNull(vm.Kernel),
		Status: vm.StatusName, StatusMessage: textOrNull(vm.StatusMessage), PowerState: vm.PowerState,
		IPAddresses: orEmptyList(vm.IPAddresses), Managed: vm.Key != "", Owner: textOrNull(ownerOf(vm.Key)),
	}
	for _, i := range vm.Interfaces {
		m.Interfaces = append(m.Interfaces, interfaceDataModel{Name: i.Name, MACAddress: i.MAC, IPAddresses: orEmptyList(values.LinkedIPs(i))})
	}
	return m
}

func newDiskDataModels(disks []engine.MachineDisk) []diskDataModel {
	list := make([]diskDataModel, 0, len(disks))
	for _, d := range disks {
		list = append(list, diskDataModel{Name: d.Name, SizeGB: d.SizeGB, Pool: textOrNull(d.Pool)})
	}
	return list
}

// ownerOf is the owner in a key of ours. Keys of other front ends have no owner.
func ownerOf(key engine.Key) string {
	owner, _, ok := strings.Cut(string(key), "/")
	if !ok {
		return ""
	}
	return owner
}

// vmAttributes are the values of a VM that MAAS reports.
func vmAttributes() map[string]schema.Attribute {
	texts := map[string]string{
		"id":             "MAAS's system id of the VM.",
		"name":           "Hostname.",
		"fqdn":           "Hostname and domain.",
		"vm_host_name":   "Name of its VM host.",
		"architecture":   "Architecture, such as `amd64/generic`.",
		"zone":           "Availability zone of the VM in MAAS.",
		"pool":           "Resource pool.",
		"domain":         "DNS domain.",
		"image":          "Installed image, such as `ubuntu/noble`. Null if none is installed.",
		"kernel":         "Requested kernel, such as `ga-24.04`. Null if none was requested.",
		"status":         "MAAS's name for the state of the VM, such as `Ready` or `Deployed`.",
		"status_message": "MAAS's message about the state. Null if there is none.",
		"power_state":    "Whether it is on, as MAAS last saw it: `on`, `off`, `error` or `unknown`.",
		"owner":          "`owner` of the provider block that made it. Null without a mark of this provider, or if another program of the same engine made it.",
	}
	attributes := map[string]schema.Attribute{
		"vm_host_id": schema.Int64Attribute{Computed: true, MarkdownDescription: "Id of the VM host in MAAS. Null where MAAS has no VM hosts."},
		"cores":      schema.Int64Attribute{Computed: true, MarkdownDescription: "Number of virtual CPUs. 0 before it was commissioned."},
		"memory_mib": schema.Int64Attribute{Computed: true, MarkdownDescription: "Memory in MiB. 0 before it was commissioned."},
		"disks":      disksAttribute(),
		"interfaces": interfacesAttribute(),
		"tags":       schema.SetAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "All tags."},
		"ip_addresses": schema.ListAttribute{
			Computed: true, ElementType: types.StringType, MarkdownDescription: "All addresses that MAAS knows.",
		},
		"managed": schema.BoolAttribute{
			Computed: true, MarkdownDescription: "Whether it carries a mark of this provider, of any owner.",
		},
	}
	for name, description := range texts {
		attributes[name] = schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	return attributes
}

func disksAttribute() schema.Attribute {
	return schema.ListNestedAttribute{
		Computed: true, MarkdownDescription: "Disks, in MAAS's order.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"name":    schema.StringAttribute{Computed: true, MarkdownDescription: "Name, such as `sda`."},
			"size_gb": schema.Int64Attribute{Computed: true, MarkdownDescription: "Size in GB of 1000000000 bytes."},
			"pool":    schema.StringAttribute{Computed: true, MarkdownDescription: "Storage pool of the VM host. Null for bare metal, and where MAAS does not report it."},
		}},
	}
}

func interfacesAttribute() schema.Attribute {
	return schema.ListNestedAttribute{
		Computed: true, MarkdownDescription: "Network interfaces, in MAAS's order.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"name":        schema.StringAttribute{Computed: true, MarkdownDescription: "Name in the VM, such as `enp5s0`."},
			"mac_address": schema.StringAttribute{Computed: true, MarkdownDescription: "MAC address, in lower case."},
			"ip_addresses": schema.ListAttribute{
				Computed: true, ElementType: types.StringType, MarkdownDescription: "Addresses that it has.",
			},
		}},
	}
}
