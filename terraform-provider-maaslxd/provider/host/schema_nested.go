package host

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

func selectorAttribute(exactly string) schema.Attribute {
	return values.SelectorAttribute("Which `Ready` machine to deploy, instead of one by name." + exactly + " The provider takes the smallest " +
		"machine that matches, and `hostname` shows it. `selector = {}` matches any. VMs and locked machines do not match. A host needs a disk " +
		"with room for the storage pools, an interface, and an architecture for which MAAS has the image. The selector matters only when the host " +
		"is made. Later, the host keeps its machine.")
}

func hostDeployAttribute() schema.Attribute {
	return values.DeploymentAttribute(values.DeploymentTexts{
		Deploy: "The system to install on a machine. Without it, MAAS installs its default image. **Changing a value in it replaces the host.** " +
			"Removing a value does not. Naming it for the first time does not either, if the outcome is the same.",
		Image: "Image by MAAS's name, such as `ubuntu/noble`. It must be an Ubuntu with snaps. Default: MAAS's default.",
		UserData: "Your own user-data, of any kind that cloud-init knows but without a section `lxd`. cloud-init runs it beside the part that sets up " +
			"LXD. Plain text; with the provider's own part at most 512 KiB. Write-only: neither plan nor state hold it. Change `user_data_wo_version` with it.",
		Version: "Version number of `user_data_wo`. Changing it replaces the host. The first number also replaces a host that was installed without " +
			"user-data: cloud-init runs it at the first boot only. If you remove it, the host keeps what it was installed with.",
	})
}

// These notes tell which changes mean the same network.
const (
	respelledSubnetNote = " Another spelling of the same subnet changes nothing, also after a rename of the subnet in MAAS."
	respelledNICNote    = " The name and the MAC address of a NIC mean the same."
)

// bridgeRemovalNote and networkRemovalNote tell what a removed line means.
const (
	bridgeRemovalNote  = " If you remove it, or a line in it, the host keeps its bridge." + respelledSubnetNote
	networkRemovalNote = " If you remove it, the host keeps its interfaces." + respelledSubnetNote + respelledNICNote + " Details: [Day two](../guides/day-two.md#the-network-and-disks-of-a-machine)."
)

func bridgeAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Bridge that MAAS makes on the machine before it deploys it. VMs join it to boot from MAAS. Default: `br0` on the " +
			"interface that the machine boots from, unless `lxd.networks` has no bridge." + replacesHostNote + bridgeRemovalNote,
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Its name, at most 15 characters. Default `br0`, or the bridge among `lxd.networks`.",
				Validators:          []validator.String{values.NotEmpty()},
			},
			"nic": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Interface below it. Default: the one that the machine boots from.",
				Validators:          []validator.String{values.NotEmpty()},
			},
			"subnet": schema.StringAttribute{
				Optional:      true,
				CustomType:    texttype.SubnetType,
				PlanModifiers: []planmodifier.String{texttype.SubnetType.KeepSpelling()},
				MarkdownDescription: "Subnet from which the host gets its address: its name in MAAS, or its CIDR. MAAS must serve DHCP on its VLAN. " +
					"Default: the subnet of the interface.",
			},
		},
	}
}

// hostComputedAttributes are the values of the host that MAAS and LXD report.
func hostComputedAttributes() map[string]schema.Attribute {
	text := func(description string) schema.Attribute {
		return schema.StringAttribute{
			Computed: true, MarkdownDescription: description, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		}
	}
	return map[string]schema.Attribute{
		"id":        text("MAAS's system id of the machine that LXD runs on."),
		"system_id": text("The same as `id`."),
		"hostname":  text("Hostname of that machine."),
		"vm_host_id": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "Id of the VM host in MAAS. Null until it is registered, and where MAAS has no VM hosts.",
			PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
		},
		"lxd_address": schema.StringAttribute{
			Computed: true, CustomType: texttype.AddressType, MarkdownDescription: "Address where the LXD of the host listens, as MAAS reaches it. Null until it is known.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"lxd_version":   text("Version of LXD. Null until MAAS has reached it."),
		"cores":         amountAttribute("Cores"),
		"memory_mib":    amountAttribute("Memory in MiB"),
		"storage_pools": storagePoolsAttribute(),
		"ip_addresses": schema.ListAttribute{
			Computed: true, ElementType: types.StringType, MarkdownDescription: "Addresses of the machine, by MAAS.",
			PlanModifiers: []planmodifier.List{listplanmodifier.UseStateForUnknown()},
		},
		"certificate_fingerprint": text("SHA-256, in hex, of the client certificate that manages the host. If the provider has another one, that is an " +
			"error that names both, unless the host trusts it too. Null for imported hosts that do not tell it."),
		"trusted_fingerprints": schema.SetAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "SHA-256, in hex, of all client certificates that the host is known to trust.",
			PlanModifiers:       []planmodifier.Set{setplanmodifier.UseStateForUnknown()},
		},
		"status": text("`Deployed` when everything is done. `Waiting for LXD` while the machine is deployed, but its LXD or MAAS's inventory of it is " +
			"not there. Before that, MAAS's name for the state of the machine, such as `Deploying`."),
	}
}

// amountAttribute is an amount of cores or memory of a host, with what is used and free.
func amountAttribute(what string) schema.Attribute {
	number := func(description string) schema.Attribute {
		return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
	}
	return schema.SingleNestedAttribute{
		Computed: true, PlanModifiers: []planmodifier.Object{objectplanmodifier.UseStateForUnknown()},
		MarkdownDescription: what + ", as of the last refresh. Null until MAAS has an inventory of the host.",
		Attributes: map[string]schema.Attribute{
			"total": number("Amount that the hardware has."), "used": number("Amount that the VMs known to MAAS have."),
			"free": number("Amount that is left for new VMs, over-commit included."),
		},
	}
}

// storagePoolsAttribute are the storage pools of a host.
func storagePoolsAttribute() schema.Attribute {
	return schema.MapNestedAttribute{
		Computed: true, PlanModifiers: []planmodifier.Map{mapplanmodifier.UseStateForUnknown()},
		MarkdownDescription: "Storage pools by name, as of the last refresh. MAAS counts disks decimally: 1 GB is 1000000000 bytes.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"driver":   schema.StringAttribute{Computed: true, MarkdownDescription: "Driver, such as `zfs` or `dir`."},
			"total_gb": schema.Int64Attribute{Computed: true, MarkdownDescription: "Size in GB, rounded down."},
			"free_gb":  schema.Int64Attribute{Computed: true, MarkdownDescription: "Free space in GB, rounded down."},
			"default":  schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether disks that name no pool go here."},
		}},
	}
}
