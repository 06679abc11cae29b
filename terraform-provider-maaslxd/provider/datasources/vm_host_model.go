package datasources

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine/fleet"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// vmHostDataModel is a VM host in the data sources.
type vmHostDataModel struct {
	Name             string                        `tfsdk:"name"`
	VMHostID         *int64                        `tfsdk:"vm_host_id"`
	SystemID         *string                       `tfsdk:"system_id"`
	Zone             string                        `tfsdk:"zone"`
	Pool             string                        `tfsdk:"pool"`
	Tags             []string                      `tfsdk:"tags"`
	LXDVersion       *string                       `tfsdk:"lxd_version"`
	Architectures    []string                      `tfsdk:"architectures"`
	Cores            values.Amount                 `tfsdk:"cores"`
	MemoryMiB        values.Amount                 `tfsdk:"memory_mib"`
	CPUOvercommit    float64                       `tfsdk:"cpu_overcommit"`
	MemoryOvercommit float64                       `tfsdk:"memory_overcommit"`
	StoragePools     map[string]values.StoragePool `tfsdk:"storage_pools"`
	Profiles         []string                      `tfsdk:"profiles"`
	VMCount          int64                         `tfsdk:"vm_count"`
	ManagedVMCount   int64                         `tfsdk:"managed_vm_count"`
	Server           *string                       `tfsdk:"server_fingerprint"`
}

func newVMHostDataModel(h fleet.Host) vmHostDataModel {
	m := vmHostDataModel{
		Name: h.Name, VMHostID: numberOrNull(h.ID), SystemID: textOrNull(h.MachineID), Zone: h.Zone, Pool: h.Pool,
		Tags: orEmptyList(h.Tags), LXDVersion: textOrNull(h.Version), Architectures: orEmptyList(h.Architectures),
		Cores:         values.Amount{Total: h.Cores.Total, Used: h.Cores.Used, Free: h.FreeCores},
		MemoryMiB:     values.Amount{Total: h.MemoryMiB.Total, Used: h.MemoryMiB.Used, Free: h.FreeMemoryMiB},
		CPUOvercommit: h.CPUOvercommit, MemoryOvercommit: h.MemoryOvercommit,
		StoragePools: map[string]values.StoragePool{}, Profiles: h.Profiles, VMCount: int64(h.VMs), ManagedVMCount: int64(h.OursVMs),
		Server: textOrNull(h.ServerFingerprint),
	}
	for _, p := range h.StoragePools {
		m.StoragePools[p.Name] = values.NewStoragePool(p)
	}
	return m
}

// numberOrNull is null for zero: MAAS has no such number.
func numberOrNull(id int) *int64 {
	if id == 0 {
		return nil
	}
	return new(int64(id))
}

// textOrNull is null for the empty text: MAAS does not report it.
func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// orEmptyList turns null into an empty list.
func orEmptyList(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// vmHostAttributes are the values of a VM host that MAAS reports.
func vmHostAttributes() map[string]schema.Attribute {
	attributes := vmHostCapacityAttributes()
	maps.Copy(attributes, map[string]schema.Attribute{
		"name":       schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the VM host."},
		"vm_host_id": schema.Int64Attribute{Computed: true, MarkdownDescription: "Id of the VM host in MAAS. Null where MAAS has no VM hosts."},
		"system_id": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "System id of the machine that LXD runs on. Null until MAAS has reached its LXD.",
		},
		"zone": schema.StringAttribute{Computed: true, MarkdownDescription: "Availability zone."},
		"pool": schema.StringAttribute{Computed: true, MarkdownDescription: "Resource pool."},
		"tags": schema.SetAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Tags of the VM host."},
		"lxd_version": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "Version of LXD. Null until MAAS has reached its LXD.",
		},
		"architectures": schema.ListAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "Architectures of VMs that it can run, such as `amd64/generic`.",
		},
		"profiles": schema.SetAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "LXD profiles in its project that VMs can have. Null where MAAS makes the VMs: it chooses their profile.",
		},
		"server_fingerprint": schema.StringAttribute{
			Computed: true,
			MarkdownDescription: "SHA-256, in hex, of its LXD's certificate, as `maaslxd_vm_host` saw it. Null for hosts that were made otherwise, and " +
				"for those whose LXD only MAAS has seen.",
		},
	})
	return attributes
}

// vmHostCapacityAttributes are the size of a VM host, and its VMs.
func vmHostCapacityAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"cores":      amountAttribute("Cores", "for new VMs: over-commit is included, and reservations in the ledger are not"),
		"memory_mib": amountAttribute("Memory in MiB", "for new VMs: over-commit is included, and reservations in the ledger are not"),
		"cpu_overcommit": schema.Float64Attribute{
			Computed: true, MarkdownDescription: "Over-commit ratio of cores: the VMs together may have `cores.total` times this.",
		},
		"memory_overcommit": schema.Float64Attribute{Computed: true, MarkdownDescription: "Over-commit ratio of memory."},
		"storage_pools":     storagePoolsAttribute(),
		"vm_count":          schema.Int64Attribute{Computed: true, MarkdownDescription: "Number of VMs on it that MAAS knows."},
		"managed_vm_count": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "How many of them carry a mark of this provider, of any owner.",
		},
	}
}

func amountAttribute(what, free string) schema.Attribute {
	number := func(description string) schema.Attribute {
		return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
	}
	return schema.SingleNestedAttribute{
		Computed: true, MarkdownDescription: what + ".",
		Attributes: map[string]schema.Attribute{
			"total": number("Amount that the hardware has."),
			"used":  number("Amount that the VMs known to MAAS have."),
			"free":  number("Amount that is left " + free + "."),
		},
	}
}

func storagePoolsAttribute() schema.Attribute {
	return schema.MapNestedAttribute{
		Computed: true, MarkdownDescription: "Storage pools, by name. MAAS counts disks decimally: 1 GB is 1000000000 bytes.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"driver":   schema.StringAttribute{Computed: true, MarkdownDescription: "Driver, such as `zfs` or `dir`."},
			"total_gb": schema.Int64Attribute{Computed: true, MarkdownDescription: "Size in GB, rounded down."},
			"free_gb":  schema.Int64Attribute{Computed: true, MarkdownDescription: "Free space in GB, rounded down."},
			"default":  schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether disks that name no pool go here."},
		}},
	}
}
