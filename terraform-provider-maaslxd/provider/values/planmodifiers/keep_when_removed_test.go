package planmodifiers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// TestWhichAttributesKeepTheirValue: an optional attribute keeps its value when its line is
// removed, also in objects. Required, write-only and computed attributes do not keep it.
// Attributes in the elements of maps and lists do not keep it either.
func TestWhichAttributesKeepTheirValue(t *testing.T) {
	t.Parallel()
	text := func(optional, computed, writeOnly bool) schema.Attribute {
		return schema.StringAttribute{Optional: optional, Required: !optional && !computed, Computed: computed, WriteOnly: writeOnly}
	}
	inner := map[string]schema.Attribute{
		"optional": text(true, false, false), "required": text(false, false, false), "computed": text(false, true, false), "secret": text(true, false, true),
	}
	element := schema.NestedAttributeObject{Attributes: inner}
	got := map[string]bool{}
	note := func(at string, attributes map[string]schema.Attribute) {
		for name, a := range attributes {
			got[at+name] = a.IsComputed() && keepsValue(t, a)
		}
	}
	all := KeepAllWhenRemoved(map[string]schema.Attribute{
		"text": text(true, false, false), "bool": schema.BoolAttribute{Optional: true}, "number": schema.Int64Attribute{Optional: true},
		"list": schema.ListAttribute{Optional: true, ElementType: types.StringType}, "map": schema.MapAttribute{Optional: true, ElementType: types.StringType},
		"object": schema.SingleNestedAttribute{Required: true, Attributes: inner}, "optional_object": schema.SingleNestedAttribute{Optional: true, Attributes: inner},
		"objects": schema.ListNestedAttribute{Optional: true, NestedObject: element}, "keyed": schema.MapNestedAttribute{Optional: true, NestedObject: element},
	})
	note("", all)
	note("object.", all["object"].(schema.SingleNestedAttribute).Attributes)
	note("objects.", all["objects"].(schema.ListNestedAttribute).NestedObject.Attributes)
	note("keyed.", all["keyed"].(schema.MapNestedAttribute).NestedObject.Attributes)
	want := map[string]bool{
		"text": true, "bool": true, "number": true, "list": true, "map": true, "objects": true, "keyed": true, "object": false, "optional_object": true,
		"object.optional": true, "object.required": false, "object.computed": false, "object.secret": false,
		"objects.optional": false, "objects.required": false, "objects.computed": false, "objects.secret": false,
		"keyed.optional": false, "keyed.required": false, "keyed.computed": false, "keyed.secret": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// keepsValue tells whether the first plan modifier of an attribute plans the value of the
// state if the configuration has none.
func keepsValue(t *testing.T, a schema.Attribute) bool {
	t.Helper()
	text := types.StringValue("x")
	list, object := types.ListValueMust(types.StringType, []attr.Value{text}), types.ObjectValueMust(map[string]attr.Type{"x": types.StringType}, map[string]attr.Value{"x": text})
	keyed := types.MapValueMust(types.StringType, map[string]attr.Value{"x": text})
	switch a := a.(type) {
	case schema.StringAttribute:
		var resp planmodifier.StringResponse
		for _, m := range a.PlanModifiers {
			m.PlanModifyString(t.Context(), planmodifier.StringRequest{StateValue: text}, &resp)
		}
		return resp.PlanValue.Equal(text)
	case schema.BoolAttribute:
		var resp planmodifier.BoolResponse
		a.PlanModifiers[0].PlanModifyBool(t.Context(), planmodifier.BoolRequest{StateValue: types.BoolValue(true)}, &resp)
		return resp.PlanValue.ValueBool()
	case schema.Int64Attribute:
		var resp planmodifier.Int64Response
		a.PlanModifiers[0].PlanModifyInt64(t.Context(), planmodifier.Int64Request{StateValue: types.Int64Value(7)}, &resp)
		return resp.PlanValue.ValueInt64() == 7
	case schema.ListAttribute:
		return keepsList(t, a.PlanModifiers, list)
	case schema.ListNestedAttribute:
		return keepsList(t, a.PlanModifiers, list)
	case schema.MapAttribute:
		return keepsMap(t, a.PlanModifiers, keyed)
	case schema.MapNestedAttribute:
		return keepsMap(t, a.PlanModifiers, keyed)
	case schema.SingleNestedAttribute:
		var resp planmodifier.ObjectResponse
		for _, m := range a.PlanModifiers {
			m.PlanModifyObject(t.Context(), planmodifier.ObjectRequest{StateValue: object}, &resp)
		}
		return resp.PlanValue.Equal(object)
	}
	t.Fatalf("no test of %T", a)
	return false
}

func keepsList(t *testing.T, modifiers []planmodifier.List, state types.List) bool {
	t.Helper()
	var resp planmodifier.ListResponse
	for _, m := range modifiers {
		m.PlanModifyList(t.Context(), planmodifier.ListRequest{StateValue: state}, &resp)
	}
	return resp.PlanValue.Equal(state)
}

func keepsMap(t *testing.T, modifiers []planmodifier.Map, state types.Map) bool {
	t.Helper()
	var resp planmodifier.MapResponse
	for _, m := range modifiers {
		m.PlanModifyMap(t.Context(), planmodifier.MapRequest{StateValue: state}, &resp)
	}
	return resp.PlanValue.Equal(state)
}

// TestAttributesOfOtherKinds: the program panics at an attribute whose kind it does not know.
func TestAttributesOfOtherKinds(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a set is accepted, and would keep nothing")
		}
	}()
	KeepWhenRemoved(schema.SetAttribute{Optional: true, ElementType: types.StringType})
}

