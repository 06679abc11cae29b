package machine

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

// Read updates the state from MAAS. A machine that is gone, or that somebody released, leaves
// the state, so that the plan makes it again.
func (r *machineResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state machineModel
	diags := &resp.Diagnostics
	diags.Append(req.State.Get(ctx, &state)...)
	n := readPrivateState(ctx, req.Private, diags)
	defer values.SaveSeenIdentity(ctx, resp.Identity, &state.ID, &n.MAAS, diags) // the framework wants an identity of a machine that is gone, too
	look, cancel := values.WithTimeout(ctx, state.Timeouts.Read, client.ReadTimeout, diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	object, withID := values.ObjectText("machine", state.Name, state.ID)
	doing := "read " + withID
	b := r.client.BackendForRead(object, doing, diags)
	if b == nil {
		return
	}
	r.client.Run.NoteStateRead()
	m, err := r.observe(look, b, state, &n)
	if err != nil {
		diagnostics.ReportReadOrRemove(ctx, look, resp, privateStateKey, doing, err)
		return
	}
	imported := n.isUnread()
	if n = n.withObserved(m); n.isGone(m) {
		warnReleased(object, m, diags)
		diagnostics.RemoveFromState(ctx, resp, privateStateKey)
		return
	}
	r.client.Run.NoteInState(object, state.ID.ValueString())
	n = n.withImported(imported)
	if imported {
		r.client.Owner.WarnOtherOwner("machine "+m.Hostname, n.Key, diags)
	}
	state.refreshRead(ctx, m, n, imported, diags)
	n.Protected, n.ProtectionApplied = state.Protection.ValueBool(), n.ProtectionApplied && !state.Protection.IsNull()
	diags.Append(resp.State.Set(ctx, &state)...)
	writePrivateState(ctx, resp.Private, n, diags)
}

// refreshRead updates the state with the observed machine, and warns of problems that no plan
// repairs.
func (m *machineModel) refreshRead(ctx context.Context, seen engine.BareMetal, n privateState, imported bool, diags *diag.Diagnostics) {
	m.refresh(ctx, seen, diags)
	if imported {
		m.fillImported(ctx, seen, n.Key, diags)
	}
	if n.hasLostMarks(seen) {
		diagnostics.WarnMarksLost(diags, "machine "+m.Name.ValueString(), seen.Machine, "")
	}
	warnFailed(seen, diags)
}

// observe observes the machine of a state, and records its MAAS.
func (r *machineResource) observe(ctx context.Context, b *client.Backend, state machineModel, n *privateState) (engine.BareMetal, error) {
	ref := r.ref(state, *n)
	b.NoteNamedInState(ctx, n.MAAS, ref.Key)
	m, err := b.Metal.Observe(ctx, ref)
	if err != nil && !diagnostics.IsObjectGone(err) {
		return m, err
	}
	var otherMAAS error
	ours := err == nil && (markOf(m) != "" && markOf(m) == n.Key || n.hasLostMarks(m))
	if n.MAAS, otherMAAS = b.MAASForState(ctx, n.MAAS, n.isUnread(), ours); otherMAAS != nil {
		return m, otherMAAS
	}
	return m, err
}

// warnReleased warns that somebody has released the machine.
func warnReleased(object string, m engine.BareMetal, diags *diag.Diagnostics) {
	diags.AddWarning(object+" no longer exists", fmt.Sprintf(
		"Machine %s is %s, and no longer marked as deployed for it: it was released. The plan deploys a machine again.", m.Hostname, m.StatusName))
}

// warnFailed warns of a machine that failed in MAAS, with MAAS's message.
func warnFailed(m engine.BareMetal, diags *diag.Diagnostics) {
	if m.Status.Phase() != engine.PhaseFailed {
		return
	}
	detail := "The plan leaves it alone. Look at it in MAAS; `terraform apply -replace=ADDRESS` releases it and deploys one again."
	if m.StatusMessage != "" {
		detail = fmt.Sprintf("MAAS says: %s.\n\n%s", m.StatusMessage, detail)
	}
	diags.AddWarning(fmt.Sprintf("Machine %s is in state %q", m.Hostname, m.StatusName), detail)
}
