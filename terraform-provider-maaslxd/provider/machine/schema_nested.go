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

// maxInterfaces only catches slips of the pen.
const maxInterfaces = 16

func interfacesAttribute() schema.Attribute {
	return schema.MapNestedAttribute{
		Optional: true, Computed: true,
		PlanModifiers: []planmodifier.Map{mapplanmodifier.UseStateForUnknown()},
		MarkdownDescription: "Interfaces that get a fixed address before the machine is deployed, by a label of your own: lower-case letters, digits and hyphens. " +
			"The others keep what MAAS has for them. A destroy takes the addresses back. A fixed address that somebody gave the interface in MAAS is not replaced: that is an " +
			"error. **Changing them replaces the machine**, except for other labels and another way to write the same subnet. If you remove them, the machine " +
			"keeps what it has.",
		Validators: []validator.Map{
			mapvalidator.NoNullValues(),
			mapvalidator.SizeBetween(1, maxInterfaces),
			mapvalidator.KeysAre(values.Label()),
		},
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"ip": schema.StringAttribute{
				Required:            true,
				CustomType:          texttype.IPType,
				MarkdownDescription: "Fixed address, which is free and outside MAAS's dynamic and reserved ranges.",
				PlanModifiers:       []planmodifier.String{texttype.IPType.KeepSpelling()},
			},
			"subnet": schema.StringAttribute{
				Optional:            true,
				CustomType:          texttype.SubnetType,
				MarkdownDescription: "Subnet of the address: its name in MAAS, or its CIDR. Default: the one that the address lies in.",
				PlanModifiers:       []planmodifier.String{texttype.SubnetType.KeepSpelling()},
			},
			"nic": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Interface of the machine by its name or MAC address in MAAS, such as `eth0`. Default: the one on the subnet's VLAN; of several, that from which " +
					"the machine boots.",
				Validators: []validator.String{values.NotEmpty()},
			},
		}},
	}
}

// computedAttributes say what became of the machine.
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
		"status":         text("MAAS's name for the state of the machine: `Deployed` when everything is done; `Deploying` and the like when an apply stopped waiting."),
		"status_message": text("What MAAS says of that state, as of the last refresh. Null where it says nothing."),
	}
}
