// Package planmodifiers makes attributes keep their values when their lines are removed.
//
// Removing a line changes nothing: the object stays as it is, and so does the state. Terraform
// lets a provider plan that only for computed attributes.
//
// An element of a map or a list is described as a whole, so nothing in it is kept. For
// example, the link {static, lan, 10.0.0.5} that becomes {auto, dmz} no longer has an address.
// Terraform would also match the elements of a list by position.
package planmodifiers

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// KeepAllWhenRemoved lets each optional attribute of a schema keep its value, also in nested
// objects.
func KeepAllWhenRemoved(attributes map[string]schema.Attribute) map[string]schema.Attribute {
	all := maps.Clone(attributes)
	for name, a := range all {
		all[name] = KeepWhenRemoved(a)
	}
	return all
}

// KeepWhenRemoved lets an attribute and its members keep their values. A computed, required or
// write-only attribute does not change, but its members keep their values.
func KeepWhenRemoved(a schema.Attribute) schema.Attribute {
	a = withKeptMembers(a)
	if !a.IsOptional() || a.IsComputed() || a.IsWriteOnly() {
		return a
	}
	switch a := a.(type) {
	case schema.StringAttribute:
		a.Computed, a.PlanModifiers = true, append(a.PlanModifiers, planmodifier.String(keepStateModifier{}))
		return a
	case schema.BoolAttribute:
		a.Computed, a.PlanModifiers = true, append(a.PlanModifiers, planmodifier.Bool(keepStateModifier{}))
		return a
	case schema.Int64Attribute:
		a.Computed, a.PlanModifiers = true, append(a.PlanModifiers, planmodifier.Int64(keepStateModifier{}))
		return a
	case schema.ListAttribute:
		a.Computed, a.PlanModifiers = true, append(a.PlanModifiers, planmodifier.List(keepStateModifier{}))
		return a
	case schema.MapAttribute:
		a.Computed, a.PlanModifiers = true, append(a.PlanModifiers, planmodifier.Map(keepStateModifier{}))
		return a
	default:
		return keepNestedWhenRemoved(a)
	}
}

// keepNestedWhenRemoved is KeepWhenRemoved for attributes with members. A type that it does
// not handle is a bug of the schema, and no test of the type would find it.
func keepNestedWhenRemoved(a schema.Attribute) schema.Attribute {
	switch a := a.(type) {
	case schema.ListNestedAttribute:
		a.Computed, a.PlanModifiers = true, append(a.PlanModifiers, planmodifier.List(keepStateModifier{}))
		return a
	case schema.MapNestedAttribute:
		a.Computed, a.PlanModifiers = true, append(a.PlanModifiers, planmodifier.Map(keepStateModifier{}))
		return a
	case schema.SingleNestedAttribute:
		a.Computed, a.PlanModifiers = true, append(a.PlanModifiers, planmodifier.Object(keepStateModifier{}))
		return a
	default:
		panic(fmt.Sprintf("kept: an attribute of the type %T cannot be kept", a))
	}
}

// withKeptMembers lets only the members of an object keep their values.
func withKeptMembers(a schema.Attribute) schema.Attribute {
	if object, ok := a.(schema.SingleNestedAttribute); ok {
		object.Attributes = KeepAllWhenRemoved(object.Attributes)
		return object
	}
	return a
}

// KeepOrFalse keeps a bool. Without a state it is false.
func KeepOrFalse() planmodifier.Bool { return keepStateModifier{fallback: types.BoolValue(false)} }

// keepStateModifier plans the value of the state if the configuration has none. Without a
// state it plans another value: false for some bools, else null.
type keepStateModifier struct{ fallback types.Bool }

// Description says what the modifier does.
func (keepStateModifier) Description(context.Context) string {
	return "Removing the line changes nothing."
}

// MarkdownDescription says what the modifier does.
func (v keepStateModifier) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// PlanModifyString keeps a text.
func (keepStateModifier) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if req.ConfigValue.IsNull() {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifyBool keeps a bool.
func (v keepStateModifier) PlanModifyBool(_ context.Context, req planmodifier.BoolRequest, resp *planmodifier.BoolResponse) {
	if !req.ConfigValue.IsNull() {
		return
	}
	if resp.PlanValue = req.StateValue; req.StateValue.IsNull() {
		resp.PlanValue = v.fallback
	}
}

// PlanModifyInt64 keeps a number.
func (keepStateModifier) PlanModifyInt64(_ context.Context, req planmodifier.Int64Request, resp *planmodifier.Int64Response) {
	if req.ConfigValue.IsNull() {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifyList keeps a list.
func (keepStateModifier) PlanModifyList(_ context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	if req.ConfigValue.IsNull() {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifyMap keeps a map.
func (keepStateModifier) PlanModifyMap(_ context.Context, req planmodifier.MapRequest, resp *planmodifier.MapResponse) {
	if req.ConfigValue.IsNull() {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifyObject keeps an object.
func (keepStateModifier) PlanModifyObject(_ context.Context, req planmodifier.ObjectRequest, resp *planmodifier.ObjectResponse) {
	if req.ConfigValue.IsNull() {
		resp.PlanValue = req.StateValue
	}
}
