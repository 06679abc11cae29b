package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/engine"
)

// Read makes the state say what MAAS says. A host whose machine is gone, or was
// released, leaves the state, so that the plan makes it again.
func (r *hostResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state hostState
	diags := &resp.Diagnostics
	diags.Append(req.State.Get(ctx, &state)...)
	saveIdentity(ctx, resp.Identity, state.ID.ValueString(), diags) // the framework wants one of a host that is gone, too
	look, cancel := within(ctx, state.Timeouts.Read, readTimeout, diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	b, err := r.client.use()
	if errors.Is(err, errUnknownConfig) {
		diags.AddWarning(fmt.Sprintf("VM host %s was not looked at", state.Name.ValueString()),
			"The provider's configuration depends on something that is not made yet, so the plan is based on the last known state.")
		return
	}
	doing := fmt.Sprintf("read VM host %s (%s)", state.Name.ValueString(), state.ID.ValueString())
	if err != nil {
		report(diags, doing, err)
		return
	}
	r.client.run.reads()
	n := readHostNotes(ctx, req.Private, diags)
	b.named(look, r.ref(state, n).Key)
	r.client.run.trusts(state.Name.ValueString(), state.Fingerprint.ValueString())
	if n.MAAS, err = b.knownMAAS(look, n.MAAS, n.Key == "" && !n.Foreign); err != nil {
		report(diags, doing, err)
		return
	}
	h, err := r.look(look, b, state, n)
	switch {
	case vanished(err):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		report(diags, doing, err)
		return
	}
	first := n.Key == "" && !n.Foreign
	if n = n.seen(h); n.gone(h) {
		diags.AddWarning(fmt.Sprintf("VM host %s is not there any more", state.Name.ValueString()), fmt.Sprintf(
			"Machine %s is %s, and no longer marked as deployed for it: someone has released it. The host is planned to be made anew.",
			h.Machine.Hostname, h.Machine.StatusName))
		resp.State.RemoveResource(ctx)
		return
	}
	state.refresh(ctx, h, diags)
	if first {
		n.Imported = true
		state.imported(ctx, h, endpointOf(look, b, h, diags), n.Foreign, diags)
	}
	warnHostFailed(h, diags)
	saveHost(ctx, &resp.State, resp.Identity, state, diags)
	writeHostNotes(ctx, resp.Private, n, diags)
}

// look observes the host of a state. One that carries no mark is found by its
// machine, or by its id in MAAS.
func (r *hostResource) look(ctx context.Context, b *backend, state hostState, n hostNotes) (engine.Host, error) {
	ref := r.ref(state, n)
	record, err := unmarkedRecord(ctx, b, state)
	if ref.SystemID == "" {
		if err != nil {
			return engine.Host{}, err
		}
		ref.SystemID = record.MachineID
	}
	h, lookErr := b.hosts.Observe(ctx, ref)
	if lookErr == nil && h.VMHost.HostKey == "" && h.Key == "" && err == nil {
		h.VMHost = record
	}
	return h, lookErr
}

// unmarkedRecord finds the VM host of a state without the engine's marks: by
// its id, or as the only one on its machine.
func unmarkedRecord(ctx context.Context, b *backend, state hostState) (engine.VMHost, error) {
	all, err := b.composer.Hosts(ctx)
	if err != nil {
		return engine.VMHost{}, err
	}
	var on []engine.VMHost
	for _, v := range all {
		if set(state.VMHostID) && int64(v.ID) == state.VMHostID.ValueInt64() {
			return v, nil
		}
		if v.MachineID != "" && v.MachineID == state.ID.ValueString() {
			on = append(on, v)
		}
	}
	if len(on) != 1 {
		return engine.VMHost{}, fmt.Errorf("MAAS has %d VM hosts on machine %s: %w", len(on), state.ID.ValueString(), engine.ErrNotFound)
	}
	return on[0], nil
}

// endpointOf says how MAAS reaches the LXD of a host that is imported.
func endpointOf(ctx context.Context, b *backend, h engine.Host, diags *diag.Diagnostics) engine.Endpoint {
	if h.VMHost.HostKey == "" {
		return engine.Endpoint{}
	}
	e, err := b.registrar.Endpoint(ctx, h.VMHost)
	if err != nil {
		report(diags, "read how MAAS reaches VM host "+h.VMHost.Name, err)
	}
	return e
}

// warnHostFailed passes on what MAAS says of a machine that it gave up.
func warnHostFailed(h engine.Host, diags *diag.Diagnostics) {
	if h.Machine.Status.Phase() != engine.PhaseFailed {
		return
	}
	detail := "It is left alone. Look at it in MAAS; `terraform apply -replace=ADDRESS` makes the host anew."
	if h.Machine.StatusMessage != "" {
		detail = fmt.Sprintf("MAAS says: %s.\n\n%s", h.Machine.StatusMessage, detail)
	}
	diags.AddWarning(fmt.Sprintf("Machine %s is in state %q", h.Machine.Hostname, h.Machine.StatusName), detail)
}
