package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
)

// Defaults and bounds of a VM. The defaults are those of MAAS's own compose
// form, and so is the least memory (forms/pods.py, ComposeMachineForm). The
// upper bounds only catch slips of the pen: they are far beyond any host.
const (
	defaultCores     = 1
	maxCores         = 4096
	defaultMemoryMiB = 2048
	minMemoryMiB     = engine.MinMemoryMiB
	maxMemoryMiB     = 64 << 20 // 64 TiB
	defaultDiskGB    = 8
	maxDiskGB        = 1_000_000 // 1 PB
	maxDisks         = 16
	maxInterfaces    = 16
)

const forcesReplacement = " **Changing it replaces the VM.**"

func (r *vmResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = vmSchema(ctx)
}

func vmSchema(ctx context.Context) schema.Schema {
	attributes := map[string]schema.Attribute{
		"disks":      disksAttribute(),
		"interfaces": interfacesAttribute(),
		"deploy":     deployAttribute(),
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{
			Create: true, Read: true, Update: true, Delete: true,
			CreateDescription: "How long to wait for a new VM, as a duration such as `45m`. Default `30m`. When the time is up the VM is kept, and the next apply goes on.",
			ReadDescription:   "How long a refresh may take. Default `2m`.",
			UpdateDescription: "How long to wait for a change. Default `10m`, or `30m` if the VM is being deployed.",
			DeleteDescription: "How long to wait until the VM is gone. Default `20m`.",
		}),
	}
	for _, group := range []map[string]schema.Attribute{placeAttributes(), sizeAttributes(), computedAttributes()} {
		for name, a := range group {
			attributes[name] = a
		}
	}
	return schema.Schema{
		Version: 0,
		MarkdownDescription: "An LXD virtual machine on a VM host of MAAS: composed, commissioned and, if asked for, deployed.\n\n" +
			"A create that is cut off or runs out of time leaves the VM as it is; the next apply finds it and goes on. When the time was " +
			"up, `status` says how far the VM has come (`Commissioning`, `Deploying`), with a warning. A postcondition on `status` keeps " +
			"dependents waiting until the VM is there: see the example.",
		Attributes: attributes,
	}
}

func vmIdentitySchema() identityschema.Schema {
	return identityschema.Schema{
		Version: 0,
		Attributes: map[string]identityschema.Attribute{
			"system_id": identityschema.StringAttribute{
				RequiredForImport: true,
				Description:       "MAAS's system id of the VM, such as \"4y3h7n\".",
			},
		},
	}
}

// placeAttributes say what the VM is called and where it belongs.
func placeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required: true,
			MarkdownDescription: "Hostname: one DNS label of lower-case letters, digits and hyphens, at most 63 characters, unique in the " +
				"whole MAAS. Changes in place in MAAS; the LXD instance keeps the name that it was made with.",
			Validators: []validator.String{vmName()},
		},
		"vm_host": schema.StringAttribute{
			Required: true,
			MarkdownDescription: "VM host to compose on: its name, or its id in MAAS. Name and id of the same host are the same value." +
				forcesReplacement,
			Validators: []validator.String{notEmpty()},
		},
		"zone":   placeAttribute("Availability zone of the VM in MAAS, by name. Default: the zone of the VM host."),
		"pool":   placeAttribute("Resource pool, by name. Default: the resource pool of the VM host."),
		"domain": placeAttribute("DNS domain, by name. Default: MAAS's default domain."),
		"tags": schema.SetAttribute{
			Optional:    true,
			ElementType: types.StringType,
			MarkdownDescription: "Tags that the VM carries. Tags that MAAS does not know are created. Changes in place. Only these are looked " +
				"after: tags that come from the VM host, from MAAS or from someone else stay.",
			Validators: []validator.Set{setvalidator.ValueStringsAre(tag())},
		},
	}
}

func placeAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional:            true,
		Computed:            true,
		MarkdownDescription: description + " Changes in place. Where it is not set, or no longer, the VM stays where it is.",
		Validators:          []validator.String{notEmpty()},
		PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// sizeAttributes say how large the VM is. MAAS has no call that resizes one.
func sizeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"cores": schema.Int64Attribute{
			Optional:            true,
			Computed:            true,
			MarkdownDescription: "Number of virtual CPUs, at least 1. Default 1, or the number of `pinned_cores`." + forcesReplacement,
			Validators: []validator.Int64{
				int64validator.Between(1, maxCores),
				int64validator.ConflictsWith(path.MatchRoot("pinned_cores")),
			},
		},
		"pinned_cores": schema.ListAttribute{
			Optional:    true,
			ElementType: types.Int64Type,
			MarkdownDescription: "Cores of the VM host that the VM is bound to, by number from 0, instead of `cores`. MAAS does not tell them " +
				"later, so for an imported VM the configuration is believed." + forcesReplacement,
			Validators: []validator.List{
				listvalidator.SizeBetween(1, maxCores),
				listvalidator.UniqueValues(),
				listvalidator.ValueInt64sAre(int64validator.Between(0, maxCores-1)),
			},
		},
		"memory_mib": schema.Int64Attribute{
			Optional:            true,
			Computed:            true,
			Default:             int64default.StaticInt64(defaultMemoryMiB),
			MarkdownDescription: "Memory in MiB, at least 1024. Default 2048." + forcesReplacement,
			Validators:          []validator.Int64{int64validator.Between(minMemoryMiB, maxMemoryMiB)},
		},
		"hugepages": schema.BoolAttribute{
			Optional: true,
			Computed: true,
			Default:  booldefault.StaticBool(false),
			MarkdownDescription: "Back the memory with huge pages of the VM host. Default `false`. MAAS does not tell it later, so for an " +
				"imported VM the configuration is believed." + forcesReplacement,
		},
	}
}

