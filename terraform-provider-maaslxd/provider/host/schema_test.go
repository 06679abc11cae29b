package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/host/network"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

func TestSchemaImplementation(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if diags := hostSchema(ctx).ValidateImplementation(ctx); diags.HasError() {
		t.Error(providertest.DescribeDiagnostics(diags))
	}
	if diags := hostIdentitySchema().ValidateImplementation(ctx); diags.HasError() {
		t.Error(providertest.DescribeDiagnostics(diags))
	}
}

// TestModelTypes holds the Go types of nested attributes to the schema's.
func TestModelTypes(t *testing.T) {
	t.Parallel()
	attributes := hostSchema(t.Context()).Attributes
	for name, want := range map[string]interface{ String() string }{
		"lxd": lxdType, "network": network.Type, "deploy": values.DeploymentType, "cores": amountType, "memory_mib": amountType,
		"storage_pools": types.MapType{ElemType: storagePoolType},
	} {
		if diff := cmp.Diff(attributes[name].GetType().String(), want.String()); diff != "" {
			t.Errorf("%s (-schema +model):\n%s", name, diff)
		}
	}
}
