package planmodifiers

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Unclaimed are attributes that an import has read and that no configuration has set since.
// For example, an import of web-1 reads its tag "blue". A configuration without tags leaves it
// there. If you set tags = ["blue"] and remove the line later, the provider removes the tag.
type Unclaimed []string

// Contains tells whether an attribute is unclaimed.
func (u Unclaimed) Contains(attribute string) bool { return slices.Contains(u, attribute) }

// WithoutClaimed are the attributes that a configuration still does not set. These are its
// values.
func (u Unclaimed) WithoutClaimed(said map[string]attr.Value) Unclaimed {
	return slices.DeleteFunc(slices.Clone(u), func(name string) bool { return said[name] != nil && !said[name].IsNull() })
}

// IsClaimedBy tells whether a configuration sets unclaimed tags or an unclaimed lock. An
// update must record that, also if nothing else changes. Otherwise they would stay when their
// line is removed.
func (u Unclaimed) IsClaimedBy(tags types.Set, protection types.Bool) bool {
	return u.Contains("tags") && len(tags.Elements()) > 0 || u.Contains("deletion_protection") && protection.ValueBool()
}

// ImportedTags keeps imported tags until a configuration claims them. Notes is the key of the
// private state with the unclaimed attributes.
func ImportedTags(notes string) planmodifier.Set { return importedValueModifier{notes, "tags"} }

// ImportedBool keeps an imported bool in the same way.
func ImportedBool(notes, attribute string) planmodifier.Bool {
	return importedValueModifier{notes, attribute}
}

// importedValueModifier plans null if the configuration has no value, and the imported value
// if nobody has claimed it.
type importedValueModifier struct{ privateKey, attribute string }

// Description says what the modifier does.
func (importedValueModifier) Description(context.Context) string {
	return "An imported value stays until the configuration sets it."
}

// MarkdownDescription says what the modifier does.
func (i importedValueModifier) MarkdownDescription(ctx context.Context) string {
	return i.Description(ctx)
}

// PlanModifySet keeps a set.
func (i importedValueModifier) PlanModifySet(ctx context.Context, req planmodifier.SetRequest, resp *planmodifier.SetResponse) {
	if !req.ConfigValue.IsNull() {
		return
	}
	raw, diags := req.Private.GetKey(ctx, i.privateKey)
	resp.Diagnostics.Append(diags...)
	if resp.PlanValue = types.SetNull(req.PlanValue.ElementType(ctx)); i.isUnclaimed(raw) {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifyBool keeps a bool.
func (i importedValueModifier) PlanModifyBool(ctx context.Context, req planmodifier.BoolRequest, resp *planmodifier.BoolResponse) {
	if !req.ConfigValue.IsNull() {
		return
	}
	raw, diags := req.Private.GetKey(ctx, i.privateKey)
	resp.Diagnostics.Append(diags...)
	if resp.PlanValue = types.BoolNull(); i.isUnclaimed(raw) {
		resp.PlanValue = req.StateValue
	}
}

// isUnclaimed reads the notes. If they cannot be read, the plan reports that elsewhere.
func (i importedValueModifier) isUnclaimed(raw []byte) bool {
	var n struct {
		Unclaimed Unclaimed `json:"unclaimed"`
	}
	return len(raw) > 0 && json.Unmarshal(raw, &n) == nil && n.Unclaimed.Contains(i.attribute)
}
