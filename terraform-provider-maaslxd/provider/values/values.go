// Package values converts between Terraform's values and Go's, validates texts, and
// holds what the schemas of several objects have alike.
package values

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// IsFullyKnown tells whether nothing in the value is still to be found out.
func IsFullyKnown(ctx context.Context, v attr.Value) bool {
	raw, err := v.ToTerraformValue(ctx)
	return err == nil && raw.IsFullyKnown()
}

// IsWellFormed tells whether the types of all values in a configuration pass them. What they
// refuse, the framework reports, and nothing else can be judged then.
func IsWellFormed(ctx context.Context, config tfsdk.Config) bool {
	v, err := config.Schema.Type().ValueFromTerraform(ctx, config.Raw)
	return err == nil && isWellFormed(ctx, v)
}

func isWellFormed(ctx context.Context, v attr.Value) bool {
	var parts []attr.Value
	switch v := v.(type) {
	case xattr.ValidateableAttribute:
		var resp xattr.ValidateAttributeResponse
		v.ValidateAttribute(ctx, xattr.ValidateAttributeRequest{}, &resp)
		return !resp.Diagnostics.HasError()
	case interface{ Attributes() map[string]attr.Value }:
		parts = slices.Collect(maps.Values(v.Attributes()))
	case interface{ Elements() map[string]attr.Value }:
		parts = slices.Collect(maps.Values(v.Elements()))
	case interface{ Elements() []attr.Value }:
		parts = v.Elements()
	}
	return !slices.ContainsFunc(parts, func(part attr.Value) bool { return !isWellFormed(ctx, part) })
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
