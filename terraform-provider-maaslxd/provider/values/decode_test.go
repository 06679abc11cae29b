package values

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

type decodedModel struct {
	Name types.String `tfsdk:"name"`
	Size types.Int64  `tfsdk:"size"`
}

// TestDecodeState: a state is read with the same result or error as by the framework's Get.
func TestDecodeState(t *testing.T) {
	t.Parallel()
	s := schema.Schema{Attributes: map[string]schema.Attribute{
		"name": schema.StringAttribute{Required: true},
		"size": schema.Int64Attribute{Optional: true},
	}}
	kind := s.Type().TerraformType(t.Context())
	state := func(size any) tfsdk.State {
		return tfsdk.State{Schema: s, Raw: tftypes.NewValue(kind, map[string]tftypes.Value{
			"name": tftypes.NewValue(tftypes.String, "web"), "size": tftypes.NewValue(tftypes.Number, size),
		})}
	}
	cases := map[string]struct {
		reason string
		state  tfsdk.State
		into   any
		failed bool
	}{
		"Known":   {"Values of all attributes are read.", state(8), &decodedModel{}, false},
		"Null":    {"A null attribute is a null value.", state(nil), &decodedModel{}, false},
		"Unknown": {"A plan has values that are not known yet.", state(tftypes.UnknownValue), &decodedModel{}, false},
		"GoTypes": {"The model may have fields of Go's own types.", state(8), &struct {
			Name string `tfsdk:"name"`
			Size int64  `tfsdk:"size"`
		}{}, false},
		"Missing": {"It is an error if the model lacks a field for an attribute.", state(8), &struct {
			Name types.String `tfsdk:"name"`
		}{}, true},
		"Misnamed": {"It is an error if no attribute belongs to a field.", state(8), &struct {
			Name types.String `tfsdk:"name"`
			Sise types.Int64  `tfsdk:"sise"`
		}{}, true},
		"WrongType": {"It is an error if a field and its attribute have different types.", state(8), &struct {
			Name types.String `tfsdk:"name"`
			Size types.Bool   `tfsdk:"size"`
		}{}, true},
		"NoObject": {"It is an error to read the attributes of a removed resource.", tfsdk.State{Schema: s, Raw: tftypes.NewValue(kind, nil)}, &decodedModel{}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			DecodeState(t.Context(), tc.state, tc.into, &diags)
			if diags.HasError() != tc.failed {
				t.Fatalf("%s: got %v", tc.reason, diags)
			}
			got, ok := tc.into.(*decodedModel)
			if !ok || tc.failed {
				return
			}
			var want decodedModel
			if ds := tc.state.Get(t.Context(), &want); ds.HasError() || *got != want {
				t.Errorf("%s: got %v, want %v as the framework, %v", tc.reason, got, want, ds)
			}
		})
	}
}

// TestDecodeMapLeavesNulls leaves out elements that are null or unknown.
func TestDecodeMapLeavesNulls(t *testing.T) {
	t.Parallel()
	kind := types.ObjectType{AttrTypes: map[string]attr.Type{"name": types.StringType, "size": types.Int64Type}}
	root := types.ObjectValueMust(kind.AttrTypes, map[string]attr.Value{"name": types.StringValue("root"), "size": types.Int64Value(8)})
	var diags diag.Diagnostics
	got := DecodeMap[decodedModel](t.Context(), types.MapValueMust(kind, map[string]attr.Value{
		"root": root, "null": types.ObjectNull(kind.AttrTypes), "unknown": types.ObjectUnknown(kind.AttrTypes),
	}), &diags)
	want := map[string]decodedModel{"root": {types.StringValue("root"), types.Int64Value(8)}}
	if diff := cmp.Diff(want, got); diff != "" || diags.HasError() {
		t.Errorf("elements (-want +got):\n%s%v", diff, diags)
	}
}
