package values_test

import (
	"math/big"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// TestConformValueToType: values are converted as Terraform converts the values of attributes.
func TestConformValueToType(t *testing.T) {
	t.Parallel()
	inner := types.ObjectType{AttrTypes: map[string]attr.Type{"n": types.Int64Type, "on": types.BoolType}}
	typ := types.ObjectType{AttrTypes: map[string]attr.Type{
		"text": types.StringType, "list": types.ListType{ElemType: types.StringType}, "map": types.MapType{ElemType: inner},
	}}
	object := func(members map[string]attr.Value) types.Object {
		of := map[string]attr.Type{}
		for name, v := range members {
			of[name] = v.Type(t.Context())
		}
		return types.ObjectValueMust(of, members)
	}
	none := map[string]attr.Value{"text": types.StringNull(), "list": types.ListNull(types.StringType), "map": types.MapNull(inner)}
	with := func(name string, v attr.Value) attr.Value {
		members := map[string]attr.Value{}
		for n, v := range none {
			members[n] = v
		}
		members[name] = v
		return types.ObjectValueMust(typ.AttrTypes, members)
	}
	number := types.NumberValue
	cases := map[string]struct {
		reason string
		given  attr.Value
		want   attr.Value
		says   string
	}{
		"Nothing":    {"A missing attribute is null.", object(nil), types.ObjectValueMust(typ.AttrTypes, none), ""},
		"Dynamic":    {"An attribute of any type holds its value in a dynamic value.", types.DynamicValue(object(nil)), types.ObjectValueMust(typ.AttrTypes, none), ""},
		"Number":     {"Terraform turns a number into a text if the attribute is a text.", object(map[string]attr.Value{"text": number(big.NewFloat(4))}), with("text", types.StringValue("4")), ""},
		"Fraction":   {"Terraform turns a fraction into a text without rounding.", object(map[string]attr.Value{"text": number(big.NewFloat(0.5))}), with("text", types.StringValue("0.5")), ""},
		"Tuple":      {"Terraform reads […] as a tuple, also where a list is wanted.", object(map[string]attr.Value{"list": types.TupleValueMust([]attr.Type{types.StringType}, []attr.Value{types.StringValue("a")})}), with("list", types.ListValueMust(types.StringType, []attr.Value{types.StringValue("a")})), ""},
		"Nested":     {"Terraform reads {…} as an object, also where a map is wanted.", object(map[string]attr.Value{"map": object(map[string]attr.Value{"k": object(map[string]attr.Value{"n": types.StringValue("3")})})}), with("map", types.MapValueMust(inner, map[string]attr.Value{"k": types.ObjectValueMust(inner.AttrTypes, map[string]attr.Value{"n": types.Int64Value(3), "on": types.BoolNull()})})), ""},
		"Unknown":    {"A value that is not known yet stays unknown.", object(map[string]attr.Value{"text": types.StringUnknown()}), with("text", types.StringUnknown()), ""},
		"Typo":       {"Without an error, a misspelled attribute would have no effect.", object(map[string]attr.Value{"txt": types.StringValue("a")}), nil, `x has no attribute "txt". Known: list, map, text`},
		"NoList":     {"A single value cannot become a list.", object(map[string]attr.Value{"list": types.StringValue("a")}), nil, "x.list must be a list"},
		"NoMap":      {"A list has no keys, so it cannot become a map.", object(map[string]attr.Value{"map": types.TupleValueMust(nil, nil)}), nil, "x.map must be a map"},
		"NoText":     {"An object cannot become a text.", object(map[string]attr.Value{"text": object(nil)}), nil, "x.text must be a single value"},
		"NoNumber":   {"A word cannot become a number.", object(map[string]attr.Value{"map": object(map[string]attr.Value{"k": object(map[string]attr.Value{"n": types.StringValue("many")})})}), nil, `x.map["k"].n must be a whole number`},
		"HalfNumber": {"A number of cores is whole.", object(map[string]attr.Value{"map": object(map[string]attr.Value{"k": object(map[string]attr.Value{"n": number(big.NewFloat(0.5))})})}), nil, `x.map["k"].n must be a whole number`},
		"NoBool":     {"Terraform accepts only true and false, and not yes.", object(map[string]attr.Value{"map": object(map[string]attr.Value{"k": object(map[string]attr.Value{"on": types.StringValue("yes")})})}), nil, `x.map["k"].on must be true or false`},
		"NoObject":   {"A text has no attributes, so it cannot become an object.", types.StringValue("a"), nil, "x must be an object"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := values.ConformValue(t.Context(), "x", tc.given, typ)
			switch {
			case tc.says != "":
				if err == nil || err.Error() != tc.says {
					t.Errorf("%s\ngot %v, %v, want %q", tc.reason, got, err, tc.says)
				}
			case err != nil || !got.Equal(tc.want):
				t.Errorf("%s\ngot %v, %v, want %v", tc.reason, got, err, tc.want)
			}
		})
	}
}
