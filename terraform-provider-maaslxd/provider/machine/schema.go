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

// replacesMachineNote ends the descriptions of attributes that cannot change in place.
const replacesMachineNote = " **Changing it replaces the machine**: MAAS releases it and deploys one again."

// Schema is that of a machine.
func (r *machineResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = machineSchema(ctx)
}

func machineSchema(ctx context.Context) schema.Schema {
	attributes := map[string]schema.Attribute{
		"interfaces": interfacesAttribute(),
		"deploy":     deployAttribute(),
		"release":    values.ReleaseAttribute(),
		"timeouts": values.Timeouts(ctx, timeouts.Opts{
			Create: true, Read: true, Update: true, Delete: true,
			CreateDescription: "How long to wait for a new machine, as a duration such as `90m`. Default `60m`. When the time is up, the machine " +
				"stays, and the next apply continues.",
			ReadDescription:   "How long a refresh may take. Default `2m`.",
			UpdateDescription: "How long to wait for a change. Default `10m`, or `60m` if the machine is not finished yet.",
			DeleteDescription: "How long to wait until MAAS has released the machine. Default `30m`; erasing disks in full takes longer.",
		}),
	}
	for _, group := range []map[string]schema.Attribute{sourceAttributes(), computedAttributes(), placeAttributes(), upkeepAttributes()} {
		maps.Copy(attributes, group)
	}
	return schema.Schema{
		Version: 0,
		MarkdownDescription: "Bare metal that MAAS deploys: MAAS allocates a `Ready` machine and installs an image on it. A destroy releases the " +
			"machine, which is then `Ready` for others. Its record stays in MAAS. To make an LXD host of a machine, use `maaslxd_vm_host`.\n\nSet " +
			"exactly one of `machine` and `selector`. A create that is interrupted or runs out of time leaves the machine as it is; the next apply " +
			"finds it and continues. If the time was up, a warning says so, and `status` shows how far the machine has come. A machine whose " +
			"deployment failed in MAAS stays, so that you can look at it. The next apply replaces it.\n\nIf somebody has released the machine, the " +
			"plan deploys a machine again. A machine of another configuration or user is refused, and the error names the owner.\n\nA destroy gives the " +
			"machine back as it was taken, except for the data on its disks and `deploy.storage_layout`. It restores the former hostname, domain, " +
			"zone, pool and description, unless somebody else has changed them since. It takes off the tags that this resource put on, and puts " +
			"back those that it took off. Every release removes the annotations. If somebody releases the machine in MAAS, nothing is restored.",
		Attributes: attributes,
	}
}

// sourceAttributes choose the machine.
func sourceAttributes() map[string]schema.Attribute {
	const exactly = " Exactly one of `machine` and `selector` must be set."
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required: true,
			MarkdownDescription: "Name of the machine in this configuration: 1 to 63 letters, digits, `.`, `_` and `-`. An interrupted create is found " +
				"by it, so it must be unique among the resources `maaslxd_machine` of one `owner`. It does not rename the machine in MAAS: `hostname` " +
				"does. Changes in place, also where two resources swap their names.",
			Validators: []validator.String{values.ObjectName()},
		},
		"machine": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Machine to deploy: its hostname, FQDN or system id in MAAS. It must be `Ready`, and MAAS must have the image for its " +
				"architecture. Names of the same machine are the same value." + exactly + replacesMachineNote,
			Validators: []validator.String{values.NotEmpty()},
		},
		"selector": values.SelectorAttribute("Which `Ready` machine to deploy, instead of one by name." + exactly + " The provider takes the " +
			"smallest machine that matches, and `hostname` shows it. `selector = {}` matches any. VMs and locked machines do not match, and MAAS " +
			"must have the image for the architecture. Machines with a failed deployment come last. The selector matters only when the provider " +
			"takes a machine. Later, the resource keeps its machine."),
	}
}

func deployAttribute() schema.Attribute {
	attribute := values.DeploymentAttribute(values.DeploymentTexts{
		Deploy: "The system to install. Without it, MAAS installs its default image. **Changing a value in it replaces the machine**, which destroys " +
			"the data on its disks. Removing a value does not. Naming it for the first time does not either, if the outcome is the same.",
		Image: "Image by MAAS's name, such as `ubuntu/noble` or `custom/mine`. Default: MAAS's default.",
		UserData: "User-data for cloud-init, as plain text of at most 512 KiB. Write-only: neither plan nor state hold it, so a change of it alone is " +
			"not seen. Change `user_data_wo_version` with it.",
		Version: "Version number of `user_data_wo`. Changing it replaces the machine. The first number also replaces a machine that was installed " +
			"without user-data: cloud-init runs it at the first boot only. If you remove it, the machine keeps what it was installed with.",
	})
	attribute.Attributes["ephemeral"] = planmodifiers.KeepWhenRemoved(schema.BoolAttribute{
		Optional: true,
		MarkdownDescription: "Run from memory and leave the disks alone. Default `false`. Turning the machine off loses the running system. If you " +
			"remove the attribute, the machine keeps the former value. Before MAAS 3.5 the image must be an Ubuntu.",
	})
	attribute.Attributes["enable_hw_sync"] = planmodifiers.KeepWhenRemoved(schema.BoolAttribute{
		Optional: true,
		MarkdownDescription: "Put MAAS's agent on the machine. It tells MAAS of changed disks and interfaces while the machine is deployed. " +
			"Default `false`. If you remove the attribute, the machine keeps the former value. The agent runs on Linux, and needs MAAS 3.2 or " +
			"later.",
	})
	return attribute
}

func machineIdentitySchema() identityschema.Schema { return values.MachineIdentity("the machine") }
