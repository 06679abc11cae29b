package host

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// UpgradeState reads the states of earlier versions of the provider.
func (r *hostResource) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	return map[int64]resource.StateUpgrader{0: {StateUpgrader: upgradeStateV0}}
}

// upgradeStateV0 reads a state of version 0. There, address was both the configured address,
// and the one where the LXD of any host listens.
func upgradeStateV0(ctx context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse) {
	const failed = "Cannot read the state of the VM host"
	var state map[string]any
	if err := json.Unmarshal(req.RawState.JSON, &state); err != nil {
		resp.Diagnostics.AddError(failed, err.Error())
		return
	}
	state["lxd_address"] = state["address"]
	if state["machine"] != nil || state["selector"] != nil {
		state["address"] = nil
	}
	upgraded, err := json.Marshal(state)
	if err != nil {
		resp.Diagnostics.AddError(failed, err.Error())
		return
	}
	raw, err := (&tfprotov6.RawState{JSON: upgraded}).Unmarshal(hostSchema(ctx).Type().TerraformType(ctx))
	if err != nil {
		resp.Diagnostics.AddError(failed, err.Error())
		return
	}
	resp.State.Raw = raw
}
