package host

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// maxPort is the last port of TCP.
const maxPort = 65535

// poolDrivers and networkKinds are the values that driver and type may have.
var (
	poolDrivers = []string{
		string(cloudinit.ZFS), string(cloudinit.Btrfs), string(cloudinit.LVM), string(cloudinit.Dir), string(cloudinit.Ceph),
	}
	networkKinds = []string{string(cloudinit.Bridge), string(cloudinit.Macvlan), string(cloudinit.Managed)}
)

func lxdAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "How LXD is set up at the first boot of a machine that is deployed, and the project for MAAS. **Changing the resulting " +
			"setup replaces the host**, except `trusted_certificates`. Writing a default or removing a line changes nothing. A host that is " +
			"adopted or given by address takes only `project`, `trusted_certificates` and, if adopted, `listen_port`.",
		Attributes: lxdAttributes(),
	}
}

// lxdAttributes describe how LXD is set up.
func lxdAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"channel": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: fmt.Sprintf("Channel of the LXD snap. Default `%s`: the newest long-term channel on which every MAAS with VM hosts "+
				"can compose. MAAS up to 3.8 cannot compose on LXD 6.7 and later.", cloudinit.DefaultChannel),
		},
		"project": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: fmt.Sprintf("LXD project in which MAAS makes VMs. The client certificate is restricted to it. Default `%s`. "+
				"**Changing it replaces the host**, also one that is only registered: MAAS would delete the VMs of the former project.", cloudinit.DefaultProject),
		},
		"project_features": schema.MapAttribute{
			Optional: true, ElementType: types.BoolType, Validators: []validator.Map{mapvalidator.NoNullValues()},
			MarkdownDescription: "Features that the project does not share, by LXD's names without `features.`, such as `images` or `profiles`. Default: LXD's.",
		},
		"project_limits": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, Validators: []validator.Map{mapvalidator.NoNullValues()},
			MarkdownDescription: "Limits of the project by LXD's names without `limits.`, such as `cpu` or `memory`. Default: none.",
		},
		"listen_address": customTextAttribute(texttype.IPType, texttype.IPType.KeepSpelling(), "IP address at which LXD's API listens, without a port. Default: all of the machine's."),
		"listen_port": schema.Int64Attribute{
			Optional: true, MarkdownDescription: fmt.Sprintf("Port of LXD's API. Default %d.", cloudinit.DefaultPort),
			Validators: []validator.Int64{int64validator.Between(1, maxPort)},
		},
		"storage_pools": lxdPoolsAttribute(),
		"networks":      lxdNetworksAttribute(),
		"profile":       lxdProfileAttribute(),
		"trusted_certificates": schema.ListAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "More public certificates, PEM, that the host trusts for the project. Name here the next certificate of the fleet " +
				"before you change the pair. New hosts also trust `lxd-client-next.pem` beside the ledger, unless `lxd_client_cert` is set. On a host " +
				"that runs already, first run `lxc config trust add FILE --restricted --projects PROJECT` there. Adding it here then changes only the " +
				"state: see [Keys and certificates](../guides/keys-and-certificates.md).",
			Validators: []validator.List{listvalidator.NoNullValues(), listvalidator.ValueStringsAre(publicCertificateValidator())},
		},
	}
}

