package kept

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// TestAttributes: what is optional is computed as well, on all levels. What is required,
// write-only or decided otherwise stays so.
func TestAttributes(t *testing.T) {
	t.Parallel()
	text := func(optional, computed, writeOnly bool) schema.Attribute {
		return schema.StringAttribute{Optional: optional, Required: !optional && !computed, Computed: computed, WriteOnly: writeOnly}
	}
	inner := map[string]schema.Attribute{
		"optional": text(true, false, false), "required": text(false, false, false), "computed": text(false, true, false), "secret": text(true, false, true),
	}
	got := map[string]bool{}
	for name, a := range Attributes(map[string]schema.Attribute{
		"bool": schema.BoolAttribute{Optional: true}, "number": schema.Int64Attribute{Optional: true},
		"list": schema.ListAttribute{Optional: true, ElementType: types.StringType}, "map": schema.MapAttribute{Optional: true, ElementType: types.StringType},
		"object":  schema.SingleNestedAttribute{Required: true, Attributes: inner},
		"objects": schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: inner}},
		"keyed":   schema.MapNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: inner}},
	}) {
		got[name] = a.IsComputed()
		if object, ok := a.(schema.SingleNestedAttribute); ok {
			for name, member := range object.Attributes {
				got["object."+name] = member.IsComputed()
			}
		}
	}
	want := map[string]bool{
		"bool": true, "number": true, "list": true, "map": true, "objects": true, "keyed": true, "object": false,
		"object.optional": true, "object.required": false, "object.computed": true, "object.secret": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("computed (-want +got):\n%s", diff)
	}
}

func TestFalse(t *testing.T) {
	t.Parallel()
	null, yes, no := types.BoolNull(), types.BoolValue(true), types.BoolValue(false)
	cases := map[string]struct {
		reason              string
		config, state, want types.Bool
	}{
		"Create":  {"Before there was a line.", null, null, no},
		"Removed": {"A line that is removed changes nothing.", null, yes, yes},
		"Said":    {"A line is a line.", no, yes, no},
		"Unknown": {"It may be either.", types.BoolUnknown(), yes, types.BoolUnknown()},
	}
	for title, tc := range cases {
		resp := planmodifier.BoolResponse{PlanValue: tc.config}
		False().PlanModifyBool(t.Context(), planmodifier.BoolRequest{ConfigValue: tc.config, StateValue: tc.state, PlanValue: tc.config}, &resp)
		if !resp.PlanValue.Equal(tc.want) {
			t.Errorf("%s: %s\ngot %s, want %s", title, tc.reason, resp.PlanValue, tc.want)
		}
	}
}

func TestUnclaimed(t *testing.T) {
	t.Parallel()
	u := Unclaimed{"tags", "deletion_protection"}
	left := u.Without(map[string]attr.Value{"tags": types.SetValueMust(types.StringType, nil), "deletion_protection": types.BoolNull()})
	if diff := cmp.Diff(Unclaimed{"deletion_protection"}, left); diff != "" {
		t.Errorf("once tags are said (-want +got):\n%s", diff)
	}
	if !u.Has("tags") || left.Has("tags") {
		t.Error("what is left out of a copy is left out of the original, or not at all")
	}
	i := imported{"vm", "tags"}
	for raw, want := range map[string]bool{"": false, "{}": false, `{"unclaimed":["tags"]}`: true, `{"unclaimed":["x"]}`: false, `{"unclaimed":7}`: false, "no JSON": false} {
		if i.isUnclaimed([]byte(raw)) != want {
			t.Errorf("notes %q: want %t", raw, want)
		}
	}
}
