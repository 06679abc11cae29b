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

// What is done with a machine whose create failed for good.
const (
	failureKeep    = "keep"
	failureRelease = "release"
)

// maxOvercommit is MAAS's own bound of the ratios (models/bmc.py).
const maxOvercommit = 10

// replacesHostNote ends the description of what cannot change in place.
const replacesHostNote = " **Changing it replaces the host**: its machine is released and deployed anew."

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
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{
			Create: true, Read: true, Update: true, Delete: true,
			CreateDescription: "How long to wait for a new host, as a duration such as `90m`. Default `60m`. When the time is up the machine is kept, and the next apply goes on.",
			ReadDescription:   "How long a refresh may take. Default `2m`.",
			UpdateDescription: "How long to wait for a change. Default `10m`, or `60m` if the host is not finished yet.",
			DeleteDescription: "How long to wait until the machine is given back. Default `30m`; erasing disks in full takes longer.",
		}),
	}
	for _, group := range []map[string]schema.Attribute{sourceAttributes(), hostSettingAttributes(), hostDestroyAttributes(), hostComputedAttributes()} {
		maps.Copy(attributes, group)
	}
	return schema.Schema{
		Version: 1,
		MarkdownDescription: "An LXD host in MAAS's sense, a VM host: a machine that is deployed, sets LXD up at its first boot, and is registered in MAAS, so that " +
			"VMs can be made on it; or an LXD that runs already.\n\n" +
			"Exactly one of `machine`, `selector` and `address` says what it is made of. A create that is cut off or runs out of time leaves the " +
			"machine as it is, with a warning that says what was waited for; the next apply goes on. `maaslxd_vm.vm_host` takes the `id` of " +
			"this resource. Then the VM waits for the host, the host outlives the VM, and a host that is replaced replaces its VMs in the same plan.\n\n" +
			"What LXD is set up with happens once, at the first boot: nobody can change it from outside afterwards, because the client " +
			"certificate that the host trusts is restricted to one project.",
		Attributes: attributes,
	}
}

// sourceAttributes say what the host is made of.
func sourceAttributes() map[string]schema.Attribute {
	const exactly = " Exactly one of `machine`, `selector` and `address` must be set."
	return map[string]schema.Attribute{
		"machine": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Machine to deploy: its hostname, FQDN or system id. It must be `Ready`, or with `adopt` `Deployed`; have a disk and a network interface; and be of an " +
				"architecture for which MAAS has the image. Names of the " +
				"same machine are the same value." + exactly + replacesHostNote,
			Validators: []validator.String{values.NotEmpty()},
		},
		"adopt": schema.BoolAttribute{
			Optional: true, Computed: true, PlanModifiers: []planmodifier.Bool{planmodifiers.KeepOrFalse()},
			MarkdownDescription: "Take the `machine` as it is: `Deployed`, with an LXD that listens and trusts the fleet's certificate for the " +
				"project. It is then only registered, and left as it is by a destroy. Looked at when the host is made, and at no other time. Default `false`. If you remove it, an adopted host stays one.",
		},
		"selector": selectorAttribute(exactly),
		"address": schema.StringAttribute{
			Optional: true, CustomType: texttype.AddressType, PlanModifiers: []planmodifier.String{texttype.AddressType.KeepSpelling()},
			MarkdownDescription: "Address of an LXD that runs already, as MAAS reaches it: `10.0.0.5` or `https://10.0.0.5:8443`. It is only registered, and " +
				"must trust the fleet's certificate for the project; LXD 4.16 or newer. On LXD 6.7 or newer MAAS makes no VMs." + exactly +
				" `lxd_address` tells where the LXD of any host listens. **Setting it to another address replaces the host.**",
		},
		"server_fingerprint": schema.StringAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "SHA-256, in hex, of the certificate that the host's LXD shows, as `lxc info` says there. **If it is set, LXD must show that one from the first " +
				"contact on.** If not, the first one that is seen is kept, and another one later is an error that names both, until it is set to the new one. A machine " +
				"that is deployed anew has another certificate: leave it unset there. Null where this machine has not asked the LXD itself (see `probe` of the provider); " +
				"it can only be set where it does.",
			Validators:    []validator.String{serverFingerprintValidator()},
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"adopt_existing_vms": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(false),
			MarkdownDescription: "Register an LXD whose project holds VMs already, or of which that cannot be seen. MAAS makes machines of them, " +
				"**and power-cycles them**. Default `false`.",
		},
	}
}

