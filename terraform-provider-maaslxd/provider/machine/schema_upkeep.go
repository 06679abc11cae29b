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

// keptInPlaceNote ends the description of what changes in place.
const keptInPlaceNote = " Changes in place. Where it is not set, or no longer, the machine keeps what it has. A destroy puts back what it had before."

// placeAttributes say what the machine is called and where it belongs.
func placeAttributes() map[string]schema.Attribute {
	text := func(description string, rule validator.String) schema.Attribute {
		return schema.StringAttribute{
			Optional: true, Computed: true, MarkdownDescription: description + keptInPlaceNote,
			Validators: []validator.String{rule}, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		}
	}
	return map[string]schema.Attribute{
		"hostname": text("Hostname of the machine in MAAS. A new one is set before the machine is deployed. One DNS label of lower-case letters, digits and hyphens, "+
			"unique in the whole MAAS. What is installed keeps the hostname that it was deployed with. `machine` goes on naming the machine by its former hostname.", hostnameValidator()),
		"domain":      text("DNS domain of the machine, by name.", values.NotEmpty()),
		"zone":        text("Availability zone of the machine, by name. That of `selector` chooses a machine, and this one moves it.", values.NotEmpty()),
		"pool":        text("Resource pool of the machine, by name. That of `selector` chooses a machine, and this one moves it.", values.NotEmpty()),
		"description": text("What MAAS's description of the machine says, beside the notes of this provider: at most 4096 characters. White space at its ends does not count. No word begins with `maaslxd-`. `\"\"` clears it.", values.DescriptionText()),
	}
}

// upkeepAttributes say what else is looked after of a machine.
func upkeepAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"tags": schema.SetAttribute{
			Optional: true, Computed: true, ElementType: types.StringType, PlanModifiers: []planmodifier.Set{planmodifiers.ImportedTags(privateStateKey)},
			MarkdownDescription: "Tags that the machine carries. Tags that MAAS does not know are created. Changes in place. Only these are looked " +
				"after: tags of the site, of MAAS or of someone else stay. A destroy puts back what the machine had before. An import takes those over that this resource put on. If you remove the attribute, they are taken off; what an import has read stays.",
			Validators: []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(values.Tag())},
		},
		"annotations": schema.MapAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Workload annotations of the machine in MAAS, which MAAS also calls owner data. Keys are 1 to 255 letters, digits, underscores, dots and " +
				"hyphens; keys that begin with `maaslxd-` are marks of this provider. Values are 1 to 4096 characters. Changes in place. Only these keys are looked after: " +
				"those of others stay, an import takes none over, and a key that you remove goes, as all do with the attribute. A release removes them all.",
			Validators: []validator.Map{
				mapvalidator.NoNullValues(), mapvalidator.SizeAtMost(values.MaxAnnotations), mapvalidator.KeysAre(values.AnnotationKey()),
				mapvalidator.ValueStringsAre(stringvalidator.LengthBetween(1, values.MaxAnnotationLength)),
			},
		},
		"deletion_protection": schema.BoolAttribute{
			Optional: true, Computed: true, PlanModifiers: []planmodifier.Bool{planmodifiers.ImportedBool(privateStateKey, "deletion_protection")},
			MarkdownDescription: "Keep the machine from being released, by MAAS's lock. A plan that destroys or replaces it is an error while the last apply had `true`, also where somebody has taken the lock off: " +
				"set it to `false` and apply first. Everybody else who changes, releases or powers the machine in MAAS is refused. Changes of this configuration are made " +
				"all the same: the machine is unlocked for as long as they take. With `false` the lock of somebody else is taken off; without this attribute it stays, " +
				"and refuses changes. If you remove `true` of yours, the machine is unlocked.",
		},
	}
}

var hostnameLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// hostnameValidator passes hostnames that MAAS finds machines by.
func hostnameValidator() validator.String {
	return values.StringRule("one DNS label: 1 to 63 lower-case letters, digits and hyphens", hostnameProblem)
}

func hostnameProblem(name string) string {
	switch label, domain, dotted := strings.Cut(name, "."); {
	case hostnameLabel.MatchString(name):
		return ""
	case dotted:
		return fmt.Sprintf("%q has a dot. The domain is a matter of its own: write hostname = %q and domain = %q.", name, label, domain)
	case name != strings.ToLower(name):
		return fmt.Sprintf("%q has upper-case letters. MAAS finds machines by lower-case hostnames only: write %q.", name, strings.ToLower(name))
	default:
		return fmt.Sprintf("%q is not a DNS label: 1 to 63 lower-case letters, digits and hyphens, with no hyphen at either end.", name)
	}
}
