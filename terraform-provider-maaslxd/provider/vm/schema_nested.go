package vm

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

func disksAttribute() schema.Attribute {
	return schema.MapNestedAttribute{
		Optional: true,
		Computed: true,
		MarkdownDescription: "Disks, keyed by a name of lower-case letters, digits and hyphens. The VM boots from the one named `root`; the " +
			"others follow in the order of their names, `data2` before `data10`. Default: one root disk of 8 GB. Renaming a disk changes nothing, as long as the " +
			"order stays." + keepsSize + replacesOnMAAS + "a disk grows in place while the VM is stopped; the plan of a VM that runs is an error. A disk that " +
			"comes, goes or shrinks replaces the VM, with all its disks.",
		Validators: []validator.Map{
			mapvalidator.NoNullValues(),
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
					Validators:          []validator.String{values.NotEmpty()},
					PlanModifiers:       []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()},
				},
			},
		},
	}
}

func interfacesAttribute() schema.Attribute {
	return schema.MapNestedAttribute{
		Optional: true,
		Computed: true,
		MarkdownDescription: "Network interfaces, keyed by a label of lower-case letters, digits and hyphens; the VM sees them in the order of " +
			"their labels, `eth2` before `eth10`. Without any, MAAS makes one on a network of the VM host with DHCP. The first must be on " +
			"a VLAN where MAAS serves DHCP: the VM boots from its network. **Changing them replaces the VM**, except for another way to " +
			"write the same subnet, and other labels in the same order. If you remove them, the VM keeps what it has; where none are configured, they are " +
			"those that MAAS shows, by MAAS's names. What someone changes on an interface in MAAS is not put back, because that would take a replacement: " +
			"other subnets are not looked for, and a fixed address that a deployed VM no longer has is only warned of.",
		PlanModifiers: []planmodifier.Map{mapplanmodifier.UseStateForUnknown()},
		Validators: []validator.Map{
			mapvalidator.NoNullValues(),
			mapvalidator.SizeBetween(1, maxInterfaces),
			mapvalidator.KeysAre(mapLabel()),
		},
		NestedObject: schema.NestedAttributeObject{
			Attributes: interfaceAttributes(),
		},
	}
}

// interfaceAttributes are those of one interface.
func interfaceAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"subnet": schema.StringAttribute{
			Required:            true,
			MarkdownDescription: "Subnet that the VM host is attached to: its name in MAAS, or its CIDR. Both are the same value.",
			Validators:          []validator.String{values.NotEmpty()},
		},
		"ip": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Fixed address in that subnet, which is free and outside MAAS's dynamic and reserved ranges. Default: MAAS assigns one when the VM is deployed.",
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
	}
}

func deployAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "What to install. Without it the VM is left `Ready`, for others to deploy. Adding it to a VM on which nothing is " +
			"installed deploys that VM in place, also to one that was released by hand. **Changing or removing it replaces the VM**: a " +
			"reinstall would destroy what is on its disks anyway.",
		Attributes: deployAttributes(),
	}
}

// deployAttributes say what is installed, and how.
func deployAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"image": schema.StringAttribute{
			Optional:            true,
			Computed:            true,
			MarkdownDescription: "Image as MAAS lists it, such as `ubuntu/noble`. Default: MAAS's default.",
			Validators:          []validator.String{values.Image()},
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()},
		},
		"kernel": schema.StringAttribute{
			Optional:            true,
			Computed:            true,
			MarkdownDescription: "Kernel to install, such as `ga-24.04` or `hwe-24.04`. Default: MAAS's default for the image.",
			Validators:          []validator.String{values.NotEmpty()},
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()},
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
			Validators: []validator.String{values.UserDataSize()},
		},
		"user_data_wo_version": schema.Int64Attribute{
			Optional: true,
			MarkdownDescription: "Number of the version of `user_data_wo`. A change of it replaces the VM, which then starts with the new " +
				"user-data. So does the first number where the VM was installed without user-data: cloud-init runs it at the first boot " +
				"only. If you remove it, the VM keeps what it was installed with.",
		},
	}
}
