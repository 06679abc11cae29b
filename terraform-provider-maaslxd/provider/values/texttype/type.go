// Package texttype has types of texts that have several spellings: images, addresses, subnets.
// Two spellings of one value are semantically equal.
//
// The framework checks semantic equality after a create, a read and an update, and keeps the
// former spelling there. It does not check it when it plans (terraform-plugin-framework,
// fwserver/server_planresourcechange.go), so each attribute has the plan modifier KeepSpelling
// as well.
package texttype

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// textKind holds the rules of one type.
type textKind interface {
	// name of the type, for messages of the framework.
	name() string
	// equivalent tells whether two different texts mean the same value.
	equivalent(a, b string) bool
	// canonical is the standard spelling of a text, as far as the text alone decides it.
	canonical(text string) string
	// problemOf returns the problem of a text with a way out, or "". It must accept all texts
	// that MAAS may return: Terraform cannot read a state with a refused value.
	problemOf(text string) string
}

// Type is a type of texts with several spellings.
type Type[K textKind] struct{ basetypes.StringType }

// Equal tells whether both are the same type.
func (t Type[K]) Equal(o attr.Type) bool {
	_, ok := o.(Type[K])
	return ok
}

// String names the type.
func (Type[K]) String() string {
	var k K
	return "texttype." + k.name()
}

// ValueType is a value of the type.
func (Type[K]) ValueType(context.Context) attr.Value { return Value[K]{} }

// ValueFromString makes a value of a plain text.
func (Type[K]) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Value[K]{in}, nil
}

// ValueFromTerraform converts a value of Terraform.
func (t Type[K]) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	v, err := t.StringType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	text, ok := v.(basetypes.StringValue)
	if !ok {
		return nil, fmt.Errorf("a string has the type %T", v)
	}
	return Value[K]{text}, nil
}

// FromText is a known value; null for "".
func (Type[K]) FromText(text string) Value[K] {
	if text == "" {
		return Value[K]{basetypes.NewStringNull()}
	}
	return Value[K]{basetypes.NewStringValue(text)}
}

// NewUnknown is a value that is not known yet.
func (Type[K]) NewUnknown() Value[K] { return Value[K]{basetypes.NewStringUnknown()} }

// MeansSame tells whether two texts mean the same value.
func (Type[K]) MeansSame(a, b string) bool {
	var k K
	return a == b || a != "" && b != "" && k.equivalent(a, b)
}

// KeepSpelling plans the state's spelling if the configuration has another spelling of the
// same value.
func (Type[K]) KeepSpelling() planmodifier.String { return keepSpellingModifier[K]{} }

// Value is a text. The zero value is null.
type Value[K textKind] struct{ basetypes.StringValue }

// Type is the type of the value.
func (Value[K]) Type(context.Context) attr.Type { return Type[K]{} }

// Equal tells whether both are the same text.
func (v Value[K]) Equal(o attr.Value) bool {
	other, ok := o.(Value[K])
	return ok && v.StringValue.Equal(other.StringValue)
}

// Canonical is the standard spelling of the value, which MAAS and LXD use; "" for null.
func (v Value[K]) Canonical() string {
	var k K
	return k.canonical(v.ValueString())
}

// MeansSame tells whether both are null, or mean the same value. An unknown value is the same
// as no other value.
func (v Value[K]) MeansSame(other Value[K]) bool {
	switch {
	case v.IsUnknown() || other.IsUnknown():
		return false
	case v.IsNull() || other.IsNull():
		return v.IsNull() && other.IsNull()
	}
	return Type[K]{}.MeansSame(v.ValueString(), other.ValueString())
}

// StringSemanticEquals implements basetypes.StringValuableWithSemanticEquals.
func (v Value[K]) StringSemanticEquals(_ context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	other, ok := o.(Value[K])
	return ok && v.MeansSame(other), nil
}

// ValidateAttribute implements xattr.ValidateableAttribute.
func (v Value[K]) ValidateAttribute(_ context.Context, req xattr.ValidateAttributeRequest, resp *xattr.ValidateAttributeResponse) {
	var k K
	if v.IsNull() || v.IsUnknown() {
		return
	}
	if problem := k.problemOf(v.ValueString()); problem != "" {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid "+req.Path.String(), problem)
	}
}

// keepSpellingModifier is the plan modifier of KeepSpelling.
type keepSpellingModifier[K textKind] struct{}

// Description says what the modifier does.
func (keepSpellingModifier[K]) Description(context.Context) string {
	return "Another spelling of the same value changes nothing."
}

// MarkdownDescription says what the modifier does.
func (s keepSpellingModifier[K]) MarkdownDescription(ctx context.Context) string {
	return s.Description(ctx)
}

// PlanModifyString keeps the spelling of the state.
func (keepSpellingModifier[K]) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if want := (Value[K]{req.PlanValue}); !req.ConfigValue.IsNull() && !req.StateValue.IsNull() && want.MeansSame(Value[K]{req.StateValue}) {
		resp.PlanValue = req.StateValue
	}
}
