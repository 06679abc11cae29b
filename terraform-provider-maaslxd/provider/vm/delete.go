package vm

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// Delete deletes the VM, whatever its state. If it is gone already, that is no error.
func (r *vmResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state vmModel
	r.client.Run.BeginApply()
	diags := &resp.Diagnostics
	diags.Append(req.State.Get(ctx, &state)...)
	n := readPrivateState(ctx, req.Private, diags)
	wait, cancel := values.WithTimeout(ctx, state.Timeouts.Delete, deleteTimeout, diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	if values.RefuseDestroy("VM "+state.Name.ValueString(), state.Protection.ValueBool(), diags); diags.HasError() {
		return // Terraform makes no plan of a tainted VM, so this is checked here
	}
	err := r.remove(wait, r.ref(state, n), n.MAAS)
	if err != nil && !diagnostics.IsObjectGone(err) {
		diagnostics.ReportDelete(wait, diags, fmt.Sprintf("delete VM %s (%s)", state.Name.ValueString(), state.ID.ValueString()), "VM "+state.Name.ValueString(), "is not gone yet", err)
	}
}

// remove deletes a VM in the MAAS of this mark.
func (r *vmResource) remove(ctx context.Context, ref engine.Ref, mark string) error {
	b, err := r.client.Backend()
	if err != nil {
		return err
	}
	if _, err := b.RequireSameMAAS(ctx, mark); err != nil {
		return err
	}
	_, err = client.WaitAndLog(ctx, "VM "+ref.Name, func(ctx context.Context) (engine.Result[engine.VM], error) {
		return b.VMs.Delete(ctx, ref)
	})
	return err
}
