package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

func TestSchemaImplementation(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if diags := machineSchema(ctx).ValidateImplementation(ctx); diags.HasError() {
		t.Error(providertest.DescribeDiagnostics(diags))
	}
	if diags := machineIdentitySchema().ValidateImplementation(ctx); diags.HasError() {
		t.Error(providertest.DescribeDiagnostics(diags))
	}
}

// TestModelTypes: the Go types of nested attributes match the types of the schema.
func TestModelTypes(t *testing.T) {
	t.Parallel()
	attributes := machineSchema(t.Context()).Attributes
	for name, want := range map[string]interface{ String() string }{
		"deploy": deployType, "interfaces": types.MapType{ElemType: interfaceType},
	} {
		if diff := cmp.Diff(attributes[name].GetType().String(), want.String()); diff != "" {
			t.Errorf("%s (-schema +model):\n%s", name, diff)
		}
	}
}
