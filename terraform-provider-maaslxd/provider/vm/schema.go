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
	maxDiskGB        = engine.MaxDiskGB
	maxDisks         = 16
	maxInterfaces    = 16
	maxAddresses     = 16
	maxVID           = 4094
)

// replacesVMNote ends the description of what cannot change in place.
const replacesVMNote = " **Changing it replaces the VM.**"

// keptWhenRemovedNote says what the removal of a line means: as for zone, nothing.
const keptWhenRemovedNote = " If you remove it, the VM keeps what it has."

// replacesOnMAASNote ends the description of what LXD can change in place, and MAAS
// cannot.
const replacesOnMAASNote = " **Changing it replaces the VM** where MAAS composes VMs; where they are made in LXD itself (see `composer` of the provider), "

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
	for _, group := range []map[string]schema.Attribute{placeAttributes(), sizeAttributes(), instance.Attributes(), lifecycleAttributes(), computedAttributes()} {
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

// placeAttributes say what the VM is called and where it belongs.
func placeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required: true,
			MarkdownDescription: "Hostname: one DNS label of lower-case letters, digits and hyphens, at most 63 characters. It begins with a letter and is unique in the " +
				"whole MAAS. Changes in place in MAAS; the LXD instance keeps the name that it was made with.",
			Validators: []validator.String{vmNameValidator()},
		},
		"vm_host": schema.StringAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "VM host to make it on: its name, its id in MAAS, or the system id of its machine. All that name the same host are the same value. " +
				"Exactly one of `vm_host` and `placement` must be set; with `placement`, this is the name of the chosen VM host. " +
				"**Setting it to another VM host replaces the VM.**",
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
			MarkdownDescription: "What MAAS's description of the machine says, beside the mark and the notes of this provider: at most 4096 characters. White space at " +
				"its ends does not count. No word begins with `maaslxd-`. Changes in place. `\"\"` clears it; where it is not set, or no longer, the VM keeps what it has.",
			Validators:    []validator.String{values.DescriptionText()},
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"tags": schema.SetAttribute{
			Optional: true, Computed: true,
			PlanModifiers: []planmodifier.Set{planmodifiers.ImportedTags(privateStateKey)},
			ElementType:   types.StringType,
			MarkdownDescription: "Tags that the VM carries. Tags that MAAS does not know are created. Changes in place. Only these are looked " +
				"after: tags that come from the VM host, from MAAS or from someone else stay. If you remove the attribute, they are taken off; what an import has read stays.",
			Validators: []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(values.Tag())},
		},
	}
}

func profileAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true,
		Computed: true,
		MarkdownDescription: "LXD profile of the VM, by name, where VMs are made in LXD itself (see `composer` of the provider). The project of the VM host " +
			"must have it; with `placement`, only VM hosts that have it will do. Default: `maas` where the project has it, else none. " +
			"Where MAAS composes VMs it always takes its own, the one named `maas`: another one is refused, and this is null unless it is set." + replacesVMNote +
			" Where it is not set, or no longer, the VM keeps what it has.",
		Validators:    []validator.String{values.NotEmpty()},
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

func nameAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional:            true,
		Computed:            true,
		MarkdownDescription: description + " Changes in place. Where it is not set, or no longer, the VM stays where it is.",
		Validators:          []validator.String{values.NotEmpty()},
		PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// sizeAttributes say how large the VM is. MAAS has no call that resizes one.
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
			MarkdownDescription: "Cores of the VM host that the VM is bound to, by number from 0, instead of `cores`. MAAS does not tell them " +
				"later, so for an imported VM the configuration is believed. If you remove them, the VM keeps them until it is made anew." + replacesVMNote,
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
			MarkdownDescription: "Memory in MiB, at least 1024. Default 2048." + keptWhenRemovedNote + replacesOnMAASNote +
				"it changes in place while the VM is stopped. The plan of a VM that runs is an error without `allow_stopping_for_update`.",
			Validators: []validator.Int64{int64validator.Between(minMemoryMiB, maxMemoryMiB)},
		},
		"hugepages": schema.BoolAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "Back the memory with huge pages of the VM host. Default `false`. MAAS does not tell it later, so for an " +
				"imported VM the configuration is believed." + keptWhenRemovedNote + replacesVMNote,
		},
	}
}

