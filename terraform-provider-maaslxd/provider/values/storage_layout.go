package values

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
)

// StorageLayoutType is the type of the attribute storage_layout.
var StorageLayoutType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"type": types.StringType, "root_disk": types.StringType, "root_size_gb": types.Int64Type,
	"volume_size_gb": types.Int64Type, "cache_mode": types.StringType,
}}

// minRootGB is MAAS's least size of a root file system, 3 GiB, in whole decimal GB.
const minRootGB = 4

func storageLayoutAttribute() schema.SingleNestedAttribute {
	size := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{
			Optional: true, Validators: []validator.Int64{int64validator.AtLeast(minRootGB)},
			MarkdownDescription: description + " In decimal GB (1 GB = 1000000000 bytes), at least 4.",
		}
	}
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Layout of the disks, which MAAS makes before it deploys the machine. Default: as MAAS has them, usually one `flat` " +
			"partition on the boot disk. To leave a disk or a part of it to LXD, give the root file system another disk or a size. For example " +
			"`{ type = \"lvm\", root_disk = \"sda\", volume_size_gb = 50 }`. The data on the other disks are lost, too. It needs a `Ready` machine and " +
			"the API key of an administrator. Details: [Day two](../guides/day-two.md#the-network-and-disks-of-a-machine).",
		Attributes: map[string]schema.Attribute{
			"type": schema.StringAttribute{
				Required: true,
				MarkdownDescription: "Layout by MAAS's name. `flat`: one partition. `lvm`: a logical volume. `bcache`: cached by the smallest other " +
					"disk tagged `ssd`. `custom`: as a commissioning script of the site left it. `vmfs6` and `vmfs7`: for VMware ESXi, on a `maaslxd_machine` only.",
			},
			"root_disk": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Disk for the root file system, by its name in MAAS, such as `sda`. Default: the disk that the machine boots from. For `flat`, `lvm` and `bcache`.",
				Validators:          []validator.String{NotEmpty()},
			},
			"root_size_gb":   size("Size of the partition for the root file system; for `lvm`, of the volume group. Default: all of the disk. For `flat`, `lvm` and `bcache`."),
			"volume_size_gb": size("Size of the logical volume for the root file system. Default: all of the volume group. For `lvm`."),
			"cache_mode": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Mode of the cache: `writethrough` (default), `writeback` or `writearound`. For `bcache`.",
			},
		},
	}
}

// storageLayout decodes the attribute storage_layout; nil if it is null or not known yet.
func storageLayout(o types.Object) *engine.StorageLayout {
	if o.IsNull() || o.IsUnknown() {
		return nil
	}
	text := func(name string) string {
		v, _ := o.Attributes()[name].(types.String)
		return v.ValueString()
	}
	number := func(name string) int64 {
		v, _ := o.Attributes()[name].(types.Int64)
		return v.ValueInt64()
	}
	return &engine.StorageLayout{
		Type: text("type"), RootDisk: text("root_disk"), RootSizeGB: number("root_size_gb"), VolumeSizeGB: number("volume_size_gb"), CacheMode: text("cache_mode"),
	}
}

// wantsMoreThan tells whether an object sets a value that the other one did not have. A value
// that is null now is no difference.
func wantsMoreThan(want, had types.Object) bool {
	if want.IsNull() {
		return false
	}
	if want.IsUnknown() || had.IsNull() {
		return true
	}
	for name, v := range want.Attributes() {
		if !v.IsNull() && !v.Equal(had.Attributes()[name]) {
			return true
		}
	}
	return false
}
