package vm

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

func disksAttribute() schema.Attribute {
	return schema.MapNestedAttribute{
		Optional: true,
		Computed: true,
		MarkdownDescription: "Disks, keyed by a name of lower-case letters, digits and hyphens. The VM boots from the disk `root`. The others " +
			"follow in the order of their names, `data2` before `data10`. Default: one root disk of 8 GB. If you remove the attribute, the VM " +
			"keeps its disks. **Removing, shrinking or reordering disks replaces the VM**, with all its disks. Where MAAS composes VMs, adding or " +
			"enlarging a disk replaces it, too: see [Day two](../guides/day-two.md#change-the-size).",
		Validators: []validator.Map{
			mapvalidator.NoNullValues(),
			mapvalidator.SizeAtMost(maxDisks),
			mapvalidator.KeysAre(values.Label()),
			rootDiskValidator{},
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
		MarkdownDescription: "Network interfaces, keyed by a label of lower-case letters, digits and hyphens. The VM sees them in the order of " +
			"their labels, `eth2` before `eth10`. It boots from the first one, so MAAS must serve DHCP on its VLAN. Default: MAAS makes one on a " +
			"network of the VM host with DHCP. If you remove the attribute, the VM keeps its interfaces. An empty map is refused: a VM without an interface cannot boot. **Changing interfaces replaces the VM**, " +
			"with exceptions. Where VMs are made in LXD itself, you can add one in place: see " +
			"[Day two](../guides/day-two.md#change-the-interfaces).",
		PlanModifiers: []planmodifier.Map{mapplanmodifier.UseStateForUnknown()},
		Validators: []validator.Map{
			mapvalidator.NoNullValues(),
			mapvalidator.SizeBetween(1, maxInterfaces),
			mapvalidator.KeysAre(values.Label()),
		},
		NestedObject: schema.NestedAttributeObject{
			Attributes: interfaceAttributes(),
		},
	}
}

// interfaceAttributes are the attributes of one interface.
func interfaceAttributes() map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{
		"mode": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "How the interface gets its address. `auto`: MAAS assigns one at deployment. `static`: it is `ip`, or MAAS " +
				"chooses one before deployment. `dhcp`: the guest asks a DHCP server. `link_up`: it has none. Default: `static` with `ip`, else " +
				"`auto`. An interface that is added in place has `dhcp` or `link_up`. If you remove it, the interface keeps its mode. A VM with " +
				"`deploy` needs one interface with an address.",
			Validators: []validator.String{stringvalidator.OneOf(engine.LinkModes...)},
		},
		"ip": schema.StringAttribute{
			Optional:            true,
			CustomType:          texttype.IPType,
			MarkdownDescription: "Fixed address in that subnet, IPv4 or IPv6. It must be free and outside MAAS's dynamic and reserved ranges. Default: `mode` decides.",
			PlanModifiers:       []planmodifier.String{texttype.IPType.KeepSpelling()},
		},
		"addresses": schema.ListNestedAttribute{
			Optional: true,
			MarkdownDescription: "More addresses of the interface, for example an IPv6 one, in subnets of the same VLAN. If you remove them, the " +
				"interface keeps them. If the interface uses DHCP, they must be of the other family: MAAS ends DHCP otherwise. An empty list is refused: it would look as if it removed them.",
			Validators:   []validator.List{listvalidator.SizeBetween(1, maxAddresses), listvalidator.NoNullValues()},
			NestedObject: schema.NestedAttributeObject{Attributes: addressAttributes()},
		},
		"ip_addresses": schema.ListAttribute{
			Computed:            true,
			ElementType:         types.StringType,
			MarkdownDescription: "Addresses that the interface has.",
			PlanModifiers:       []planmodifier.List{listplanmodifier.UseNonNullStateForUnknown()},
		},
	}
	maps.Copy(attributes, networkAttributes())
	maps.Copy(attributes, nicAttributes())
	return attributes
}

