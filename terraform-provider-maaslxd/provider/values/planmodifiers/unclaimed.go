package planmodifiers

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Unclaimed are attributes that an import has read, and that no configuration has said since.
// For example, an import of web-1 reads its tag "blue". A configuration without tags leaves
// it there. One that says tags = ["blue"] and removes the line later takes it away.
type Unclaimed []string

// Contains tells whether an attribute is among them.
func (u Unclaimed) Contains(attribute string) bool { return slices.Contains(u, attribute) }

// WithoutClaimed are those that a configuration still does not say, of which these are the values.
func (u Unclaimed) WithoutClaimed(said map[string]attr.Value) Unclaimed {
	return slices.DeleteFunc(slices.Clone(u), func(name string) bool { return said[name] != nil && !said[name].IsNull() })
}

// IsClaimedBy tells whether a configuration says tags, or a lock, that are unclaimed. Somebody has to
// note that, also where nothing changes: otherwise they would stay when their line is removed.
func (u Unclaimed) IsClaimedBy(tags types.Set, protection types.Bool) bool {
	return u.Contains("tags") && len(tags.Elements()) > 0 || u.Contains("deletion_protection") && protection.ValueBool()
}

// ImportedTags keeps the tags that an import has read, as long as nobody claims them. Notes
// is the key of the private state that has the unclaimed attributes.
func ImportedTags(notes string) planmodifier.Set { return importedValueModifier{notes, "tags"} }

// ImportedBool keeps a bool that an import has read, in the same way.
func ImportedBool(notes, attribute string) planmodifier.Bool {
	return importedValueModifier{notes, attribute}
}

// importedValueModifier plans null where the configuration says nothing, and what an import has read
// where nobody claims it.
type importedValueModifier struct{ privateKey, attribute string }

// Description says what it does.
func (importedValueModifier) Description(context.Context) string {
	return "What an import has read stays until the configuration says it."
}

// MarkdownDescription says what it does.
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

// isUnclaimed reads notes. Those that cannot be read are an error of the plan anyway.
func (i importedValueModifier) isUnclaimed(raw []byte) bool {
	var n struct {
		Unclaimed Unclaimed `json:"unclaimed"`
	}
	return len(raw) > 0 && json.Unmarshal(raw, &n) == nil && n.Unclaimed.Contains(i.attribute)
}
