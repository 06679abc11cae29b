package host

import (
	"context"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// canonicalHost is the resource that "moved" blocks may come from.
const canonicalHost = "maas_vm_host"

// MoveState takes over the VM hosts of Canonical's provider for MAAS. Its state
// names them by their id in MAAS; the Read that follows finds the rest.
func (r *hostResource) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: moveCanonicalHost}}
}

func moveCanonicalHost(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
	if req.SourceTypeName != canonicalHost || !values.IsMoveFrom(req, values.ProvidersOfMAAS) {
		return
	}
	// Only what all its versions have is read of it.
	state, err := values.MovedStrings(req, "id")
	id, parseErr := strconv.ParseInt(state["id"], 10, 64)
	if err != nil || parseErr != nil {
		resp.Diagnostics.AddError("Cannot take over a "+canonicalHost,
			movedHostProblem(err)+" Remove it from the state with a removed block, and import it: "+hostImportUsage)
		return
	}
	resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("vm_host_id"), types.Int64Value(id))...)
}

// movedHostProblem says why a state names no VM host.
func movedHostProblem(err error) string {
	if err != nil {
		return diagnostics.Sentence(err.Error())
	}
	return "Its state does not name a VM host by a number."
}