func TestKeepOrFalse(t *testing.T) {
	t.Parallel()
	null, yes, no := types.BoolNull(), types.BoolValue(true), types.BoolValue(false)
	cases := map[string]struct {
		reason              string
		config, state, want types.Bool
	}{
		"Create":  {"A new object has no state whose value could be kept.", null, null, no},
		"Removed": {"The value of the state is kept if the line is removed.", null, yes, yes},
		"Said":    {"A configured value replaces the value of the state.", no, yes, no},
		"Unknown": {"A configured value that is not known yet stays unknown.", types.BoolUnknown(), yes, types.BoolUnknown()},
	}
	for title, tc := range cases {
		resp := planmodifier.BoolResponse{PlanValue: tc.config}
		KeepOrFalse().PlanModifyBool(t.Context(), planmodifier.BoolRequest{ConfigValue: tc.config, StateValue: tc.state, PlanValue: tc.config}, &resp)
		if !resp.PlanValue.Equal(tc.want) {
			t.Errorf("%s: %s\ngot %s, want %s", title, tc.reason, resp.PlanValue, tc.want)
		}
	}
}

func TestUnclaimedAttributes(t *testing.T) {
	t.Parallel()
	u := Unclaimed{"tags", "deletion_protection"}
	left := u.WithoutClaimed(map[string]attr.Value{"tags": types.SetValueMust(types.StringType, nil), "deletion_protection": types.BoolNull()})
	if diff := cmp.Diff(Unclaimed{"deletion_protection"}, left); diff != "" {
		t.Errorf("after tags are configured (-want +got):\n%s", diff)
	}
	if !u.Contains("tags") || left.Contains("tags") {
		t.Error("WithoutClaimed must remove tags from the copy only")
	}
	said, none := types.SetValueMust(types.StringType, []attr.Value{types.StringValue("a")}), types.SetNull(types.StringType)
	if !u.IsClaimedBy(said, types.BoolNull()) || !u.IsClaimedBy(none, types.BoolValue(true)) || u.IsClaimedBy(none, types.BoolValue(false)) || left.IsClaimedBy(said, types.BoolNull()) {
		t.Error("want only configured tags and locks claimed, and only once")
	}
	i := importedValueModifier{"vm", "tags"}
	for raw, want := range map[string]bool{"": false, "{}": false, `{"unclaimed":["tags"]}`: true, `{"unclaimed":["x"]}`: false, `{"unclaimed":7}`: false, "no JSON": false} {
		if i.isUnclaimed([]byte(raw)) != want {
			t.Errorf("notes %q: want %t", raw, want)
		}
	}
}