// nicAttributes are the MAC address and the bridge of an interface.
func nicAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"mac_address": schema.StringAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "MAC address, in lower case with colons, for example for a licence or a DHCP server of the site. Default: a random " +
				"one in LXD's range `00:16:3e`. It needs a VM that is made in LXD itself (`composer = \"lxd\"`). If you remove it, the interface keeps it.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()},
			Validators:    []validator.String{values.StringRule("a MAC address such as 00:16:3e:12:34:56", engine.MACProblem)},
		},
		"bridge": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Bridge of the VM host that the interface joins, by its name in MAAS, such as `br1`. It must be on the subnet. " +
				"Default: the first bridge on the subnet. It needs a VM that is made in LXD itself (`composer = \"lxd\"`). If you remove it, the interface stays on its bridge. " +
				"If you add it with the bridge that the interface is on, nothing changes.",
			Validators: []validator.String{values.NotEmpty()},
		},
	}
}

// networkAttributes choose the subnet of an interface.
func networkAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"subnet": schema.StringAttribute{
			Optional: true, CustomType: texttype.SubnetType, PlanModifiers: []planmodifier.String{texttype.SubnetType.KeepSpelling()},
			MarkdownDescription: "Subnet that the VM host is attached to: its name in MAAS, or its CIDR. Both are the same value, also after a rename in MAAS. You can leave it out " +
				"if `vlan`, `fabric` and `space` leave one subnet, or one IPv4 subnet of a VLAN. Set at least one of the four; the subnet must match all of them.",
		},
		"vlan": schema.Int64Attribute{
			Optional:            true,
			MarkdownDescription: "Tag (VID) of the subnet's VLAN, 0 to 4094. 0 is the untagged VLAN of a fabric.",
			Validators:          []validator.Int64{int64validator.Between(0, maxVID)},
		},
		"fabric": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Name of the fabric of the subnet's VLAN.",
			Validators:          []validator.String{values.NotEmpty()},
		},
		"space": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Name of the space of the subnet's VLAN.",
			Validators:          []validator.String{values.NotEmpty()},
		},
	}
}

// addressAttributes are the attributes of one more address.
func addressAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"subnet": schema.StringAttribute{
			Required:            true,
			CustomType:          texttype.SubnetType,
			MarkdownDescription: "Subnet of the interface's VLAN: its name in MAAS, or its CIDR.",
			PlanModifiers:       []planmodifier.String{texttype.SubnetType.KeepSpelling()},
		},
		"ip": schema.StringAttribute{
			Optional:            true,
			CustomType:          texttype.IPType,
			MarkdownDescription: "Fixed address in that subnet. Default: `mode` decides.",
			PlanModifiers:       []planmodifier.String{texttype.IPType.KeepSpelling()},
		},
		"mode": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "`auto`, `static` or `dhcp`, as for the interface.",
			Validators:          []validator.String{stringvalidator.OneOf(engine.LinkAuto, engine.LinkStatic, engine.LinkDHCP)},
		},
	}
}

func deployAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "The system to install. Without it the VM stays `Ready`, for others to deploy. Adding it to a VM on which nothing is " +
			"installed deploys that VM in place, also if somebody has released it. **Changing or removing it replaces the VM**, unless `redeploy_triggers` changes, too: a reinstall would " +
			"destroy the data on its disks anyway.",
		Attributes: deployAttributes(),
	}
}

// deployAttributes are the image, kernel and user-data.
func deployAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"image": schema.StringAttribute{
			Optional:            true,
			Computed:            true,
			CustomType:          texttype.ImageType,
			MarkdownDescription: "Image by MAAS's name, such as `ubuntu/noble`. Default: MAAS's default.",
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown(), texttype.ImageType.KeepSpelling()},
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
			MarkdownDescription: "Run from memory and leave the disks alone. Default `false`." + keptWhenRemovedNote,
			PlanModifiers:       []planmodifier.Bool{planmodifiers.KeepOrFalse()},
		},
		"user_data_wo": schema.StringAttribute{
			Optional:  true,
			WriteOnly: true,
			MarkdownDescription: "User-data for cloud-init, as plain text of at most 512 KiB. Write-only: neither plan nor state hold it, so a " +
				"change of it alone is not seen. Change `user_data_wo_version` with it.",
			Validators: []validator.String{values.UserDataSize()},
		},
		"user_data_wo_version": schema.Int64Attribute{
			Optional: true, Validators: []validator.Int64{int64validator.AtLeast(0)},
			MarkdownDescription: "Version number of `user_data_wo`. Changing it replaces the VM, unless `redeploy_triggers` changes, too. The VM then starts with the new user-data. The first " +
				"number also replaces a VM that was installed without user-data: cloud-init runs it at the first boot only. If you remove it, the VM " +
				"keeps what it was installed with.",
		},
	}
}
