package vm

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/vm/instance"
)

// Defaults and bounds of a VM. The defaults and the least memory are those of MAAS's own
// compose form (forms/pods.py, ComposeMachineForm). The upper bounds only catch typing errors:
// they are far beyond any host.
const (
	defaultCores     = 1
	maxCores         = 4096
	defaultMemoryMiB = 2048
	minMemoryMiB     = engine.MinMemoryMiB
	maxMemoryMiB     = 64 << 20 // 64 TiB
	defaultDiskGB    = 8
	maxDiskGB        = engine.MaxDiskGB
	maxDisks         = 16
	maxInterfaces    = 16
	maxAddresses     = 16
	maxVID           = 4094
)

// replacesVMNote ends the descriptions of attributes that cannot change in place.
const replacesVMNote = " **Changing it replaces the VM.**"

// keptWhenRemovedNote says that removing a line changes nothing, as for zone.
const keptWhenRemovedNote = " If you remove the attribute, the VM keeps the former value."

// replacesOnMAASNote ends the descriptions of attributes that LXD can change in place and MAAS
// cannot.
const replacesOnMAASNote = " **Changing it replaces the VM** where MAAS composes VMs. Where they are made in LXD itself (see `composer` of the provider), "

func (r *vmResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = vmSchema(ctx)
}

func vmSchema(ctx context.Context) schema.Schema {
	attributes := map[string]schema.Attribute{
		"disks":      disksAttribute(),
		"interfaces": interfacesAttribute(),
		"deploy":     deployAttribute(),
		"timeouts": values.Timeouts(ctx, timeouts.Opts{
			Create: true, Read: true, Update: true, Delete: true,
			CreateDescription: "How long to wait for a new VM, as a duration such as `45m`. Default `30m`. When the time is up, the VM stays, and the next apply continues.",
			ReadDescription:   "How long a refresh may take. Default `2m`.",
			UpdateDescription: "How long to wait for a change. Default `10m`, or `30m` if the VM is being deployed.",
			DeleteDescription: "How long to wait until the VM is gone. Default `20m`.",
		}),
	}
	for _, group := range []map[string]schema.Attribute{placeAttributes(), sizeAttributes(), instance.Attributes(), lifecycleAttributes(), computedAttributes()} {
		for name, a := range group {
			attributes[name] = a
		}
	}
	return schema.Schema{
		Version: 0,
		MarkdownDescription: "An LXD virtual machine on a VM host of MAAS: composed, commissioned and, with `deploy`, deployed.\n\nA create that is " +
			"interrupted or runs out of time leaves the VM as it is; the next apply finds it and continues. If the time was up, a warning says so, " +
			"and `status` shows how far the VM has come (`Commissioning`, `Deploying`). A postcondition on `status` makes dependents wait until " +
			"the VM is ready: see the example.",
		Attributes: attributes,
	}
}

// placeAttributes name the VM and its place in MAAS.
func placeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required: true,
			MarkdownDescription: "Hostname: one DNS label of lower-case letters, digits and hyphens, at most 63 characters. It begins with a letter " +
				"and is unique in the whole MAAS. Changes in place in MAAS; the LXD instance keeps its first name.",
			Validators: []validator.String{vmNameValidator()},
		},
		"vm_host": schema.StringAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "VM host on which to make the VM: its name, its id in MAAS, or the system id of its machine. These are the same " +
				"value. Set exactly one of `vm_host` and `placement`; with `placement`, this is the name of the chosen VM host. **Setting it to another VM host replaces the VM.**",
			Validators:    []validator.String{values.NotEmpty()},
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"placement": placementAttribute(),
		"profile":   profileAttribute(),
		"zone":      nameAttribute("Availability zone of the VM in MAAS, by name. Default: the zone of the VM host."),
		"pool":      nameAttribute("Resource pool, by name. Default: the resource pool of the VM host."),
		"domain":    nameAttribute("DNS domain, by name. Default: MAAS's default domain."),
		"description": schema.StringAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "Description of the machine in MAAS, without the mark and the notes of this provider: at most 4096 characters. " +
				"White space at its ends does not count. No word begins with `maaslxd-`. Changes in place. `\"\"` clears it. If you do not set the " +
				"attribute, or remove it, the description stays as it is.",
			Validators:    []validator.String{values.DescriptionText()},
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"tags": schema.SetAttribute{
			Optional: true, Computed: true,
			PlanModifiers: []planmodifier.Set{planmodifiers.ImportedTags(privateStateKey)},
			ElementType:   types.StringType,
			MarkdownDescription: "Tags of the VM. The provider makes tags that MAAS does not have. Changes in place. The provider manages only these tags. Tags of the " +
				"VM host, of MAAS or of somebody else stay. If you remove the attribute, the provider takes its tags off. Tags that an import has read stay then. If you set the attribute for an imported VM, name the tags of others, too, or they are taken off.",
			Validators: []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(values.Tag())},
		},
	}
}

func profileAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true,
		Computed: true,
		MarkdownDescription: "LXD profile of the VM, by name, where VMs are made in LXD itself (see `composer` of the provider). The project of the VM " +
			"host must have it; `placement` chooses only such VM hosts. Default: `maas` where the project has it, else none. Where MAAS composes " +
			"VMs, only MAAS's own profile `maas` is accepted. The attribute is then null unless you set it." + replacesVMNote +
			keptWhenRemovedNote,
		Validators:    []validator.String{values.NotEmpty()},
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

func nameAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional:            true,
		Computed:            true,
		MarkdownDescription: description + " Changes in place. If you do not set it, or remove it, the VM stays where it is.",
		Validators:          []validator.String{values.NotEmpty()},
		PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// sizeAttributes are the size of the VM. MAAS has no call that resizes a VM.
func sizeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"cores": schema.Int64Attribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "Number of virtual CPUs, at least 1. Default 1, or the number of `pinned_cores`." + keptWhenRemovedNote + replacesOnMAASNote +
				"it changes in place, also while the VM runs.",
			Validators: []validator.Int64{
				int64validator.Between(1, maxCores),
				int64validator.ConflictsWith(path.MatchRoot("pinned_cores")),
			},
		},
		"pinned_cores": schema.ListAttribute{
			Optional:    true,
			ElementType: types.Int64Type,
			MarkdownDescription: "Cores of the VM host to which the VM is bound, by number from 0, instead of `cores`. MAAS does not report them, " +
				"so for an imported VM the provider takes the cores in the configuration. If you remove the attribute, the VM keeps its cores " +
				"until it is replaced." + replacesVMNote,
			Validators: []validator.List{
				listvalidator.NoNullValues(),
				listvalidator.SizeBetween(1, maxCores),
				listvalidator.UniqueValues(),
				listvalidator.ValueInt64sAre(int64validator.Between(0, maxCores-1)),
			},
		},
		"memory_mib": schema.Int64Attribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "Memory in MiB, at least 1024. Default 2048." + keptWhenRemovedNote + replacesOnMAASNote + "it changes in place " +
				"while the VM is stopped. If the VM runs, the plan fails without `allow_stopping_for_update`.",
			Validators: []validator.Int64{int64validator.Between(minMemoryMiB, maxMemoryMiB)},
		},
		"hugepages": schema.BoolAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "Back the memory with huge pages of the VM host. Default `false`. MAAS does not report it, so for an imported VM " +
				"the provider takes the value in the configuration." + keptWhenRemovedNote + replacesVMNote,
		},
	}
}

