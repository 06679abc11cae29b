package host

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/float64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/host/network"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// These values of on_create_failure tell what becomes of a machine whose create failed for
// good.
const (
	failureKeep    = "keep"
	failureRelease = "release"
)

// maxOvercommit is MAAS's own bound of the ratios (models/bmc.py).
const maxOvercommit = 10

// replacesHostNote ends the descriptions of attributes that cannot change in place.
const replacesHostNote = " **Changing it replaces the host**: MAAS releases its machine and deploys one again."

// Schema is that of a VM host.
func (r *hostResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = hostSchema(ctx)
}

func hostSchema(ctx context.Context) schema.Schema {
	attributes := map[string]schema.Attribute{
		"deploy":  hostDeployAttribute(),
		"bridge":  planmodifiers.KeepWhenRemoved(bridgeAttribute()),
		"network": planmodifiers.KeepWhenRemoved(network.Attribute(replacesHostNote + networkRemovalNote)),
		"lxd":     planmodifiers.KeepWhenRemoved(lxdAttribute()),
		"timeouts": values.Timeouts(ctx, timeouts.Opts{
			Create: true, Read: true, Update: true, Delete: true,
			CreateDescription: "How long to wait for a new host, as a duration such as `90m`. Default `60m`. When the time is up, the machine stays, " +
				"and the next apply continues.",
			ReadDescription:   "How long a refresh may take. Default `2m`.",
			UpdateDescription: "How long to wait for a change. Default `10m`, or `60m` if the host is not finished yet.",
			DeleteDescription: "How long to wait until MAAS has released the machine. Default `30m`; erasing disks in full takes longer.",
		}),
	}
	for _, group := range []map[string]schema.Attribute{sourceAttributes(), hostSettingAttributes(), hostDestroyAttributes(), hostComputedAttributes()} {
		maps.Copy(attributes, group)
	}
	return schema.Schema{
		Version: 1,
		MarkdownDescription: "An LXD host, which MAAS calls a VM host. The provider deploys a machine, sets LXD up at its first boot, and registers it " +
			"in MAAS, so that you can make VMs on it. It also registers an LXD that runs already.\n\nSet exactly one of `machine`, `selector` and " +
			"`address`. A create that is interrupted or runs out of time leaves the machine as it is, with a warning that names what it waited " +
			"for. The next apply continues. Give `maaslxd_vm.vm_host` the `id` of this resource. Then the VM waits for the host, the host outlives " +
			"the VM, and a plan that replaces the host replaces its VMs, too.\n\nLXD is set up once, at the first boot. The provider cannot change " +
			"that setup later, because the client certificate that the host trusts is restricted to one project.",
		Attributes: attributes,
	}
}

// sourceAttributes choose the machine or LXD that becomes the host.
func sourceAttributes() map[string]schema.Attribute {
	const exactly = " Exactly one of `machine`, `selector` and `address` must be set."
	return map[string]schema.Attribute{
		"machine": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Machine to deploy: its hostname, FQDN or system id. It must be `Ready`, or `Deployed` with `adopt`. It needs a disk, " +
				"a network interface, and an architecture for which MAAS has the image. Names of the same machine are the same value." + exactly +
				replacesHostNote,
			Validators: []validator.String{values.NotEmpty()},
		},
		"adopt": schema.BoolAttribute{
			Optional: true, Computed: true, PlanModifiers: []planmodifier.Bool{planmodifiers.KeepOrFalse()},
			MarkdownDescription: "Take the `machine` as it is: `Deployed`, with an LXD that listens and trusts the fleet's certificate for the " +
				"project. The provider then only registers it, and a destroy does not change it. It matters only when the host is made. Default " +
				"`false`. If you remove the attribute, an adopted host stays adopted.",
		},
		"selector": selectorAttribute(exactly),
		"address": schema.StringAttribute{
			Optional: true, CustomType: texttype.AddressType, PlanModifiers: []planmodifier.String{texttype.AddressType.KeepSpelling()},
			MarkdownDescription: "Address of an LXD that runs already, as MAAS reaches it: `10.0.0.5` or `https://10.0.0.5:8443`. It needs LXD 4.16 or " +
				"newer and must trust the fleet's certificate for the project. The provider only registers it: see [Existing " +
				"nodes](../guides/existing-nodes.md). On LXD 6.7 or newer MAAS makes no VMs." + exactly +
				" `lxd_address` tells where the LXD of any host listens. **Setting it to another address replaces the host.**",
		},
		"server_fingerprint": schema.StringAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "SHA-256, in hex, of the certificate of the host's LXD server, as `lxc info` shows it there. Default: the provider records the first one that it sees. **If you set it, the LXD server " +
				"must show that certificate from the first contact on.** If the server shows another one later, the provider reports an error until you set the new one. Remove it before you replace the " +
				"host: the new LXD server has another certificate, so the plan is an error otherwise. It is null, and you cannot set it, where the provider does not ask the server (see `probe` of the " +
				"provider). Details: [Keys and certificates](../guides/keys-and-certificates.md#the-certificate-of-an-lxd-server).",
			Validators:    []validator.String{serverFingerprintValidator()},
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"adopt_existing_vms": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(false),
			MarkdownDescription: "Register an LXD whose project holds VMs already, or an LXD that the provider cannot ask. MAAS makes machines of the " +
				"VMs, **and power-cycles them**. Default `false`.",
		},
	}
}

