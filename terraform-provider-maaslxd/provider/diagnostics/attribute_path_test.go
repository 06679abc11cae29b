package diagnostics_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/datasources"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
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

// TestAttributePathsExist checks that the attributes of errors exist in the schema.
func TestAttributePathsExist(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	vm, host := schemaOf(t, "maaslxd_vm"), schemaOf(t, "maaslxd_vm_host")
	for _, field := range []fieldpath.Path{
		fieldpath.New("deploy", "user_data"), fieldpath.New("deploy", "image"), fieldpath.New("disks").Key("root").Child("pool"),
		fieldpath.New("interfaces").Key("eth0").Child("ip"), fieldpath.New("interfaces").Key("eth0").Child("addresses").Index(1).Child("ip"),
		fieldpath.New("config").Key("limits.cpu.nodes"), fieldpath.New("devices").Key("gpu0").Child("properties").Key("pci"),
	} {
		if _, diags := vm.TypeAtPath(ctx, diagnostics.AttributePath(field)); diags.HasError() {
			t.Errorf("the spec's %s is mapped to %s, which does not exist", field, diagnostics.AttributePath(field))
		}
	}
	var machines datasource.SchemaResponse
	datasources.NewMachinesSource().Schema(ctx, datasource.SchemaRequest{}, &machines)
	for _, attribute := range diagnostics.Attributes {
		_, ofVM := vm.Attributes[attribute]
		_, ofHost := host.Attributes[attribute]
		if _, ofMachines := machines.Schema.Attributes[attribute]; !ofVM && !ofHost && !ofMachines {
			t.Errorf("%s is not an attribute", attribute)
		}
	}
}

func TestHostFieldsAreAttributes(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, "maaslxd_vm_host")
	of := fieldpath.New
	for _, tc := range []struct {
		field fieldpath.Path
		want  string
	}{
		{of("machine"), "machine"},
		{of("selector", "zone"), "selector.zone"},
		{of("project"), "lxd.project"},
		{of("bridge", "name"), "bridge.name"},
		{of("deploy", "user_data"), "deploy.user_data_wo"},
		{of("lxd", "channel"), "lxd.channel"},
		{of("lxd", "storage_pools"), "lxd.storage_pools"},
		{of("lxd", "storage_pools").Key("fast").Child("driver"), `lxd.storage_pools["fast"].driver`},
		{of("lxd", "storage_pools").Key("a.b").Child("ceph", "pool"), `lxd.storage_pools["a.b"].ceph.pool`},
		{of("lxd", "networks").Key("br0.1").Child("ipv4_address"), `lxd.networks["br0.1"].ipv4_address`},
		{of("lxd", "project", "name"), "lxd.project"},
		{of("lxd", "project", "features").Key("storage.buckets"), `lxd.project_features["storage.buckets"]`},
		{of("lxd", "project", "features"), "lxd.project_features"},
		{of("lxd", "project", "limits").Key("cpu"), `lxd.project_limits["cpu"]`},
		{of("lxd", "profile", "pool"), "lxd.profile.pool"},
		{of("lxd", "trusted_certificates").Index(1), "lxd.trusted_certificates"},
		{of("network", "bridges").Key("br0.1").Child("links").Index(1).Child("ip"), `network.bridges["br0.1"].links[1].ip`},
		{of("lxd_client_cert"), ""},
		{fieldpath.Path{}, ""},
	} {
		at, want := diagnostics.AttributePath(tc.field), tc.want
		if at.String() != want {
			t.Errorf("%s is at %s, want %s", tc.field, at, want)
		}
		if _, diags := schema.TypeAtPath(t.Context(), at); want != "" && diags.HasError() {
			t.Errorf("%s is mapped to %s, which does not exist", tc.field, at)
		}
	}
}