// lifecycleAttributes say how the provider keeps a finished VM.
func lifecycleAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"deletion_protection": schema.BoolAttribute{
			Optional: true, Computed: true, PlanModifiers: []planmodifier.Bool{planmodifiers.ImportedBool(privateStateKey, "deletion_protection")},
			MarkdownDescription: "Protect the VM by MAAS's lock. A plan that destroys or replaces the VM fails until you set `false` and apply " +
				"that first. It needs `deploy`, because MAAS locks only deployed VMs. This configuration can still change the VM, and MAAS refuses " +
				"changes by others. `false` also takes off a lock of somebody else. Without this attribute, that lock stays and refuses changes. " +
				"If you remove your `true`, the provider unlocks the VM. Details: [Day two](../guides/day-two.md#protection).",
		},
		"redeploy_triggers": triggersAttribute(),
		"annotations": schema.MapAttribute{
			Optional:    true,
			ElementType: types.StringType,
			MarkdownDescription: "Workload annotations of the VM in MAAS, also called owner data. Keys are 1 to 255 letters, digits, underscores, " +
				"dots and hyphens, and do not begin with `maaslxd-`. Values are 1 to 4096 characters. They need `deploy`, because MAAS annotates " +
				"only deployed machines. Changes in place. The provider manages only these keys. Keys that others set stay, and an import adopts " +
				"none of them. The provider deletes a key that you remove, or all its keys with the attribute.",
			Validators: []validator.Map{
				mapvalidator.NoNullValues(), mapvalidator.SizeAtMost(values.MaxAnnotations), mapvalidator.KeysAre(values.AnnotationKey()),
				mapvalidator.ValueStringsAre(stringvalidator.LengthBetween(1, values.MaxAnnotationLength)),
			},
		},
		"power_state": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Whether the finished VM is on: `running` or `stopped`. MAAS turns it on and off at once, as with its power button. " +
				"If someone else turns it, the next plan shows that. MAAS learns within minutes when the guest turns itself off. Without this " +
				"attribute the provider leaves the power alone and makes no call. `running` needs `deploy`, and neither goes with `deploy.ephemeral`. " +
				"It counts only while the VM is `Deployed` or `Ready`.",
			Validators: []validator.String{stringvalidator.OneOf(powerRunning, powerStopped)},
		},
		"allow_stopping_for_update": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Let an update turn a running VM off, and on again afterwards, where a change needs that. Default `false`: the " +
				"plan then fails. It is for VMs that are made in LXD itself (see `composer` of the provider): " +
				"[Day two](../guides/day-two.md#change-the-size). Where MAAS composes VMs, a new size replaces the VM. MAAS turns the VM off at " +
				"once, as with its power button: data that the guest has not written to disk are lost.",
		},
	}
}

// triggersAttribute are values whose change redeploys the VM.
func triggersAttribute() schema.Attribute {
	return schema.MapAttribute{
		Optional:    true,
		ElementType: types.StringType,
		MarkdownDescription: "Values of your own, such as a version or a hash. Changing any of them redeploys the VM in place: MAAS releases it " +
			"and deploys it again. **All data on its disks are lost, also on data disks.** It needs `deploy`. Setting the map for the first time, " +
			"or removing it, changes nothing. **Do not set it for an imported VM that MAAS's own `allocate` made: MAAS deletes such a VM at its " +
			"release.** Details: [Day two](../guides/day-two.md#redeploy-a-vm).",
		Validators: []validator.Map{mapvalidator.NoNullValues(), mapvalidator.SizeAtMost(values.MaxAnnotations)},
	}
}

// computedAttributes are the values of the VM that MAAS reports.
func computedAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed:            true,
			MarkdownDescription: "MAAS's system id of the VM.",
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"vm_host_id": schema.Int64Attribute{
			Computed:            true,
			MarkdownDescription: "Id of the VM host in MAAS. Null where MAAS has no VM hosts.",
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
			MarkdownDescription: "MAAS's name for the state of the VM. When everything is done, it is `Deployed`, or `Ready` without `deploy`. When an " +
				"apply stopped waiting, it is for example `Commissioning` or `Deploying`. `Instance missing` means that somebody deleted the instance " +
				"in LXD. Only VMs made in LXD itself have that state, and the plan then replaces the VM.",
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

func vmIdentitySchema() identityschema.Schema { return values.MachineIdentity("the VM") }
