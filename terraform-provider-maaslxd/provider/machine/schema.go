package machine

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
)

// replacesMachineNote ends the description of what cannot change in place.
const replacesMachineNote = " **Changing it replaces the machine**: it is released, and one is deployed anew."

// Schema is that of a machine.
func (r *machineResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = machineSchema(ctx)
}

func machineSchema(ctx context.Context) schema.Schema {
	attributes := map[string]schema.Attribute{
		"interfaces": interfacesAttribute(),
		"deploy":     deployAttribute(),
		"release":    values.ReleaseAttribute(),
		"timeouts": timeouts.Attributes(ctx, timeouts.Opts{
			Create: true, Read: true, Update: true, Delete: true,
			CreateDescription: "How long to wait for a new machine, as a duration such as `90m`. Default `60m`. When the time is up the machine is kept, and the next apply goes on.",
			ReadDescription:   "How long a refresh may take. Default `2m`.",
			UpdateDescription: "How long to wait for a change. Default `10m`, or `60m` if the machine is not finished yet.",
			DeleteDescription: "How long to wait until the machine is given back. Default `30m`; erasing disks in full takes longer.",
		}),
	}
	for _, group := range []map[string]schema.Attribute{sourceAttributes(), computedAttributes(), placeAttributes(), upkeepAttributes()} {
		maps.Copy(attributes, group)
	}
	return schema.Schema{
		Version: 0,
		MarkdownDescription: "Bare metal that MAAS deploys: a `Ready` machine is allocated and an image installed on it. A destroy releases the machine, which is `Ready` again " +
			"for others; its record stays in MAAS. To make an LXD host of a machine, use `maaslxd_vm_host`.\n\n" +
			"Exactly one of `machine` and `selector` says which machine is taken. A create that is cut off or runs out of time leaves the machine as it is; " +
			"the next apply finds it and goes on. When the time was up, `status` says how far the machine has come, with a warning. A deployment that MAAS gave " +
			"up leaves the machine to be looked at, and the next apply replaces it.\n\n" +
			"A machine that somebody has released meanwhile is planned to be made anew. One that another configuration or user has is refused, with whose it is.\n\n" +
			"A destroy gives the machine back as it was taken, but for what lies on its disks and `deploy.storage_layout`. The hostname, domain, zone, pool and description that it had before are put back, unless somebody " +
			"else has changed them since. Tags that this resource put on go, and those that it took off come back. Annotations go with every release. " +
			"Somebody who releases the machine in MAAS leaves it as it is then.",
		Attributes: attributes,
	}
}

// sourceAttributes say which machine is taken.
func sourceAttributes() map[string]schema.Attribute {
	const exactly = " Exactly one of `machine` and `selector` must be set."
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required: true,
			MarkdownDescription: "Name by which this configuration knows the machine. The create that was cut off is found by it, so no two resources `maaslxd_machine` " +
				"of one `owner` may have the same. It does not rename the machine in MAAS: `hostname` does. Changes in place, also where two " +
				"resources swap theirs. 1 to 63 letters, digits, `.`, `_` and `-`.",
			Validators: []validator.String{values.ObjectName()},
		},
		"machine": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Machine to deploy: its hostname, FQDN or system id in MAAS. It must be `Ready`, and of an architecture for which MAAS has the image. " +
				"Names of the same machine are the same value." + exactly + replacesMachineNote,
			Validators: []validator.String{values.NotEmpty()},
		},
		"selector": values.SelectorAttribute("Which `Ready` machine to deploy, instead of one by name: the smallest that will do, which `hostname` tells; `selector = {}` takes any. " +
			"It is looked at when a machine is taken, and at no other time: the machine that was chosen is kept. VMs and locked machines are not chosen, nor those " +
			"of an architecture for which MAAS has no such image. Machines on which a deployment failed come last." + exactly),
	}
}

func deployAttribute() schema.Attribute {
	attribute := values.DeploymentAttribute(values.DeploymentTexts{
		Deploy: "What to install. Without it, MAAS's default image is. " +
			"**Changing a value in it replaces the machine**: installing again destroys what is on its disks. Leaving one out does not, and neither does naming it " +
			"for the first time where the outcome is the same.",
		Image: "Image as MAAS lists it, such as `ubuntu/noble` or `custom/mine`. Default: MAAS's default.",
		UserData: "User-data for cloud-init, as plain text of at most 512 KiB. Write-only: neither plan nor state hold it, so a change of it alone is not seen. " +
			"Change `user_data_wo_version` with it.",
		Version: "Number of the version of `user_data_wo`. A change of it replaces the machine. So does the first number where the machine was installed without user-data: " +
			"cloud-init runs it at the first boot only. If you remove it, the machine keeps what it was installed with.",
	})
	attribute.Attributes["ephemeral"] = planmodifiers.KeepWhenRemoved(schema.BoolAttribute{
		Optional: true,
		MarkdownDescription: "Run from memory and leave the disks alone. Default `false`. What runs is lost when the machine is turned off. If you remove it, the machine keeps what it has. " +
			"Before MAAS 3.5 the image must be one of Ubuntu.",
	})
	attribute.Attributes["enable_hw_sync"] = planmodifiers.KeepWhenRemoved(schema.BoolAttribute{
		Optional: true,
		MarkdownDescription: "Put MAAS's agent on the machine, which tells MAAS of changes of its disks and interfaces while it is deployed. Default `false`. If you remove it, the machine keeps what it has. " +
			"It runs on Linux, and needs MAAS 3.2 or later.",
	})
	return attribute
}

func machineIdentitySchema() identityschema.Schema { return values.MachineIdentity("the machine") }
