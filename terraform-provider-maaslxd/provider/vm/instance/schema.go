// Package instance is the attributes config and devices of a VM. They are LXD's instance
// options and devices, besides those that the provider sets itself.
package instance

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
)

const (
	maxOptions = 100
	maxDevices = 32
)

// onlyInLXDNote begins the descriptions of both attributes.
const onlyInLXDNote = "It needs VMs that the provider makes over the API of LXD (see `composer` of the provider). Where MAAS composes the VMs, the plan is an error. "

// onlyDeclaredNote ends the descriptions of both attributes.
const onlyDeclaredNote = " The provider manages only these: those of others stay. It deletes one that you remove, or all of them with the attribute. " +
	"An import takes none over: the first apply manages those that you declare, and changes nothing that the VM has already."

// Attributes are config and devices.
func Attributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"config": schema.MapAttribute{
			Optional:    true,
			ElementType: types.StringType,
			MarkdownDescription: "LXD's instance options, by key, as texts. " + onlyInLXDNote +
				"Keys are `user.*`, `boot.autostart` and others of `boot.*`, `cluster.evacuate`, `limits.cpu.nodes`, `limits.cpu.pin_strategy`, " +
				"`limits.disk.priority`, `security.agent.metrics`, `security.devlxd`, `security.devlxd.images`, `security.secureboot`, `security.sev`, " +
				"`security.sev.policy.es` and `snapshots.*`. Another key is an error of the plan, which says why and what to write. A VM has " +
				"`security.secureboot` `\"false\"` unless you set it; from LXD 6.7 on, set `boot.mode`. Changes in place. `user.*`, `snapshots.*`, " +
				"`cluster.evacuate` and `boot.*` without `boot.mode` change while the VM runs. The others need a stopped VM. For a running one the " +
				"plan is an error without `allow_stopping_for_update`." + onlyDeclaredNote,
			Validators: []validator.Map{mapvalidator.NoNullValues(), mapvalidator.SizeAtMost(maxOptions)},
		},
		"devices": schema.MapNestedAttribute{
			Optional: true,
			MarkdownDescription: "LXD's devices besides disks and interfaces, by name, such as `tpm0`. Names have letters, digits, hyphens, " +
				"underscores and dots; `root`, `eth0` or `disk1` are names of disks and interfaces. " + onlyInLXDNote +
				"Changes in place. You can add and remove a device of the type `usb` while the VM runs. The others need a stopped VM. For a running " +
				"one the plan is an error without `allow_stopping_for_update`. A restricted project of LXD must allow them, for example with " +
				"`restricted.devices.gpu`. LXD deletes the keys of a `tpm` with the device, also if only its name changes: the plan warns." + onlyDeclaredNote,
			Validators: []validator.Map{mapvalidator.NoNullValues(), mapvalidator.SizeAtMost(maxDevices)},
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"type": schema.StringAttribute{
					Required:            true,
					MarkdownDescription: "Type of the device: `gpu`, `pci`, `tpm` or `usb`.",
					Validators:          []validator.String{stringvalidator.OneOf(engine.DeviceTypes()...)},
				},
				"properties": schema.MapAttribute{
					Optional:    true,
					ElementType: types.StringType,
					MarkdownDescription: "LXD's settings of the device, as texts. `gpu` has `gputype`, `id`, `mdev`, `pci`, `productid` and " +
						"`vendorid`. `pci` has `address`. `usb` has `busnum`, `devnum`, `productid`, `required`, `serial` and `vendorid`. `tpm` has none. If " +
						"you remove the attribute, the device loses them.",
					Validators: []validator.Map{mapvalidator.NoNullValues(), mapvalidator.SizeAtLeast(1)},
				},
			}},
		},
	}
}

// DeviceType is the type of an element of devices.
var DeviceType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"type": types.StringType, "properties": types.MapType{ElemType: types.StringType},
}}
