package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// TestResumedDeployment: an apply that continues a host installs what the plan says, also if
// the lines were removed from the configuration.
func TestResumedDeployment(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	members := map[string]attr.Value{
		"type": types.StringValue("lvm"), "root_disk": types.StringNull(), "root_size_gb": types.Int64Null(), "volume_size_gb": types.Int64Null(), "cache_mode": types.StringNull(),
	}
	planned := hostModel{Deploy: values.EncodeObject(t.Context(), values.DeploymentType, values.Deployment{
		Image: texttype.ImageType.FromText("custom/noble"), Kernel: types.StringValue("ga-24.04"), StorageLayout: types.ObjectValueMust(values.StorageLayoutType.AttrTypes, members),
	}, &diags)}
	config := hostModel{Deploy: values.EncodeObject(t.Context(), values.DeploymentType, values.Deployment{
		UserDataWO: types.StringValue("#cloud-config\n"), StorageLayout: types.ObjectNull(values.StorageLayoutType.AttrTypes),
	}, &diags)}
	want := &engine.Deployment{Image: "custom/noble", Kernel: "ga-24.04", UserData: []byte("#cloud-config\n"), Storage: &engine.StorageLayout{Type: "lvm"}}
	if diff := cmp.Diff(want, planned.plannedDeployment(t.Context(), config, &diags)); diff != "" || diags.HasError() {
		t.Errorf("%v\ndeployed (-want +got):\n%s", providertest.DescribeDiagnostics(diags), diff)
	}
}
