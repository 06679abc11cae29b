package values

import (
	"context"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// DecodeState reads a whole state into a model, as its Get does, in a third of the time. A plan
// and a refresh do this for each resource.
func DecodeState(ctx context.Context, s tfsdk.State, model any, diags *diag.Diagnostics) {
	if v, err := s.Schema.Type().ValueFromTerraform(ctx, s.Raw); err == nil {
		if object, ok := v.(types.Object); ok && fillStruct(model, object) {
			return
		}
	}
	diags.Append(s.Get(ctx, model)...)
}

// fillStruct sets the fields of the struct at target to the attributes of an object. The fields
// must have the types of the attributes. If one differs, it returns false, and the framework's
// own conversion has to say why.
//
// The framework's conversion compiles a regular expression for each field of each struct (see
// docs/design/framework-performance.md).
func fillStruct(target any, object types.Object) bool {
	if object.IsNull() || object.IsUnknown() {
		return false
	}
	into, attributes := reflect.ValueOf(target).Elem(), object.Attributes()
	if into.Kind() != reflect.Struct || into.NumField() != len(attributes) {
		return false
	}
	filled := reflect.New(into.Type()).Elem()
	for i := range into.NumField() {
		field := into.Type().Field(i)
		value, ok := attributes[field.Tag.Get("tfsdk")]
		if !ok || reflect.TypeOf(value) != field.Type {
			return false
		}
		filled.Field(i).Set(reflect.ValueOf(value))
	}
	into.Set(filled)
	return true
}

// decodeObject reads a nested object into a struct.
func decodeObject(v attr.Value, target any) bool {
	object, ok := v.(types.Object)
	return ok && fillStruct(target, object)
}
