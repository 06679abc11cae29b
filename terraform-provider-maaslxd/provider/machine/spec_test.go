package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/providertest"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// TestResumedDeployment: an apply that continues a machine installs what the plan says, also
// if the lines were removed from the configuration.
func TestResumedDeployment(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	layout := types.ObjectNull(values.StorageLayoutType.AttrTypes)
	with := func(d deployModel) machineModel {
		d.StorageLayout = layout
		return machineModel{Deploy: values.EncodeObject(t.Context(), deployType, d, &diags)}
	}
	planned := with(deployModel{
		Deployment: values.Deployment{Image: texttype.ImageType.FromText("custom/noble"), Kernel: types.StringValue("ga-24.04")}, Ephemeral: types.BoolValue(true), HardwareSync: types.BoolValue(true),
	})
	config := with(deployModel{Deployment: values.Deployment{UserDataWO: types.StringValue("#cloud-config\n")}})
	got := planned.changedSpec(t.Context(), config, planned, privateState{Pending: true}, &diags).Deploy
	want := &engine.Deployment{Image: "custom/noble", Kernel: "ga-24.04", UserData: []byte("#cloud-config\n"), Ephemeral: true, HardwareSync: true}
	if diff := cmp.Diff(want, got); diff != "" || diags.HasError() {
		t.Errorf("%v\ndeployed (-want +got):\n%s", providertest.DescribeDiagnostics(diags), diff)
	}
	nothing := machineModel{Deploy: types.ObjectNull(deployType.AttrTypes)}
	if diff := cmp.Diff(&engine.Deployment{UserData: []byte{}}, nothing.changedSpec(t.Context(), nothing, planned, privateState{Pending: true}, &diags).Deploy); diff != "" {
		t.Errorf("without deploy (-want +got):\n%s", diff)
	}
}