// lifecycleAttributes say how a VM that is finished is kept.
func lifecycleAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"deletion_protection": schema.BoolAttribute{
			Optional: true, Computed: true, PlanModifiers: []planmodifier.Bool{planmodifiers.ImportedBool(privateStateKey, "deletion_protection")},
			MarkdownDescription: "Keep the VM from being deleted, by MAAS's lock. A plan that destroys or replaces the VM is an error while the last apply had `true`, also where somebody has taken the lock off: " +
				"set it to `false` and apply first. MAAS locks deployed VMs only, so `true` needs `deploy`. Everybody else who changes, releases, powers or " +
				"deletes the VM in MAAS is refused. Changes of this configuration are made all the same: the VM is unlocked for as long as they take. " +
				"With `false` the lock of somebody else is taken off; without this attribute it stays, and refuses changes. If you remove `true` of yours, the VM is unlocked.",
		},
		"redeploy_triggers": triggersAttribute(),
		"annotations": schema.MapAttribute{
			Optional:    true,
			ElementType: types.StringType,
			MarkdownDescription: "Workload annotations of the VM in MAAS, which MAAS also calls owner data. Keys are 1 to 255 letters, digits, underscores, dots and hyphens; " +
				"keys that begin with `maaslxd-` are marks of this provider. Values are 1 to 4096 characters. Changes in place. Only these keys are looked after: those of " +
				"others stay, an import takes none over, and a key that you remove goes, as all do with the attribute. MAAS annotates deployed machines only, so they need `deploy`. A release in MAAS " +
				"removes them, and the next apply writes them with the new deployment.",
			Validators: []validator.Map{
				mapvalidator.NoNullValues(), mapvalidator.SizeAtMost(values.MaxAnnotations), mapvalidator.KeysAre(values.AnnotationKey()),
				mapvalidator.ValueStringsAre(stringvalidator.LengthBetween(1, values.MaxAnnotationLength)),
			},
		},
		"power_state": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Whether the finished VM is on: `running` or `stopped`. MAAS turns it on and off, at once, as by its power button. Someone who turns it " +
				"otherwise is seen by the next plan, as soon as MAAS knows of it: within minutes where the guest turned itself off. Without this attribute the power is left " +
				"alone and costs no call. `running` needs `deploy`, and neither goes with `deploy.ephemeral`. It is looked at while the VM is `Deployed` or `Ready`.",
			Validators: []validator.String{stringvalidator.OneOf(powerRunning, powerStopped)},
		},
		"allow_stopping_for_update": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Let an update turn a running VM off where a new size needs that, and on again afterwards. Default `false`: the plan is an error then. " +
				"It matters where VMs are made in LXD itself (see `composer` of the provider), for `memory_mib` and `disks`; where MAAS composes VMs, a new size replaces " +
				"the VM. MAAS turns it off at once, as by its power button: what the guest has not written to disk is lost.",
		},
	}
}

// triggersAttribute says when the VM is deployed again.
func triggersAttribute() schema.Attribute {
	return schema.MapAttribute{
		Optional:    true,
		ElementType: types.StringType,
		MarkdownDescription: "Values of your own, such as a version or a hash. A change of any of them redeploys the VM in place: MAAS releases it and deploys it again. " +
			"**What is on its disks is lost, also on data disks:** MAAS wipes the partition tables and file systems of all disks before it installs. " +
			"Only `deploy.ephemeral` leaves the disks alone. " +
			"The VM keeps its system id, MAC addresses and fixed addresses; automatic addresses may change. " +
			"Changes of `deploy` in the same plan are part of it, and do not replace the VM. Setting the map for the first time, or removing it, changes nothing. " +
			"`deletion_protection`, a lock in MAAS, and a VM that is a VM host itself refuse a redeployment. If the deployment fails, no plan replaces the VM, and the next apply tries again. " +
			"**Do not set it for an imported VM that MAAS's own `allocate` made: MAAS calls it dynamic, and deletes it when it is released.** It needs `deploy`.",
		Validators: []validator.Map{mapvalidator.NoNullValues(), mapvalidator.SizeAtMost(values.MaxAnnotations)},
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
			MarkdownDescription: "MAAS's name for the state of the VM: `Deployed`, or `Ready` without `deploy`, when everything is done; " +
				"`Commissioning`, `Deploying` and the like when an apply stopped waiting. `Instance missing` where somebody deleted the instance in LXD, " +
				"which is seen where VMs are made in LXD itself; the plan then replaces the VM.",
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
