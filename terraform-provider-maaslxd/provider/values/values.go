// Package values converts between Terraform's values and Go's, validates texts, and
// holds what the schemas of several objects have alike.
package values

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// KnownThroughout tells whether nothing in the value is still to be found out.
func KnownThroughout(ctx context.Context, v attr.Value) bool {
	raw, err := v.ToTerraformValue(ctx)
	return err == nil && raw.IsFullyKnown()
}

// OptionalID is null for 0.
func OptionalID(id int) types.Int64 {
	if id == 0 {
		return types.Int64Null()
	}
	return types.Int64Value(int64(id))
}

// IsSet tells whether a value is given and known.
func IsSet(v attr.Value) bool { return !v.IsNull() && !v.IsUnknown() }

// FillString gives a value to what the plan left open.
func FillString(v *types.String, seen string) {
	if v.IsUnknown() {
		*v = OptionalString(seen)
	}
}

// FillList gives a value to a list that the plan left open.
func FillList(v *types.List, seen []string) {
	if v.IsUnknown() {
		*v = StringList(seen)
	}
}

// OptionalString is null for "".
func OptionalString(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}
