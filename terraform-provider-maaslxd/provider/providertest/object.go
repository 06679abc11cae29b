// Package providertest calls a resource over Terraform's protocol, as a CLI does, but without
// a CLI and without a MAAS. Only tests use it.
package providertest

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Object is a resource, or an object in it, in Terraform's JSON.
type Object map[string]any

// WithChanges returns a copy with some attributes changed; nil removes an attribute.
func (o Object) WithChanges(changes Object) Object {
	out := maps.Clone(o)
	maps.Copy(out, changes)
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
	return out
}

// DynamicValue is the object in the protocol's form.
func (o Object) DynamicValue(t *testing.T) *tfprotov6.DynamicValue {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return &tfprotov6.DynamicValue{JSON: raw}
}
