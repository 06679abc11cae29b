// Package texttype has types of texts that can be written in several ways: images,
// addresses, subnets. Two ways to write one thing are semantically equal.
//
// The framework asks for semantic equality after a create, a read and an update, and keeps
// the former spelling there. It does not ask when it plans
// (terraform-plugin-framework, fwserver/server_planresourcechange.go), so each attribute has
// the plan modifier KeepSpelling as well.
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

// textKind is what tells one of the types from the others.
type textKind interface {
	// name of the type, for messages of the framework.
	name() string
	// equivalent tells whether two different texts mean one thing.
	equivalent(a, b string) bool
	// canonical is the one way to write what a text means, as far as the text tells.
	canonical(text string) string
	// problemOf says what is wrong with a text, with a way out, or "". What MAAS may tell
	// must pass: a state with a wrong value cannot be read.
	problemOf(text string) string
}

// Type is a type of texts.
type Type[K textKind] struct{ basetypes.StringType }

// Equal tells whether both are one type.
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

// ValueFromTerraform makes a value of Terraform's.
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

// FromText is a known value, null for "".
func (Type[K]) FromText(text string) Value[K] {
	if text == "" {
		return Value[K]{basetypes.NewStringNull()}
	}
	return Value[K]{basetypes.NewStringValue(text)}
}

// NewUnknown is a value that is still to be found out.
func (Type[K]) NewUnknown() Value[K] { return Value[K]{basetypes.NewStringUnknown()} }

// MeansSame tells whether two texts mean one thing.
func (Type[K]) MeansSame(a, b string) bool {
	var k K
	return a == b || a != "" && b != "" && k.equivalent(a, b)
}

// KeepSpelling plans what the state says where the configuration means the same by another
// text.
func (Type[K]) KeepSpelling() planmodifier.String { return keepSpellingModifier[K]{} }

// Value is a text. The zero value is null.
type Value[K textKind] struct{ basetypes.StringValue }

// Type is the type of the value.
func (Value[K]) Type(context.Context) attr.Type { return Type[K]{} }

// Equal tells whether both are one text.
func (v Value[K]) Equal(o attr.Value) bool {
	other, ok := o.(Value[K])
	return ok && v.StringValue.Equal(other.StringValue)
}

// Canonical is the one way to write what the value means, "" for null: that which MAAS and
// LXD use.
func (v Value[K]) Canonical() string {
	var k K
	return k.canonical(v.ValueString())
}

// MeansSame tells whether both are null, or mean one thing. What is not known is the same as
// nothing else.
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

// keepSpellingModifier is the plan modifier.
type keepSpellingModifier[K textKind] struct{}

// Description says what it does.
func (keepSpellingModifier[K]) Description(context.Context) string {
	return "Another way to write the same value changes nothing."
}

// MarkdownDescription says what it does.
func (s keepSpellingModifier[K]) MarkdownDescription(ctx context.Context) string {
	return s.Description(ctx)
}

// PlanModifyString keeps what the state says.
func (keepSpellingModifier[K]) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if want := (Value[K]{req.PlanValue}); !req.ConfigValue.IsNull() && !req.StateValue.IsNull() && want.MeansSame(Value[K]{req.StateValue}) {
		resp.PlanValue = req.StateValue
	}
}
