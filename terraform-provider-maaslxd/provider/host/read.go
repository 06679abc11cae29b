package host

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
)

// Read updates the state from MAAS. If the machine is gone, or somebody released it, the host
// leaves the state, so that the plan makes it again.
func (r *hostResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state hostModel
	diags := &resp.Diagnostics
	diags.Append(req.State.Get(ctx, &state)...)
	n := readPrivateState(ctx, req.Private, diags)
	defer values.SaveSeenIdentity(ctx, resp.Identity, &state.ID, &n.MAAS, diags) // the framework wants an identity of a host that is gone, too
	look, cancel := values.WithTimeout(ctx, state.Timeouts.Read, client.ReadTimeout, diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	object, withID := values.ObjectText("VM host", state.Name, state.idInMAAS())
	b := r.client.BackendForRead(object, "read "+withID, diags)
	if b == nil {
		return
	}
	noteRead(&r.client.Run, state)
	h, err := r.observe(look, b, state, &n)
	if err != nil {
		diagnostics.ReportReadOrRemove(ctx, look, resp, privateStateKey, "read "+withID, err)
		return
	}
	first := n.Key == "" && !n.Foreign
	if n = n.notingLostMarks(object, state, h, diags).withObserved(h); n.isGone(h) {
		warnReleased(object, h, diags)
		diagnostics.RemoveFromState(ctx, resp, privateStateKey)
		return
	}
	r.client.Run.NoteInState(object, state.ID.ValueString())
	state.refresh(ctx, h, diags)
	if first {
		state.fillImported(ctx, h, readEndpoint(look, b, h, diags), n, diags)
		r.client.Owner.WarnOtherOwner("VM host "+state.Name.ValueString(), n.Key, diags)
		n.Imported, n.Moved, n.Unclaimed = true, false, planmodifiers.Unclaimed{"tags"}
	}
	n.Adopted = state.Adopt.ValueBool()
	warnHostFailed(h, diags)
	diags.Append(resp.State.Set(ctx, &state)...)
	writePrivateState(ctx, resp.Private, n, diags)
}

// noteRead records the host of a state for the plans of the run.
func noteRead(run *client.Run, state hostModel) {
	run.NoteStateRead()
	run.NoteTrustedCertificate(state.trustedCertificate())
}

// idInMAAS is the system id of the machine. A moved host has none until it is read, and then it
// is MAAS's number of the VM host.
func (m hostModel) idInMAAS() types.String {
	if !values.IsSet(m.ID) && values.IsSet(m.VMHostID) {
		return types.StringValue(strconv.FormatInt(m.VMHostID.ValueInt64(), 10))
	}
	return m.ID
}

// warnReleased warns that somebody has released the machine of a host.
func warnReleased(object string, h engine.Host, diags *diag.Diagnostics) {
	diags.AddWarning(object+" no longer exists", fmt.Sprintf(
		"Machine %s is %s, and no longer marked as deployed for it: it was released. The plan makes the host again.",
		h.Machine.Hostname, h.Machine.StatusName))
}

// notingLostMarks notes whether the host has lost its marks, and warns if so. They also said who
// installed the machine. If its allocation does not tell, the next apply adopts it.
func (n privateState) notingLostMarks(object string, state hostModel, h engine.Host, diags *diag.Diagnostics) privateState {
	if n.MarksLost = n.hasLostMarks(state, h); !n.MarksLost {
		return n
	}
	if h.Key == n.Key {
		diagnostics.WarnMarksLost(diags, object, h.Machine, "")
		return n
	}
	more := ""
	if state.deploysMachine() {
		more = "From then on a destroy leaves the machine deployed, as an adopted one: nothing in MAAS says any more who installed it."
	}
	diagnostics.WarnMarksLost(diags, object, h.Machine, more)
	n.Key, n.Foreign = "", true
	return n
}

// observe observes the host of a state, and records it and its MAAS.
func (r *hostResource) observe(ctx context.Context, b *client.Backend, state hostModel, n *privateState) (engine.Host, error) {
	if n.Moved {
		if err := checkMovedHost(ctx, b, state); err != nil {
			return engine.Host{}, err
		}
	}
	ref := r.ref(state, *n)
	b.NoteNamedInState(ctx, n.MAAS, ref.Key)
	h, err := observeHost(ctx, b, state, ref)
	if err != nil && !diagnostics.IsObjectGone(err) {
		return h, err
	}
	var otherMAAS error
	ours := err == nil && h.Key != "" && h.Key == n.Key
	if n.MAAS, otherMAAS = b.MAASForState(ctx, n.MAAS, n.Key == "" && !n.Foreign, ours); otherMAAS != nil {
		return h, otherMAAS
	}
	return h, err
}

// observeHost observes the host of a state. A host without a mark is found by its machine, or
// by its id in MAAS.
func observeHost(ctx context.Context, b *client.Backend, state hostModel, ref engine.Ref) (engine.Host, error) {
	record, err := findUnmarkedVMHost(ctx, b, state)
	if ref.SystemID == "" {
		if err != nil {
			return engine.Host{}, err
		}
		ref.SystemID = record.MachineID
	}
	h, lookErr := b.Hosts.Observe(ctx, ref)
	if lookErr == nil && h.VMHost.HostKey == "" && h.Key == "" && err == nil {
		h.VMHost = record
	}
	return h, lookErr
}

// findUnmarkedVMHost finds the VM host of a state without the engine's marks: by its id, or as
// the only one on its machine.
func findUnmarkedVMHost(ctx context.Context, b *client.Backend, state hostModel) (engine.VMHost, error) {
	all, err := b.Inventory.Hosts(ctx)
	if err != nil {
		return engine.VMHost{}, err
	}
	var on []engine.VMHost
	for _, v := range all {
		if values.IsSet(state.VMHostID) && int64(v.ID) == state.VMHostID.ValueInt64() {
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

// readEndpoint says how MAAS reaches the LXD of an imported host.
func readEndpoint(ctx context.Context, b *client.Backend, h engine.Host, diags *diag.Diagnostics) engine.Endpoint {
	if h.VMHost.HostKey == "" {
		return engine.Endpoint{}
	}
	e, err := b.Inventory.Endpoint(ctx, h.VMHost)
	if err != nil {
		diagnostics.ReportError(diags, "read how MAAS reaches VM host "+h.VMHost.Name, err)
	}
	return e
}

// warnHostFailed warns of a machine that failed in MAAS, with MAAS's message.
func warnHostFailed(h engine.Host, diags *diag.Diagnostics) {
	if h.Machine.Status.Phase() != engine.PhaseFailed {
		return
	}
	detail := "The plan leaves it alone. Look at it in MAAS; `terraform apply -replace=ADDRESS` replaces the host."
	if h.Machine.StatusMessage != "" {
		detail = fmt.Sprintf("MAAS says: %s.\n\n%s", h.Machine.StatusMessage, detail)
	}
	diags.AddWarning(fmt.Sprintf("Machine %s is in state %q", h.Machine.Hostname, h.Machine.StatusName), detail)
}
