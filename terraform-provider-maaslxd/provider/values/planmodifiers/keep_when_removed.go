// Package planmodifiers makes attributes keep what they said when their line is removed.
//
// A line that is removed changes nothing: what the attribute describes stays as it is, and
// so does the state. Terraform lets a provider plan that only for attributes that are
// computed.
//
// An element of a map or a list is described as a whole, so nothing in it is kept. For
// example, the link {static, lan, 10.0.0.5} that becomes {auto, dmz} has no address any more.
// Terraform would also match the elements of a list by their places.
package planmodifiers

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// KeepAllWhenRemoved are those of a schema, where each optional one keeps its value, also those of
// the objects in it.
func KeepAllWhenRemoved(attributes map[string]schema.Attribute) map[string]schema.Attribute {
	all := maps.Clone(attributes)
	for name, a := range all {
		all[name] = KeepWhenRemoved(a)
	}
	return all
}

// KeepWhenRemoved is an attribute that keeps its value, and those in it. One that is computed
// already decides that itself, as one that is required or write-only does; but those in it
// keep theirs.
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

// keepNestedWhenRemoved is Attribute for those that hold others. One of another kind is a slip of
// the schema, which no test of the kind would find.
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
		panic(fmt.Sprintf("kept: an attribute of the kind %T cannot be kept", a))
	}
}

// withKeptMembers is an attribute of which only the members of an object keep their values.
func withKeptMembers(a schema.Attribute) schema.Attribute {
	if object, ok := a.(schema.SingleNestedAttribute); ok {
		object.Attributes = KeepAllWhenRemoved(object.Attributes)
		return object
	}
	return a
}

// KeepOrFalse keeps a bool, and is false before there was one.
func KeepOrFalse() planmodifier.Bool { return keepStateModifier{fallback: types.BoolValue(false)} }

// keepStateModifier plans what the state says where the configuration says nothing. Before there is a
// state it plans otherwise, which is null for all but bools.
type keepStateModifier struct{ fallback types.Bool }

// Description says what it does.
func (keepStateModifier) Description(context.Context) string {
	return "A line that is removed changes nothing."
}

// MarkdownDescription says what it does.
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
