package host

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// Delete makes MAAS forget the VM host and release its machine, unless someone else deployed
// that. If it is gone already, that is no error.
func (r *hostResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state hostModel
	r.client.Run.BeginApply()
	diags := &resp.Diagnostics
	diags.Append(req.State.Get(ctx, &state)...)
	n := readPrivateState(ctx, req.Private, diags)
	wait, cancel := values.WithTimeout(ctx, state.Timeouts.Delete, hostDeleteTimeout, diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	ref := r.ref(state, n)
	ref.Release = state.releaseSpec(ctx, diags)
	err := r.remove(wait, ref, state, n)
	if err != nil && !diagnostics.IsObjectGone(err) {
		diagnostics.ReportDelete(wait, diags, fmt.Sprintf("delete VM host %s (%s)", state.Name.ValueString(), state.ID.ValueString()), "VM host "+state.Name.ValueString(), "is not gone yet", err)
	}
}

func (r *hostResource) remove(ctx context.Context, ref engine.Ref, state hostModel, n privateState) error {
	b, err := r.client.Backend()
	if err != nil {
		return err
	}
	if _, err := b.RequireSameMAAS(ctx, n.MAAS); err != nil {
		return err
	}
	unmarked := n.Foreign
	if n.MarksLost && !n.Foreign { // it may have been released since the refresh
		h, err := b.Hosts.Observe(ctx, ref)
		if err != nil {
			return err
		}
		unmarked = n.hasLostMarks(state, h)
	}
	if unmarked { // without the mark, the provider would not know its own objects
		_, spec, err := r.changedSpec(ctx, state, hostModel{}, state, n, new(diag.Diagnostics))
		if err != nil {
			return err
		}
		spec.RemovedTags = nil
		if _, err := client.WaitAndLog(ctx, "VM host "+ref.Name, b.Hosts.Steps(ref, spec)); err != nil {
			return err
		}
	}
	// The provider asks the LXD for VMs that MAAS does not know, if the key opens it.
	if key, err := b.Key.Load(); err == nil && state.checkTrustsKey(key) == nil {
		ref.Release.Credentials = key.Credentials
	}
	return removeHost(ctx, b, ref)
}
