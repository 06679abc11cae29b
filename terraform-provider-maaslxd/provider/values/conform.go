package values

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// ConformValue converts a value to a type, as Terraform does for an attribute. Missing
// attributes become null, a tuple becomes a list, and an object becomes a map. at is the start
// of the path in an error. Functions need it: Terraform lets their objects leave no attribute
// out.
func ConformValue(ctx context.Context, at string, v attr.Value, t attr.Type) (attr.Value, error) {
	if d, ok := v.(types.Dynamic); ok {
		v = d.UnderlyingValue()
	}
	switch {
	case v == nil || v.IsNull():
		return t.ValueFromTerraform(ctx, tftypes.NewValue(t.TerraformType(ctx), nil))
	case v.IsUnknown():
		return t.ValueFromTerraform(ctx, tftypes.NewValue(t.TerraformType(ctx), tftypes.UnknownValue))
	}
	switch t := t.(type) {
	case types.ObjectType:
		return conformObject(ctx, at, v, t)
	case types.MapType:
		return conformMap(ctx, at, v, t)
	case types.ListType:
		elements, ok := elementsOf(v)
		if !ok {
			return nil, conformError(at, "a list")
		}
		for n, e := range elements {
			fit, err := ConformValue(ctx, fmt.Sprintf("%s[%d]", at, n), e, t.ElemType)
			if err != nil {
				return nil, err
			}
			elements[n] = fit
		}
		return types.ListValueMust(t.ElemType, elements), nil
	}
	return conformPrimitive(ctx, at, v, t)
}

func conformMap(ctx context.Context, at string, v attr.Value, t types.MapType) (attr.Value, error) {
	members, ok := membersOf(v)
	if !ok {
		return nil, conformError(at, "a map")
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		fit, err := ConformValue(ctx, fmt.Sprintf("%s[%q]", at, key), members[key], t.ElemType)
		if err != nil {
			return nil, err
		}
		members[key] = fit
	}
	return types.MapValueMust(t.ElemType, members), nil
}

// conformObject refuses unknown attributes, which are typing errors.
func conformObject(ctx context.Context, at string, v attr.Value, t types.ObjectType) (attr.Value, error) {
	members, ok := membersOf(v)
	if !ok {
		return nil, conformError(at, "an object")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if t.AttrTypes[name] == nil {
			return nil, fmt.Errorf("%s has no attribute %q. Known: %s", at, name, strings.Join(slices.Sorted(maps.Keys(t.AttrTypes)), ", "))
		}
	}
	fitting := make(map[string]attr.Value, len(t.AttrTypes))
	for name, of := range t.AttrTypes {
		fit, err := ConformValue(ctx, at+"."+name, members[name], of)
		if err != nil {
			return nil, err
		}
		fitting[name] = fit
	}
	return types.ObjectValueMust(t.AttrTypes, fitting), nil
}

// conformPrimitive converts as Terraform does: "4" and 4 are the same.
func conformPrimitive(ctx context.Context, at string, v attr.Value, t attr.Type) (attr.Value, error) {
	text, ok := primitiveText(v)
	if !ok {
		return nil, conformError(at, "a single value")
	}
	switch t := t.(type) {
	case basetypes.StringTypable: // this includes texttype, whose rules are also those of LXD
		fit, diags := t.ValueFromString(ctx, types.StringValue(text))
		if diags.HasError() {
			return nil, conformError(at, "a text")
		}
		return fit, nil
	case basetypes.BoolType:
		if text == "true" || text == "false" {
			return types.BoolValue(text == "true"), nil
		}
		return nil, conformError(at, "true or false")
	case basetypes.Int64Type:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return types.Int64Value(n), nil
		}
		return nil, conformError(at, "a whole number")
	}
	return nil, fmt.Errorf("%s has a type that is not accepted: %s", at, t)
}

func conformError(at, want string) error { return fmt.Errorf("%s must be %s", at, want) }

// membersOf are the members of an object or a map.
func membersOf(v attr.Value) (map[string]attr.Value, bool) {
	switch v := v.(type) {
	case types.Object:
		return v.Attributes(), true
	case types.Map:
		return v.Elements(), true
	}
	return nil, false
}

// elementsOf are the elements of a list, a set or a tuple.
func elementsOf(v attr.Value) ([]attr.Value, bool) {
	switch v := v.(type) {
	case types.List:
		return v.Elements(), true
	case types.Set:
		return v.Elements(), true
	case types.Tuple:
		return v.Elements(), true
	}
	return nil, false
}

// primitiveText is a single value as text, as Terraform writes it.
func primitiveText(v attr.Value) (string, bool) {
	switch v := v.(type) {
	case types.String:
		return v.ValueString(), true
	case types.Bool:
		return strconv.FormatBool(v.ValueBool()), true
	case types.Number:
		return wholeOrFloat(v.ValueBigFloat()), true
	}
	return "", false
}

func wholeOrFloat(f *big.Float) string {
	if f.IsInt() {
		return f.Text('f', 0)
	}
	return f.Text('g', -1)
}
