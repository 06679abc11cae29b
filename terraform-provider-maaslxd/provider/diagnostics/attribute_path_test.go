package diagnostics_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/fleet"
)

// schemaOf is the schema of a resource of the provider.
func schemaOf(t *testing.T, name string) schema.Schema {
	t.Helper()
	for _, constructor := range provider.New("test")().Resources(t.Context()) {
		var named resource.MetadataResponse
		constructor().Metadata(t.Context(), resource.MetadataRequest{ProviderTypeName: "maaslxd"}, &named)
		if named.TypeName == name {
			var described resource.SchemaResponse
			constructor().Schema(t.Context(), resource.SchemaRequest{}, &described)
			return described.Schema
		}
	}
	t.Fatalf("the provider has no resource %s", name)
	return schema.Schema{}
}

// TestAttributePathsExist holds the names that errors are mapped to against
// the schema.
func TestAttributePathsExist(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	vm, host := schemaOf(t, "maaslxd_vm"), schemaOf(t, "maaslxd_vm_host")
	for _, field := range []string{"deploy.user_data", "deploy.image", "disks.root.pool", "interfaces.eth0.ip"} {
		if _, diags := vm.AttributeAtPath(ctx, diagnostics.AttributePath(field)); diags.HasError() {
			t.Errorf("the spec's %s is said to be at %s, where nothing is", field, diagnostics.AttributePath(field))
		}
	}
	var machines datasource.SchemaResponse
	fleet.NewMachinesSource().Schema(ctx, datasource.SchemaRequest{}, &machines)
	for field, attribute := range diagnostics.SpecFields {
		_, ofVM := vm.Attributes[attribute]
		_, ofHost := host.Attributes[attribute]
		if _, ofMachines := machines.Schema.Attributes[attribute]; !ofVM && !ofHost && !ofMachines {
			t.Errorf("the spec's %s is said to be %s, which is no attribute", field, attribute)
		}
	}
}

func TestHostFieldsAreAttributes(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, "maaslxd_vm_host")
	for field, want := range map[string]string{
		"machine":                         "machine",
		"selector.zone":                   "selector.zone",
		"project":                         "lxd.project",
		"bridge.name":                     "bridge.name",
		"deploy.user_data":                "deploy.user_data_wo",
		"lxd.channel":                     "lxd.channel",
		"lxd.storage_pools":               "lxd.storage_pools",
		"lxd.storage_pools.fast.driver":   `lxd.storage_pools["fast"].driver`,
		"lxd.storage_pools.a.b.ceph.pool": `lxd.storage_pools["a.b"].ceph.pool`,
		"lxd.networks.br0.1.ipv4_address": `lxd.networks["br0.1"].ipv4_address`,
		"lxd.project.name":                "lxd.project",
		"lxd.project.features.images":     `lxd.project_features["images"]`,
		"lxd.project.features":            "lxd.project_features",
		"lxd.project.limits.cpu":          `lxd.project_limits["cpu"]`,
		"lxd.profile.pool":                "lxd.profile.pool",
		"lxd.trusted_certificates[1]":     "lxd.trusted_certificates",
		"lxd_client_cert":                 "",
	} {
		at := diagnostics.AttributePath(field)
		if at.String() != want {
			t.Errorf("%s is at %s, want %s", field, at, want)
		}
		if _, diags := schema.TypeAtPath(t.Context(), at); want != "" && diags.HasError() {
			t.Errorf("%s is said to be at %s, where nothing is", field, at)
		}
	}
}
