package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/site"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// Update changes in place what MAAS lets be changed, registers a host that MAAS
// has forgotten, and goes on with what was left unfinished. An error here
// taints nothing: the next apply goes on.
func (r *hostResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.client.Run.Begin()
	diags := &resp.Diagnostics
	u := readHostUpdate(ctx, req, diags)
	wait, cancel := values.WithTimeout(ctx, u.plan.Timeouts.Update, hostPatience(u.plan), diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	doing := fmt.Sprintf("update VM host %s (%s)", u.plan.Name.ValueString(), u.state.ID.ValueString())
	b, spec, err := r.changedSpec(ctx, u.plan, u.config, u.state, u.notes, diags)
	switch {
	case err != nil && !u.notes.Pending && onlyNoted(req): // no key is needed for that, and it may be the way out
		saveHost(ctx, &resp.State, resp.Identity, u.plan, diags)
		return
	case err != nil:
		diagnostics.Report(diags, doing, err)
		return
	}
	ref, release, err := r.holdForUpdate(wait, b, u, spec)
	if err != nil {
		diagnostics.Report(diags, doing, err)
		return
	}
	defer release()
	h, err := client.Wait(stepping(wait, spec), "VM host "+spec.Name, b.Hosts.Steps(ref, spec))
	if h.Machine.SystemID != "" {
		u.notes.MAAS = cmp.Or(b.MarkMAAS(ctx, diags), u.notes.MAAS)
	}
	if err == nil {
		u.saveFinished(ctx, spec, ref, h, resp)
		return
	}
	diagnostics.ReportUpdate(wait, diags, doing, "VM host "+spec.Name, err)
	if h.Machine.SystemID != "" {
		u.saveHalfway(ctx, spec, h, resp)
	}
}

// hostUpdate is what an update is asked for, and what is noted of the host.
type hostUpdate struct {
	plan, config, state hostState
	notes               hostNotes
}

func readHostUpdate(ctx context.Context, req resource.UpdateRequest, diags *diag.Diagnostics) hostUpdate {
	var u hostUpdate
	diags.Append(req.Plan.Get(ctx, &u.plan)...)
	diags.Append(req.Config.Get(ctx, &u.config)...)
	diags.Append(req.State.Get(ctx, &u.state)...)
	u.notes = readHostNotes(ctx, req.Private, diags)
	return u
}

// holdForUpdate refuses another MAAS than that of the state, and takes the lease of a
// host that is not finished: a create of another configuration must not take it for
// left.
func (r *hostResource) holdForUpdate(ctx context.Context, b *client.Backend, u hostUpdate, spec engine.HostSpec) (ref engine.Ref, release func(), err error) {
	if _, err := b.RequireMAAS(ctx, u.notes.MAAS); err != nil {
		return engine.Ref{}, nil, err
	}
	ref = r.ref(u.state, u.notes)
	ref.Finished = !u.notes.Pending && !u.notes.Foreign
	ref.NewKey = client.RenamedKey(ref.Key, client.HostKeyName(spec.Name))
	if ref.Finished {
		return ref, func() {}, nil
	}
	release, err = r.client.HoldLease(ctx, b, ref.Key, "VM host", spec.Name)
	return ref, release, err
}

// saveFinished saves the plan of a host that is as it is planned.
func (u hostUpdate) saveFinished(ctx context.Context, spec engine.HostSpec, ref engine.Ref, h engine.Host, resp *resource.UpdateResponse) {
	diags := &resp.Diagnostics
	u.notes.Unclaimed = u.notes.Unclaimed.Without(map[string]attr.Value{"tags": u.config.Tags})
	u.plan.trusting(ctx, u.state, spec, h, diags)
	u.plan.fill(ctx, h, diags)
	saveHost(ctx, &resp.State, resp.Identity, u.plan, diags)
	n := u.notes.finished(cmp.Or(h.Key, ref.Key), h, values.Decode[values.Deployment](ctx, u.config.Deploy, diags))
	n.Adopted = u.plan.Adopt.ValueBool()
	writeHostNotes(ctx, resp.Private, n, diags)
}

// saveHalfway makes the state say how far an update came that failed.
func (u hostUpdate) saveHalfway(ctx context.Context, spec engine.HostSpec, h engine.Host, resp *resource.UpdateResponse) {
	diags := &resp.Diagnostics
	u.state.Tags = unionTags(u.state, u.plan)
	u.state.trustingNow(u.notes, spec, h)
	u.state.refresh(ctx, h, diags)
	saveHost(ctx, &resp.State, resp.Identity, u.state, diags)
	writeHostNotes(ctx, resp.Private, u.notes.seen(h), diags)
}

// onlyNoted tells that nothing is to be changed but what the state alone notes:
// how a later destroy goes about, and for how long things are waited for.
func onlyNoted(req resource.UpdateRequest) bool {
	changes, err := req.Plan.Raw.Diff(req.State.Raw)
	return err == nil && !slices.ContainsFunc(changes, func(change tftypes.ValueDiff) bool {
		steps := change.Path.Steps()
		return len(steps) > 0 && steps[0] != tftypes.AttributeName("force_destroy") && steps[0] != tftypes.AttributeName("timeouts")
	})
}

// onlyOfMAAS tells whether an update changes nothing but what MAAS keeps of a VM
// host: no LXD is asked for that, and no key is needed.
func onlyOfMAAS(plan, state hostState) bool {
	return plan.LXD.Equal(state.LXD) && plan.DefaultStoragePool.Equal(state.DefaultStoragePool) && plan.ServerFingerprint.Equal(state.ServerFingerprint)
}

// byMAAS tells whether MAAS has the VM hosts.
func byMAAS(ctx context.Context, b *client.Backend) bool {
	chosen, err := b.Chosen(ctx)
	return err == nil && chosen == site.MAAS
}

// changedSpec is what an existing host is to be. One that carries no mark yet
// is adopted on the way.
func (r *hostResource) changedSpec(ctx context.Context, plan, config, state hostState, n hostNotes, diags *diag.Diagnostics) (*client.Backend, engine.HostSpec, error) {
	b, err := r.client.Use()
	if err != nil {
		return nil, engine.HostSpec{}, err
	}
	pair, err := pairFor(b, state, plan.trusted(ctx, new(diag.Diagnostics)))
	if _, missing := b.Key.Load(); errors.Is(missing, engine.ErrNotFound) && !n.Pending && !n.Foreign && !n.Forgotten && onlyOfMAAS(plan, state) && byMAAS(ctx, b) {
		pair, err = unknownPair, nil // nobody asks the LXD
	}
	if err != nil {
		return nil, engine.HostSpec{}, err
	}
	lxdPair := pair
	if pair == unknownPair {
		lxdPair.Certificate = standIn() // nothing is installed with it
	}
	var next []string
	if n.Pending && !n.Foreign && state.undeployed() {
		if next, err = b.Key.Next(); err != nil {
			return nil, engine.HostSpec{}, err
		}
		warnNext(&r.client.Run, b.Key, next, diags)
	}
	spec, ds := plan.spec(ctx, config, lxdPair, next)
	spec.Credentials = pair
	if spec.Machine.Deploy != nil {
		spec.Machine.Deploy = plan.planned(ctx, config, &ds)
	}
	spec.RemovedTags = values.Difference(state.tags(), spec.Tags)
	if n.Foreign {
		spec.Address, spec.Bridge = "", nil
		spec.Machine = engine.MachineSpec{Machine: state.ID.ValueString(), Adopt: true}
	}
	if ds.HasError() {
		return nil, spec, fmt.Errorf("%s: %s", ds[0].Summary(), ds[0].Detail())
	}
	return b, spec, nil
}

// unionTags keeps the tags of both the state and the plan known, so that those
// which are on the host are looked after.
func unionTags(state, plan hostState) types.Set {
	if state.Tags.IsNull() && plan.Tags.IsNull() {
		return state.Tags
	}
	return values.TagSet(append(state.tags(), values.Difference(plan.tags(), state.tags())...))
}

// hostPatience allows a host that is still on its way the time of a create.
func hostPatience(plan hostState) time.Duration {
	if plan.Status.IsUnknown() {
		return hostCreateTimeout
	}
	return hostUpdateTimeout
}
