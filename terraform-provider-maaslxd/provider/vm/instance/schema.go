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

// onlyInLXDNote is in the descriptions of both attributes.
const onlyInLXDNote = "They need VMs that are made in LXD itself (see `composer` of the provider). Where MAAS composes VMs, the plan fails. "

// dayTwoLink ends the descriptions of both attributes.
const dayTwoLink = "[Day two](../guides/day-two.md#options-and-devices-of-lxd)."

// Attributes are config and devices.
func Attributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"config": schema.MapAttribute{
			Optional:    true,
			ElementType: types.StringType,
			MarkdownDescription: "LXD's instance options, as texts by key, such as `boot.autostart` or `user.team`. " + onlyInLXDNote + "Changes " +
				"in place. Some keys need a stopped VM: if it runs, the plan fails without `allow_stopping_for_update`. The provider manages only " +
				"these keys, and deletes those that you remove. Keys that others set stay, and an import adopts none of them. For the list of " +
				"keys, see " + dayTwoLink,
			Validators: []validator.Map{mapvalidator.NoNullValues(), mapvalidator.SizeAtMost(maxOptions)},
		},
		"devices": schema.MapNestedAttribute{
			Optional: true,
			MarkdownDescription: "LXD's devices besides disks and interfaces, by name, such as `tpm0`. " + onlyInLXDNote + "Changes in place. All " +
				"types but `usb` need a stopped VM: if it runs, the plan fails without `allow_stopping_for_update`. The provider manages only " +
				"these devices, and deletes those that you remove. Devices that others set stay, and an import adopts none of them. Details: " + dayTwoLink,
			Validators: []validator.Map{mapvalidator.NoNullValues(), mapvalidator.SizeAtMost(maxDevices)},
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"type": schema.StringAttribute{
					Required: true,
					MarkdownDescription: "Type of the device: `gpu`, `pci`, `tpm` or `usb`. LXD deletes the keys of a `tpm` with the device, also " +
						"if only its name changes: the plan warns.",
					Validators: []validator.String{stringvalidator.OneOf(engine.DeviceTypes()...)},
				},
				"properties": schema.MapAttribute{
					Optional:    true,
					ElementType: types.StringType,
					MarkdownDescription: "LXD's settings of the device, as texts. `gpu` has `gputype`, `id`, `mdev`, `pci`, `productid` and " +
						"`vendorid`. `pci` has `address`. `usb` has `busnum`, `devnum`, `productid`, `required`, `serial` and `vendorid`. `tpm` " +
						"has none. If you remove the attribute, the device loses its settings.",
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