func lxdPoolsAttribute() schema.Attribute {
	return schema.MapNestedAttribute{
		Optional:            true,
		Validators:          []validator.Map{mapvalidator.NoNullValues()},
		MarkdownDescription: fmt.Sprintf("Storage pools by name. Default: one on ZFS, `%s`, in a file of %d GB.", cloudinit.DefaultPool, cloudinit.DefaultPoolSizeGB),
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"driver": schema.StringAttribute{
				Optional: true, MarkdownDescription: "`zfs`, `btrfs`, `lvm`, `dir` or `ceph`. Default `zfs`.",
				Validators: []validator.String{stringvalidator.OneOf(poolDrivers...)},
			},
			"size_gb": schema.Int64Attribute{
				Optional: true,
				MarkdownDescription: fmt.Sprintf("Size in GB (1 GB is 1000000000 bytes) of a pool in a file on the boot disk, for `zfs`, `btrfs` and "+
					"`lvm`; at least %d. Default %d. Not beside `source`.", cloudinit.MinPoolSizeGB, cloudinit.DefaultPoolSizeGB),
				Validators: []validator.Int64{int64validator.AtLeast(cloudinit.MinPoolSizeGB)},
			},
			"source": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Where the pool is, instead of in a file. Give a disk, best as `/dev/disk/by-id/…`, a ZFS pool or dataset, or " +
					"an LVM volume group. For `dir`, give an existing empty directory. For `btrfs`, you can also give a path on such a file system: an " +
					"empty subvolume (its root is one), or a path that does not exist yet.",
			},
			"wipe": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Overwrite what the disk in `source` held before, such as the pool of an earlier deployment, **which is lost**. " +
					"LXD before 5.21 cannot do that. Default `false`: a disk that is not empty is refused. LXD and the tools of its driver refuse it. For " +
					"`zfs` on LXD before 5.21, the first boot refuses it if `wipefs` finds anything.",
			},
			"ceph": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "For the driver `ceph`. Your own user-data or image must put the configuration and the keyring into the host's `/etc/ceph`.",
				Attributes: map[string]schema.Attribute{
					"cluster": schema.StringAttribute{Required: true, MarkdownDescription: "Cluster, by the name of its file in `/etc/ceph`."},
					"pool":    schema.StringAttribute{Required: true, MarkdownDescription: "OSD pool."},
					"user":    schema.StringAttribute{Optional: true, MarkdownDescription: "User, without `client.`. Default `admin`."},
				},
			},
		}},
	}
}

func lxdNetworksAttribute() schema.Attribute {
	return schema.MapNestedAttribute{
		Optional:            true,
		Validators:          []validator.Map{mapvalidator.NoNullValues()},
		MarkdownDescription: "Networks that VMs can join, by name. Default: the bridge in `bridge`.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"kind": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "`bridge`: a bridge that MAAS made, see `bridge`; VMs boot from MAAS. `macvlan`: VMs beside a NIC of the machine, " +
					"which cannot talk to the host itself. `managed`: a bridge that LXD makes, with addresses of its own; MAAS cannot boot VMs on it. Default `bridge`.",
				Validators: []validator.String{stringvalidator.OneOf(networkKinds...)},
			},
			"parent":       schema.StringAttribute{Optional: true, MarkdownDescription: "NIC of the machine, for a `macvlan`."},
			"ipv4_address": customTextAttribute(texttype.PrefixType, texttype.PrefixType.KeepSpelling(), "IPv4 address of a `managed` bridge with its prefix, such as `10.10.0.1/24`, or `none`."),
			"ipv6_address": customTextAttribute(texttype.PrefixType, texttype.PrefixType.KeepSpelling(), "IPv6 address of a `managed` bridge, written "+
				"like `ipv4_address`. Default `none`."),
			"nat": schema.BoolAttribute{Optional: true, MarkdownDescription: "NAT of a `managed` bridge towards the host's networks. Default `false`."},
		}},
	}
}

// customTextAttribute is an optional text that has several spellings.
func customTextAttribute(of basetypes.StringTypable, spelling planmodifier.String, description string) schema.Attribute {
	return schema.StringAttribute{Optional: true, CustomType: of, MarkdownDescription: description, PlanModifiers: []planmodifier.String{spelling}}
}

func lxdProfileAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "Profile of the project, which instances get by default. MAAS gives each VM disks and NICs of its own.",
		Attributes: map[string]schema.Attribute{
			"name":    schema.StringAttribute{Optional: true, MarkdownDescription: fmt.Sprintf("Its name. Default `%s`.", cloudinit.DefaultProfile)},
			"pool":    schema.StringAttribute{Optional: true, MarkdownDescription: fmt.Sprintf("Storage pool of the root disk. Default: `%s`, else the only one.", cloudinit.DefaultPool)},
			"network": schema.StringAttribute{Optional: true, MarkdownDescription: fmt.Sprintf("Network of the NIC. Default: `%s`, else the only one.", cloudinit.DefaultBridge)},
			"config": schema.MapAttribute{
				Optional: true, ElementType: types.StringType, MarkdownDescription: "Configuration of instances by LXD's keys, such as `limits.cpu`.",
				Validators: []validator.Map{mapvalidator.NoNullValues()},
			},
		},
	}
}
