package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/engine"
)

// Delete takes the VM away, in whatever state it is. One that is gone already
// is no error.
func (r *vmResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state vmModel
	r.client.run.begin()
	diags := &resp.Diagnostics
	diags.Append(req.State.Get(ctx, &state)...)
	n := readNotes(ctx, req.Private, diags)
	wait, cancel := within(ctx, state.Timeouts.Delete, deleteTimeout, diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	err := r.remove(wait, r.ref(state, n), n.MAAS)
	switch {
	case err == nil || vanished(err):
	case wait.Err() != nil:
		diags.AddError(fmt.Sprintf("VM %s is not gone yet", state.Name.ValueString()),
			fmt.Sprintf("%s\n\nIt stays in the state; the next destroy goes on from here.\n\n%s",
				stoppedWaiting(wait.Err(), "timeouts.delete"), sentence(err.Error())))
	default:
		report(diags, fmt.Sprintf("delete VM %s (%s)", state.Name.ValueString(), state.ID.ValueString()), err)
	}
}

// remove deletes a VM of the MAAS of this mark.
func (r *vmResource) remove(ctx context.Context, ref engine.Ref, mark string) error {
	b, err := r.client.use()
	if err != nil {
		return err
	}
	if _, err := b.sameMAAS(ctx, mark); err != nil {
		return err
	}
	_, err = engine.Wait(ctx, func(ctx context.Context) (engine.Result[engine.VM], error) {
		return b.vms.Delete(ctx, ref)
	})
	return err
}
