package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// canonicalHostType is the resource that a "moved" block may name.
const canonicalHostType = "maas_vm_host"

// virshType is the type of MAAS's VM hosts without LXD.
const virshType = "virsh"

// MoveState takes over the VM hosts of Canonical's provider for MAAS. Its state has their id
// in MAAS. The Read that follows finds the rest.
func (r *hostResource) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: moveCanonicalHost}}
}

func moveCanonicalHost(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
	if req.SourceTypeName != canonicalHostType || !values.IsMoveFrom(req, values.ProvidersOfMAAS) {
		return
	}
	// It reads only the attributes that all versions have.
	state, err := values.MovedStrings(req, "id", "type", "name")
	id, parseErr := strconv.ParseInt(state["id"], 10, 64)
	switch {
	case err == nil && parseErr != nil:
		err = errors.New("its state does not have a VM host's number as id")
	case err == nil && state["type"] == virshType:
		err = fmt.Errorf("VM host %d is of the type virsh, and a maaslxd_vm_host has an LXD", id)
	}
	if err != nil {
		resp.Diagnostics.AddError("Cannot take over a "+values.MovedObjectText(req), diagnostics.Sentence(err.Error())+
			" Remove the moved block. If it is an LXD VM host of MAAS, remove it from the state with terraform state rm, and import it. "+
			hostImportUsage)
		return
	}
	resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("vm_host_id"), types.Int64Value(id))...)
	if state["name"] != "" {
		resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("name"), types.StringValue(state["name"]))...)
	}
	writePrivateState(ctx, resp.TargetPrivate, privateState{Moved: true}, &resp.Diagnostics)
}

// checkMovedHost requires that MAAS has the VM host of a moved state. If it does not, that is
// an error and not a new host: more likely the provider calls another MAAS.
func checkMovedHost(ctx context.Context, b *client.Backend, state hostModel) error {
	record, err := findUnmarkedVMHost(ctx, b, state)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return movedHostError("MAAS knows no LXD VM host with the id %d", state.VMHostID.ValueInt64())
	case err == nil && values.IsSet(state.Name) && record.Name != state.Name.ValueString():
		return movedHostError("the VM host with the id %d is %s in this MAAS, and %s in the state: perhaps this is another MAAS. If it was renamed, refresh the state with the former provider first",
			record.ID, record.Name, state.Name.ValueString())
	case err == nil && record.MachineID == "":
		return movedHostError("MAAS has never reached the LXD of VM host %s, and so knows no machine of it", record.Name)
	}
	return err
}

// movedHostError says why a VM host cannot be taken over, and the way out.
func movedHostError(format string, args ...any) error {
	return &engine.Refusal{
		Message: fmt.Sprintf(format, args...),
		Hint: "Nothing was changed. Remove the moved block to keep the " + canonicalHostType +
			" as it was. If MAAS has the VM host by another id, remove it from the state with terraform state rm, and import it. " +
			hostImportUsage,
		Err: engine.ErrConflict,
	}
}