// hostSettingAttributes are what MAAS lets be changed.
func hostSettingAttributes() map[string]schema.Attribute {
	ratio := func(what string) schema.Attribute {
		return schema.Float64Attribute{
			Optional: true, Computed: true,
			MarkdownDescription: "Over-commit ratio of " + what + ", above 0 and up to 10: how many times what the machine has VMs may have together. " +
				"Changes in place. Where it is not set, or no longer, it stays as it is; 1 at first. To go back to that, write it out.",
			Validators: []validator.Float64{
				float64validator.AtMost(maxOvercommit), positiveValidator{},
			},
			PlanModifiers: []planmodifier.Float64{float64planmodifier.UseStateForUnknown()},
		}
	}
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required: true,
			MarkdownDescription: "Name of the VM host in MAAS, by which VMs are placed on it. The create that was cut off is found by it, so no two " +
				"resources of one `owner` may have the same. Changes in place, also where two hosts swap theirs; the VMs on it stay, " +
				"whether they name it by its `id` or by its name. The former name is free for another host.",
			Validators: []validator.String{values.ObjectName()},
		},
		"zone": settingAttribute("Availability zone of the VM host, by name. Default: MAAS's default zone."),
		"pool": settingAttribute("Resource pool of the VM host, by name. Default: MAAS's default pool."),
		"tags": schema.SetAttribute{
			Optional: true, Computed: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Set{planmodifiers.ImportedTags(privateStateKey)},
			MarkdownDescription: "Tags of the VM host. VMs get the tags that their host has when they are made. Changes in place. Only these are looked after. " +
				"If you remove the attribute, they are taken off; what an import has read stays.",
			Validators: []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(values.Tag())},
		},
		"cpu_overcommit":       ratio("cores"),
		"memory_overcommit":    ratio("memory"),
		"default_storage_pool": settingAttribute("Storage pool of LXD where disks go that name none, by name. Default: LXD's first."),
	}
}

func settingAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Computed: true,
		MarkdownDescription: description + " Changes in place. Where it is not set, or no longer, it stays as it is: to go back to the default, write it out.",
		Validators:          []validator.String{values.NotEmpty()},
		PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// hostDestroyAttributes say what becomes of the machine in the end.
func hostDestroyAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"release": values.ReleaseAttribute(),
		"force_destroy": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(false),
			MarkdownDescription: "Destroy the host although MAAS has VMs on it. Otherwise that is refused, with a list of them. On a machine that was deployed " +
				"**they are lost** with it. On a host that is adopted or given by `address` they go on running in LXD, and MAAS knows nothing of them " +
				"any more. Must be applied before the destroy. Default `false`.",
		},
		"on_create_failure": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(failureKeep),
			MarkdownDescription: "What is done with a machine that was deployed and will not get there, such as one whose deployment failed: `keep` leaves it " +
				"as it is, to be looked at, until the next apply makes the host anew; `release` gives it back at once. A create that only ran out " +
				"of time is always kept, and gone on with; so is a machine that is `Deployed`, whatever is refused after that. Default `keep`.",
			Validators: []validator.String{stringvalidator.OneOf(failureKeep, failureRelease)},
		},
	}
}

func hostIdentitySchema() identityschema.Schema {
	return values.MachineIdentity("the machine that LXD runs on")
}
