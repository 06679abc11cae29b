package machine

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// Delete releases the machine: it is Ready then, and has no owner. If it is gone already, that
// is no error.
func (r *machineResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state machineModel
	r.client.Run.BeginApply()
	diags := &resp.Diagnostics
	diags.Append(req.State.Get(ctx, &state)...)
	n := readPrivateState(ctx, req.Private, diags)
	wait, cancel := values.WithTimeout(ctx, state.Timeouts.Delete, deleteTimeout, diags)
	defer cancel()
	ref := r.ref(state, n)
	ref.Release = engine.Release{Erase: values.EraseMode(ctx, state.Release, diags)}
	if diags.HasError() {
		return
	}
	name := state.Name.ValueString()
	if values.RefuseDestroy("machine "+name, state.Protection.ValueBool(), diags); diags.HasError() {
		return // Terraform makes no plan of a tainted machine, so this is checked here
	}
	err := r.remove(wait, ref, n)
	if err != nil && !diagnostics.IsObjectGone(err) {
		diagnostics.ReportDelete(wait, diags, fmt.Sprintf("delete machine %s (%s)", name, state.ID.ValueString()), "Machine "+name, "is not released yet", err)
	}
}

// remove releases a machine in the MAAS that the notes name.
func (r *machineResource) remove(ctx context.Context, ref engine.Ref, n privateState) error {
	b, err := r.client.Backend()
	if err != nil {
		return err
	}
	if _, err := b.RequireSameMAAS(ctx, n.MAAS); err != nil {
		return err
	}
	if n.Foreign { // without the mark, the provider would not know its own machine
		if _, err := client.WaitAndLog(ctx, "machine "+ref.Name, b.Metal.Steps(ref, engine.MachineSpec{Machine: ref.SystemID, Adopt: true, TakeOwnership: true})); err != nil {
			return err
		}
	}
	return releaseMachine(ctx, b, ref)
}

func releaseMachine(ctx context.Context, b *client.Backend, ref engine.Ref) error {
	_, err := client.WaitAndLog(ctx, "machine "+ref.Name, func(ctx context.Context) (engine.Result[engine.BareMetal], error) {
		return b.Metal.Delete(ctx, ref)
	})
	return err
}