func disksAttribute() schema.Attribute {
	return schema.MapNestedAttribute{
		Optional: true,
		Computed: true,
		MarkdownDescription: "Disks, keyed by a name of lower-case letters, digits and hyphens. The VM boots from the one named `root`; the " +
			"others follow in the order of their names. Default: one root disk of 8 GB. Renaming a disk changes nothing, as long as the " +
			"order stays." + forcesReplacement,
		Validators: []validator.Map{
			mapvalidator.SizeAtMost(maxDisks),
			mapvalidator.KeysAre(mapLabel()),
			rootDisk{},
		},
		NestedObject: schema.NestedAttributeObject{
			Attributes: map[string]schema.Attribute{
				"size_gb": schema.Int64Attribute{
					Required:            true,
					MarkdownDescription: "Size in GB, at least 1. MAAS counts disks decimally: 1 GB is 1000000000 bytes.",
					Validators:          []validator.Int64{int64validator.Between(1, maxDiskGB)},
				},
				"pool": schema.StringAttribute{
					Optional:            true,
					Computed:            true,
					MarkdownDescription: "Storage pool of the VM host, by name. Default: the default storage pool of the VM host.",
					Validators:          []validator.String{notEmpty()},
					PlanModifiers:       []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()},
				},
			},
		},
	}
}

func interfacesAttribute() schema.Attribute {
	return schema.MapNestedAttribute{
		Optional: true,
		MarkdownDescription: "Network interfaces, keyed by a label of lower-case letters, digits and hyphens; the VM sees them in the order of " +
			"their labels. Without any, MAAS makes one on a network of the VM host with DHCP. At least one must be on a VLAN where MAAS " +
			"serves DHCP: the VM boots from the network." + forcesReplacement,
		Validators: []validator.Map{
			mapvalidator.SizeBetween(1, maxInterfaces),
			mapvalidator.KeysAre(mapLabel()),
		},
		NestedObject: schema.NestedAttributeObject{
			Attributes: map[string]schema.Attribute{
				"subnet": schema.StringAttribute{
					Required:            true,
					MarkdownDescription: "Subnet that the VM host is attached to: its name in MAAS, or its CIDR.",
					Validators:          []validator.String{notEmpty()},
				},
				"ip": schema.StringAttribute{
					Optional:            true,
					MarkdownDescription: "Fixed address in that subnet. Default: MAAS assigns one when the VM is deployed.",
					Validators:          []validator.String{ipAddress()},
				},
				"mac_address": schema.StringAttribute{
					Computed:            true,
					MarkdownDescription: "MAC address, in lower case.",
					PlanModifiers:       []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()},
				},
				"ip_addresses": schema.ListAttribute{
					Computed:            true,
					ElementType:         types.StringType,
					MarkdownDescription: "Addresses that the interface has.",
					PlanModifiers:       []planmodifier.List{listplanmodifier.UseNonNullStateForUnknown()},
				},
			},
		},
	}
}

func deployAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "What to install. Without it the VM is left `Ready`, for others to deploy. Adding it to a VM on which nothing is " +
			"installed deploys that VM in place, also to one that was released by hand. **Changing or removing it replaces the VM**: a " +
			"reinstall would destroy what is on its disks anyway.",
		Attributes: map[string]schema.Attribute{
			"image": schema.StringAttribute{
				Optional:            true,
				Computed:            true,
				MarkdownDescription: "Image as MAAS lists it, such as `ubuntu/noble`. Default: MAAS's default.",
				Validators:          []validator.String{image()},
				PlanModifiers:       []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()},
			},
			"kernel": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Kernel to install, such as `ga-24.04` or `hwe-24.04`. Default: MAAS's default for the image.",
				Validators:          []validator.String{notEmpty()},
			},
			"ephemeral": schema.BoolAttribute{
				Optional:            true,
				Computed:            true,
				Default:             booldefault.StaticBool(false),
				MarkdownDescription: "Run from memory and leave the disks alone. Default `false`.",
			},
			"user_data_wo": schema.StringAttribute{
				Optional:  true,
				WriteOnly: true,
				MarkdownDescription: "User-data for cloud-init, as plain text of at most 512 KiB. Write-only: neither plan nor state hold it, so a " +
					"change of it alone is not seen. Change `user_data_wo_version` with it.",
				Validators: []validator.String{userDataSize()},
			},
			"user_data_wo_version": schema.Int64Attribute{
				Optional: true,
				MarkdownDescription: "Number of the version of `user_data_wo`. A change of it replaces the VM, which then starts with the new " +
					"user-data. For an imported VM the first number given is taken over in place.",
			},
		},
	}
}

// computedAttributes say what became of the VM.
func computedAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "MAAS's system id of the VM.",
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"vm_host_id": schema.Int64Attribute{
			Computed:            true,
			MarkdownDescription: "Id of the VM host in MAAS.",
			PlanModifiers:       []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
		},
		"vm_host_name": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "Name of the VM host.",
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"fqdn": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "Hostname and domain.",
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"status": schema.StringAttribute{
			Computed: true,
			MarkdownDescription: "MAAS's name for the state of the VM: `Deployed`, or `Ready` without `deploy`, when everything is done; " +
				"`Commissioning`, `Deploying` and the like when an apply stopped waiting.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"ip_addresses": schema.ListAttribute{
			Computed:            true,
			ElementType:         types.StringType,
			MarkdownDescription: "All addresses of the VM that MAAS knows.",
			PlanModifiers:       []planmodifier.List{listplanmodifier.UseStateForUnknown()},
		},
	}
}
