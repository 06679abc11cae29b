package network

import (
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// Attribute is the attribute network. Its description ends with replaces.
func Attribute(replaces string) schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Network of the machine in MAAS, instead of `bridge`: bonds, VLAN interfaces and bridges. Each has an interface name " +
			"of at most 15 characters as its key. MAAS makes them before it deploys the machine, and removes them when it releases the machine. " +
			"VMs join the bridges, unless `lxd.networks` says otherwise." + replaces,
		Attributes: map[string]schema.Attribute{
			"bonds": interfacesAttribute("Bonds of physical interfaces. In MAAS, the interfaces must be connected to one VLAN.", bondAttributes()),
			"vlans": interfacesAttribute("VLAN interfaces, such as `bond0.100`.", map[string]schema.Attribute{
				"parent": parentAttribute("NIC or bond below it: the name or MAC address of a NIC, or the name of a bond."),
				"vlan": schema.Int64Attribute{
					Required: true, Validators: []validator.Int64{int64validator.Between(1, engine.MaxVID)},
					MarkdownDescription: fmt.Sprintf("Tag of the VLAN, 1 to %d. MAAS must have a subnet on that VLAN, in the fabric of the parent.", engine.MaxVID),
				},
			}),
			"bridges": interfacesAttribute("Bridges that VMs join. There is at least one, and one is on a VLAN where MAAS serves DHCP: VMs boot from "+
				"it. If there are several and none is called `br0`, name in `lxd.profile.network` the one that instances join by default.", map[string]schema.Attribute{
				"parent": parentAttribute("Interface below it: the name or MAC address of a NIC, or the name of a bond or VLAN interface."),
			}),
		},
	}
}

// interfacesAttribute is a map of interfaces: the attributes that all have, and those given.
func interfacesAttribute(description string, own map[string]schema.Attribute) schema.Attribute {
	attributes := map[string]schema.Attribute{
		"mtu": schema.Int64Attribute{
			Optional: true, Validators: []validator.Int64{int64validator.Between(engine.MinMTU, engine.MaxMTU)},
			MarkdownDescription: fmt.Sprintf("MTU in bytes, %d to %d, and not more than that of the interface below it. MAAS gives the interfaces "+
				"below it the same MTU. Default: the MTU of its VLAN in MAAS.", engine.MinMTU, engine.MaxMTU),
		},
		"links": linksAttribute(),
	}
	maps.Copy(attributes, own)
	return schema.MapNestedAttribute{
		Optional: true, MarkdownDescription: description, Validators: []validator.Map{mapvalidator.NoNullValues()},
		NestedObject: schema.NestedAttributeObject{Attributes: attributes},
	}
}

func parentAttribute(description string) schema.Attribute {
	return schema.StringAttribute{Required: true, MarkdownDescription: description, Validators: []validator.String{values.NotEmpty()}}
}

func bondAttributes() map[string]schema.Attribute {
	word := func(description string, words []string) schema.Attribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: []validator.String{stringvalidator.OneOf(words...)}}
	}
	return map[string]schema.Attribute{
		"interfaces": schema.ListAttribute{
			Required: true, ElementType: types.StringType, MarkdownDescription: "NICs in the bond, by name or MAC address.",
			Validators: []validator.List{listvalidator.SizeAtLeast(1), listvalidator.NoNullValues(), listvalidator.ValueStringsAre(values.NotEmpty())},
		},
		"mode":      word("Mode: `balance-rr`, `active-backup`, `balance-xor`, `broadcast`, `802.3ad` (LACP), `balance-tlb` or `balance-alb`. Default: MAAS's, `balance-rr`.", engine.BondModes),
		"lacp_rate": word("How often LACP packets are sent: `fast`, each second, or `slow`, each 30 seconds. Only for the mode `802.3ad`. Default: MAAS's, `fast`.", engine.BondLACPRates),
		"xmit_hash_policy": word("Hash that chooses the interface of a packet: `layer2`, `layer2+3`, `layer3+4`, `encap2+3` or `encap3+4`. Only for "+
			"the modes `802.3ad`, `balance-xor` and `balance-tlb`. Default: MAAS's, `layer2`.", engine.BondHashPolicies),
	}
}

func linksAttribute() schema.Attribute {
	return schema.ListNestedAttribute{
		Optional:   true,
		Validators: []validator.List{listvalidator.SizeAtLeast(1), listvalidator.NoNullValues()},
		MarkdownDescription: "Addresses of the interface, each on a subnet of its VLAN. Default of a bridge: the links of the interface below it, or " +
			"an address of the only subnet on its VLAN. Default of a bond or VLAN interface: none.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"mode": schema.StringAttribute{
				Required: true, Validators: []validator.String{stringvalidator.OneOf(engine.LinkModes...)},
				MarkdownDescription: "`auto`: MAAS assigns an address at deployment. `static`: the address in `ip`. `dhcp`: the machine asks a DHCP " +
					"server. `link_up`: no address; it is then the only link.",
			},
			"subnet": schema.StringAttribute{
				Optional: true, CustomType: texttype.SubnetType, PlanModifiers: []planmodifier.String{texttype.SubnetType.KeepSpelling()},
				MarkdownDescription: "Subnet: its name in MAAS, or its CIDR. Required, except for `link_up`, which has none.",
			},
			"ip": schema.StringAttribute{
				Optional: true, CustomType: texttype.IPType, PlanModifiers: []planmodifier.String{texttype.IPType.KeepSpelling()},
				MarkdownDescription: "Address of a `static` link. It must be free and outside MAAS's dynamic ranges.",
			},
			"default_gateway": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Use the gateway of this subnet as the machine's gateway, for `auto` and `static`. At most one link has it. Default `false`: MAAS chooses.",
			},
		}},
	}
}
