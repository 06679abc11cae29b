package machine

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
)

// keptInPlaceNote ends the descriptions of attributes that change in place.
const keptInPlaceNote = " Changes in place. If you do not set the attribute, or remove it, the value in MAAS stays. A destroy restores the former value."

// placeAttributes name the machine and its place in MAAS.
func placeAttributes() map[string]schema.Attribute {
	text := func(description string, rule validator.String) schema.Attribute {
		return schema.StringAttribute{
			Optional: true, Computed: true, MarkdownDescription: description + keptInPlaceNote,
			Validators: []validator.String{rule}, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		}
	}
	return map[string]schema.Attribute{
		"hostname": text("Hostname of the machine in MAAS: one DNS label of lower-case letters, digits and hyphens, unique in the whole MAAS. The "+
			"provider sets it before it deploys the machine. The installed system keeps the hostname that it was deployed with. In `machine`, keep "+
			"the former hostname: it still names this machine. If somebody releases the machine in MAAS, the machine keeps that hostname, and the next plan "+
			"tells how to name it.", hostnameValidator()),
		"domain": text("DNS domain of the machine, by name.", values.NotEmpty()),
		"zone":   text("Availability zone to which to move the machine, by name. To choose a machine by its zone, use `selector`.", values.NotEmpty()),
		"pool":   text("Resource pool to which to move the machine, by name. To choose a machine by its pool, use `selector`.", values.NotEmpty()),
		"description": text("Description of the machine in MAAS, without the notes of this provider: at most 4096 characters. White space at its ends "+
			"does not count. No word begins with `maaslxd-`. `\"\"` clears it.", values.DescriptionText()),
	}
}

// upkeepAttributes are what the provider manages on a deployed machine.
func upkeepAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"tags": schema.SetAttribute{
			Optional: true, Computed: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Set{planmodifiers.ImportedTags(privateStateKey)},
			MarkdownDescription: "Tags of the machine. The provider makes tags that MAAS does not have. Changes in place. The provider manages " +
				"only these tags. Tags of the site, of MAAS or of somebody else stay. An import adopts the tags that this resource put on. If you " +
				"remove the attribute, the provider takes its tags off. Tags that an import has read stay. A destroy restores the former tags.",
			Validators: []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(values.Tag())},
		},
		"annotations": schema.MapAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Workload annotations of the machine in MAAS, also called owner data. Keys are 1 to 255 letters, digits, " +
				"underscores, dots and hyphens, and do not begin with `maaslxd-`. Values are 1 to 4096 characters. Changes in place. The provider " +
				"manages only these keys. Keys that others set stay, and an import adopts none of them. The provider deletes a key that you " +
				"remove, or all its keys with the attribute. A release removes all annotations.",
			Validators: []validator.Map{
				mapvalidator.NoNullValues(), mapvalidator.SizeAtMost(values.MaxAnnotations), mapvalidator.KeysAre(values.AnnotationKey()),
				mapvalidator.ValueStringsAre(stringvalidator.LengthBetween(1, values.MaxAnnotationLength)),
			},
		},
		"deletion_protection": schema.BoolAttribute{
			Optional: true, Computed: true, PlanModifiers: []planmodifier.Bool{planmodifiers.ImportedBool(privateStateKey, "deletion_protection")},
			MarkdownDescription: "Protect the machine by MAAS's lock. A plan that destroys or replaces the machine fails until you set `false` and " +
				"apply that first. This configuration can still change the machine, and MAAS refuses changes by others. `false` also takes off a " +
				"lock of somebody else. Without this attribute, that lock stays and refuses changes. If you remove your `true`, the provider " +
				"unlocks the machine. Details: [Day two](../guides/day-two.md#protection).",
		},
	}
}

var hostnameLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// hostnameValidator passes hostnames by which MAAS finds machines.
func hostnameValidator() validator.String {
	return values.StringRule("one DNS label: 1 to 63 lower-case letters, digits and hyphens", hostnameProblem)
}

func hostnameProblem(name string) string {
	switch label, domain, dotted := strings.Cut(name, "."); {
	case hostnameLabel.MatchString(name):
		return ""
	case dotted:
		return fmt.Sprintf("%q has a dot. The domain has its own attribute: write hostname = %q and domain = %q.", name, label, domain)
	case name != strings.ToLower(name) && hostnameLabel.MatchString(strings.ToLower(name)):
		return fmt.Sprintf("%q has upper-case letters. MAAS finds machines by lower-case hostnames only: write %q.", name, strings.ToLower(name))
	default:
		return fmt.Sprintf("%q is not a DNS label: 1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end.", name)
	}
}
