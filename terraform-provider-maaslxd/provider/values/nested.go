package values

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// DecodeObject reads a nested object; nil if it is null or not known.
func DecodeObject[T any](ctx context.Context, o types.Object, diags *diag.Diagnostics) *T {
	if o.IsNull() || o.IsUnknown() {
		return nil
	}
	var v T
	if fillStruct(&v, o) {
		return &v
	}
	diags.Append(o.As(ctx, &v, basetypes.ObjectAsOptions{})...)
	return &v
}

// EncodeObject writes a nested object.
func EncodeObject(ctx context.Context, t types.ObjectType, v any, diags *diag.Diagnostics) types.Object {
	o, ds := types.ObjectValueFrom(ctx, t.AttrTypes, v)
	diags.Append(ds...)
	return o
}

// DecodeMap reads a map of nested objects; nil if it is null or not known.
func DecodeMap[T any](ctx context.Context, m types.Map, diags *diag.Diagnostics) map[string]T {
	if m.IsNull() || m.IsUnknown() {
		return nil
	}
	given := m.Elements()
	maps.DeleteFunc(given, func(_ string, v attr.Value) bool { return v.IsNull() || v.IsUnknown() }) // a validator refuses null elements
	if out, ok := decodeObjects[T](given); ok {
		return out
	}
	kept, ds := types.MapValue(m.ElementType(ctx), given)
	diags.Append(ds...)
	out := make(map[string]T, len(given))
	diags.Append(kept.ElementsAs(ctx, &out, false)...)
	return out
}

// decodeObjects reads objects into structs. It returns false if the framework has to do it.
func decodeObjects[T any](given map[string]attr.Value) (map[string]T, bool) {
	out := make(map[string]T, len(given))
	for name, v := range given {
		var one T
		if !decodeObject(v, &one) {
			return nil, false
		}
		out[name] = one
	}
	return out, true
}

// EncodeMap writes a map of nested objects.
func EncodeMap[T any](ctx context.Context, elem attr.Type, m map[string]T, diags *diag.Diagnostics) types.Map {
	v, d := types.MapValueFrom(ctx, elem, m)
	diags.Append(d...)
	return v
}