// hostSettingAttributes are the settings that MAAS can change in place.
func hostSettingAttributes() map[string]schema.Attribute {
	ratio := func(what string) schema.Attribute {
		return schema.Float64Attribute{
			Optional: true, Computed: true,
			MarkdownDescription: "Over-commit ratio of " + what +
				", above 0 and up to 10: the VMs together may have so many times what the machine has. Changes in place. If you do not set it, or " +
				"remove it, it stays as it is. It begins as 1; to go back, write 1.",
			Validators: []validator.Float64{
				float64validator.AtMost(maxOvercommit), positiveValidator{},
			},
			PlanModifiers: []planmodifier.Float64{float64planmodifier.UseStateForUnknown()},
		}
	}
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required: true,
			MarkdownDescription: "Name of the VM host in MAAS, by which you place VMs on it. An interrupted create is found by it, so it must be " +
				"unique among the resources of one `owner`. Changes in place, also where two hosts swap their names. The VMs on it stay, whether they " +
				"name it by `id` or by name. Another host can take the former name.",
			Validators: []validator.String{values.ObjectName()},
		},
		"zone": settingAttribute("Availability zone of the VM host, by name. Default: MAAS's default zone."),
		"pool": settingAttribute("Resource pool of the VM host, by name. Default: MAAS's default pool."),
		"tags": schema.SetAttribute{
			Optional: true, Computed: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Set{planmodifiers.ImportedTags(privateStateKey)},
			MarkdownDescription: "Tags of the VM host. A new VM gets the tags of its host. Changes in place. The provider manages only these tags. " +
				"If you remove the attribute, the provider takes its tags off. Tags that an import has read stay.",
			Validators: []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(values.Tag())},
		},
		"cpu_overcommit":       ratio("cores"),
		"memory_overcommit":    ratio("memory"),
		"default_storage_pool": settingAttribute("Storage pool of LXD, by name, for disks that name none. Default: LXD's first."),
	}
}

func settingAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Computed: true,
		MarkdownDescription: description + " Changes in place. If you do not set it, or remove it, it stays as it is. To go back to the default, write the default.",
		Validators:          []validator.String{values.NotEmpty()},
		PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// hostDestroyAttributes tell what becomes of the machine in the end.
func hostDestroyAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"release": values.ReleaseAttribute(),
		"force_destroy": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(false),
			MarkdownDescription: "Destroy the host although MAAS has VMs on it. Without it, the destroy is refused and lists them. On a machine that " +
				"was deployed, **the VMs are lost**. On a host that is adopted or given by `address`, they run on in LXD, and MAAS forgets them. Apply " +
				"it before you destroy. Default `false`.",
		},
		"on_create_failure": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(failureKeep),
			MarkdownDescription: "Whether to keep or release a machine whose create failed for good, for example because its deployment failed. " +
				"`keep`: the machine stays, so that you can look at it, and the next apply replaces the host. `release`: MAAS releases it at once. " +
				"A machine always stays, and the next apply continues, if the create only ran out of time or if the machine is `Deployed`. Default " +
				"`keep`.",
			Validators: []validator.String{stringvalidator.OneOf(failureKeep, failureRelease)},
		},
	}
}

func hostIdentitySchema() identityschema.Schema {
	return values.MachineIdentity("the machine that LXD runs on")
}
