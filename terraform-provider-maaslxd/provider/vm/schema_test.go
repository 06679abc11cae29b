package vm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
)

func TestSchemaImplementation(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if diags := vmSchema(ctx).ValidateImplementation(ctx); diags.HasError() {
		t.Error(providertest.DescribeDiagnostics(diags))
	}
	if diags := vmIdentitySchema().ValidateImplementation(ctx); diags.HasError() {
		t.Error(providertest.DescribeDiagnostics(diags))
	}
}

// TestModelTypes holds the Go types of nested attributes to the schema's.
func TestModelTypes(t *testing.T) {
	t.Parallel()
	attributes := vmSchema(t.Context()).Attributes
	for name, want := range map[string]interface{ String() string }{
		"disks":      types.MapType{ElemType: diskType},
		"interfaces": types.MapType{ElemType: interfaceType},
		"deploy":     deployType,
		"placement":  placementType,
	} {
		if diff := cmp.Diff(attributes[name].GetType().String(), want.String()); diff != "" {
			t.Errorf("%s (-schema +model):\n%s", name, diff)
		}
	}
}
