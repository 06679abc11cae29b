package machine

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// maxInterfaces only catches typing errors.
const maxInterfaces = 16

func interfacesAttribute() schema.Attribute {
	return schema.MapNestedAttribute{
		Optional: true, Computed: true,
		PlanModifiers: []planmodifier.Map{mapplanmodifier.UseStateForUnknown()},
		MarkdownDescription: "Interfaces that get a fixed address before the machine is deployed, keyed by a label of lower-case letters, digits " +
			"and hyphens. Other interfaces keep their settings in MAAS. An interface that has another fixed address in MAAS is refused. **Changing " +
			"them replaces the machine**, except for other labels and another spelling of the same NIC or subnet, also after a rename of the subnet in MAAS. If you remove the attribute, the " +
			"machine keeps its addresses. A destroy removes these addresses.",
		Validators: []validator.Map{
			mapvalidator.NoNullValues(),
			mapvalidator.SizeBetween(1, maxInterfaces),
			mapvalidator.KeysAre(values.Label()),
		},
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"ip": schema.StringAttribute{
				Required:            true,
				CustomType:          texttype.IPType,
				MarkdownDescription: "Fixed address. It must be free and outside MAAS's dynamic and reserved ranges.",
				PlanModifiers:       []planmodifier.String{texttype.IPType.KeepSpelling()},
			},
			"subnet": schema.StringAttribute{
				Optional:            true,
				CustomType:          texttype.SubnetType,
				MarkdownDescription: "Subnet of the address: its name in MAAS, or its CIDR. Default: the subnet that contains the address.",
				PlanModifiers:       []planmodifier.String{texttype.SubnetType.KeepSpelling()},
			},
			"nic": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Interface of the machine by its name or MAC address in MAAS, such as `eth0`. Default: the interface on the " +
					"subnet's VLAN. If there are several, the one from which the machine boots.",
				Validators: []validator.String{values.NotEmpty()},
			},
		}},
	}
}

// computedAttributes are the values of the machine that MAAS reports.
func computedAttributes() map[string]schema.Attribute {
	text := func(description string) schema.Attribute {
		return schema.StringAttribute{
			Computed: true, MarkdownDescription: description, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		}
	}
	number := func(description string) schema.Attribute {
		return schema.Int64Attribute{
			Computed: true, MarkdownDescription: description, PlanModifiers: []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
		}
	}
	return map[string]schema.Attribute{
		"id":           text("MAAS's system id of the machine."),
		"fqdn":         text("Hostname and domain."),
		"architecture": text("Architecture of the machine, such as `amd64/generic`."),
		"cores":        number("Number of cores."),
		"memory_mib":   number("Memory in MiB."),
		"ip_addresses": schema.ListAttribute{
			Computed: true, ElementType: types.StringType, MarkdownDescription: "All addresses of the machine that MAAS knows.",
			PlanModifiers: []planmodifier.List{listplanmodifier.UseStateForUnknown()},
		},
		"status":         text("MAAS's name for the state of the machine: `Deployed` when everything is done, or for example `Deploying` when an apply stopped waiting."),
		"status_message": text("MAAS's message about that state, as of the last refresh. Null if there is none."),
	}
}
