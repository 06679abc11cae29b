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
		MarkdownDescription: "Disks, keyed by a name of lower-case letters, digits and hyphens. The VM boots from the one named `root`; the " +
			"others follow in the order of their names, `data2` before `data10`. Default: one root disk of 8 GB. Renaming a disk changes nothing, as long as the " +
			"order stays." + keptWhenRemovedNote + replacesOnMAASNote + "a disk grows in place while the VM is stopped; the plan of a VM that runs is an error without `allow_stopping_for_update`. There " +
			"a disk whose name follows those of the others comes in place, also while the VM runs; MAAS shows it once the machine is commissioned again. A disk that " +
			"goes, shrinks or comes elsewhere in the order replaces the VM, with all its disks.",
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
		MarkdownDescription: "Network interfaces, keyed by a label of lower-case letters, digits and hyphens; the VM sees them in the order of " +
			"their labels, `eth2` before `eth10`. Without any, MAAS makes one on a network of the VM host with DHCP. The first must be on " +
			"a VLAN where MAAS serves DHCP: the VM boots from its network. **Changing those that the VM was made with replaces the VM**, except for another way to " +
			"choose the same subnet, and other labels in the same order. " +
			"Where VMs are made in LXD itself (`composer = \"lxd\"`), an interface with a new label is added in place to a finished VM, also while it runs. " +
			"It changes and goes in place, too. Its `mode` is `dhcp` or `link_up`, because MAAS is not told of it, and gives it no address. " +
			"For example, `eth1 = { subnet = \"storage\", mode = \"dhcp\" }` is added to a VM that runs. With `mode = \"static\"` the plan replaces the VM, and says why. " +
			"Its guest configures the interface. It stays when the VM is deployed again. If you rename its label, LXD unplugs it and plugs a new one in, with another MAC address. " +
			"LXD plugs at most four into a VM until its next start. " +
			"If you remove the whole attribute, the VM keeps its interfaces. Where none are configured, they are " +
			"those that MAAS shows, by MAAS's names. What someone changes on an interface in MAAS is not put back, because that would take a replacement: " +
			"other subnets are not looked for, and a fixed address that a deployed VM no longer has is only warned of.",
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

// interfaceAttributes are those of one interface.
func interfaceAttributes() map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{
		"mode": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "How the interface gets its address: `auto`, MAAS assigns one when the VM is deployed; `static`, it is `ip`, or one that MAAS chooses before that; " +
				"`dhcp`, the guest asks a DHCP server; `link_up`, it has none. Default: `static` with `ip`, else `auto`. If you remove it, the interface keeps its mode. " +
				"A VM that is deployed needs one interface with an address.",
			Validators: []validator.String{stringvalidator.OneOf(engine.LinkModes...)},
		},
		"ip": schema.StringAttribute{
			Optional:            true,
			CustomType:          texttype.IPType,
			MarkdownDescription: "Fixed address in that subnet, IPv4 or IPv6, which is free and outside MAAS's dynamic and reserved ranges. Default: `mode` says.",
			PlanModifiers:       []planmodifier.String{texttype.IPType.KeepSpelling()},
		},
		"addresses": schema.ListNestedAttribute{
			Optional: true,
			MarkdownDescription: "Further addresses of the interface, for example an IPv6 one, in subnets of the same VLAN. If you remove them, the interface keeps them. " +
				"DHCP goes only with addresses of the other family: MAAS ends it otherwise.",
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

// nicAttributes say what the interface itself is like.
func nicAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"mac_address": schema.StringAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "MAC address, in lower case with colons, for example for a licence or a DHCP server of the site. Default: one is chosen in LXD's range `00:16:3e`. " +
				"Only a VM that is made in LXD itself (`composer = \"lxd\"`) can be given one. If you remove it, the interface keeps it.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()},
			Validators:    []validator.String{values.StringRule("a MAC address such as 00:16:3e:12:34:56", engine.MACProblem)},
		},
		"bridge": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Bridge of the VM host that the interface joins, by its name in MAAS, such as `br1`. It must be on the subnet. Default: the first bridge on the subnet. " +
				"Only a VM that is made in LXD itself (`composer = \"lxd\"`) can be given one. If you remove it, the interface stays on its bridge.",
			Validators: []validator.String{values.NotEmpty()},
		},
	}
}

// networkAttributes choose the subnet of an interface.
func networkAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"subnet": schema.StringAttribute{
			Optional: true, CustomType: texttype.SubnetType, PlanModifiers: []planmodifier.String{texttype.SubnetType.KeepSpelling()},
			MarkdownDescription: "Subnet that the VM host is attached to: its name in MAAS, or its CIDR. Both are the same value. It may be left out where `vlan`, " +
				"`fabric` and `space` leave one subnet, or one IPv4 subnet of a VLAN. Give at least one of the four; the subnet must fit all of them.",
		},
		"vlan": schema.Int64Attribute{
			Optional:            true,
			MarkdownDescription: "Tag (VID) of the subnet's VLAN, 0 to 4094. 0 is the untagged one of a fabric.",
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

// addressAttributes are those of a further address.
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
			MarkdownDescription: "Fixed address in that subnet. Default: `mode` says.",
			PlanModifiers:       []planmodifier.String{texttype.IPType.KeepSpelling()},
		},
		"mode": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "`auto`, `static` or `dhcp`, as that of the interface.",
			Validators:          []validator.String{stringvalidator.OneOf(engine.LinkAuto, engine.LinkStatic, engine.LinkDHCP)},
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
			CustomType:          texttype.ImageType,
			MarkdownDescription: "Image as MAAS lists it, such as `ubuntu/noble`. Default: MAAS's default.",
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
			Optional: true,
			MarkdownDescription: "Number of the version of `user_data_wo`. A change of it replaces the VM, which then starts with the new " +
				"user-data. So does the first number where the VM was installed without user-data: cloud-init runs it at the first boot " +
				"only. If you remove it, the VM keeps what it was installed with.",
		},
	}
}
