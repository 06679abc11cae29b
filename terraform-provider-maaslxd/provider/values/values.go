// Package values converts between Terraform's values and Go's, and validates texts. It also
// has the parts of schemas that several resources share.
package values

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// IsFullyKnown tells whether all parts of the value are known.
func IsFullyKnown(ctx context.Context, v attr.Value) bool {
	raw, err := v.ToTerraformValue(ctx)
	return err == nil && raw.IsFullyKnown()
}

// IsWellFormed tells whether the types accept all values of a configuration. The framework
// reports those that they refuse, and other checks must wait.
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

// ObjectTitle names an object for a message: its kind and name. In a configuration the name may
// be unknown.
func ObjectTitle(kind string, name types.String) string {
	if !IsSet(name) {
		return "the " + kind
	}
	return kind + " " + name.ValueString()
}

// OptionalID is null for 0.
func OptionalID(id int) types.Int64 {
	if id == 0 {
		return types.Int64Null()
	}
	return types.Int64Value(int64(id))
}

// IsSet tells whether a value is not null and known.
func IsSet(v attr.Value) bool { return !v.IsNull() && !v.IsUnknown() }

// UnlessIgnored is a value of the configuration, or of the plan if ignore_changes names it. Then only
// the plan keeps the former value: an apply gets the configuration as it is written.
func UnlessIgnored[T attr.Value](config, plan T) T {
	if config.IsNull() || plan.IsUnknown() {
		return config
	}
	return plan
}

// FillString sets an unknown text.
func FillString(v *types.String, seen string) {
	if v.IsUnknown() {
		*v = OptionalString(seen)
	}
}

// FillList sets an unknown list.
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

// ObjectText names an object of a state in messages, alone and with its system id: "VM web-1" and
// "VM web-1 (4y3h7n)". An import has no name yet, and a moved state may have no id: then both are
// the same.
func ObjectText(noun string, name, id types.String) (short, withID string) {
	named := noun + " " + cmp.Or(name.ValueString(), id.ValueString())
	if name.ValueString() == "" || id.ValueString() == "" {
		return named, named
	}
	return named, named + " (" + id.ValueString() + ")"
}
