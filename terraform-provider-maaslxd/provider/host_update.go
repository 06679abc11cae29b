package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/site"
)

// Update changes in place what MAAS lets be changed, registers a host that MAAS
// has forgotten, and goes on with what was left unfinished. An error here
// taints nothing: the next apply goes on.
func (r *hostResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, config, state hostState
	r.client.run.begin()
	diags := &resp.Diagnostics
	diags.Append(req.Plan.Get(ctx, &plan)...)
	diags.Append(req.Config.Get(ctx, &config)...)
	diags.Append(req.State.Get(ctx, &state)...)
	n := readHostNotes(ctx, req.Private, diags)
	wait, cancel := within(ctx, plan.Timeouts.Update, hostPatience(plan), diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	doing := fmt.Sprintf("update VM host %s (%s)", plan.Name.ValueString(), state.ID.ValueString())
	b, spec, err := r.changedSpec(ctx, plan, config, state, n, diags)
	switch {
	case err != nil && !n.Pending && onlyNoted(req): // no key is needed for that, and it may be the way out
		saveHost(ctx, &resp.State, resp.Identity, plan, diags)
		return
	case err != nil:
		report(diags, doing, err)
		return
	}
	if _, err := b.sameMAAS(wait, n.MAAS); err != nil {
		report(diags, doing, err)
		return
	}
	ref := r.ref(state, n)
	ref.Finished = !n.Pending && !n.Foreign
	ref.NewKey = renamed(ref.Key, hostKeyName(spec.Name))
	if !ref.Finished { // a create of another configuration must not take it for left
		release, err := r.client.hold(wait, b, ref.Key, "VM host", spec.Name)
		if err != nil {
			report(diags, doing, err)
			return
		}
		defer release()
	}
	h, err := engine.Wait(stepping(wait, spec), b.hosts.Steps(ref, spec))
	if h.Machine.SystemID != "" {
		n.MAAS = cmp.Or(b.markMAAS(ctx, diags), n.MAAS)
	}
	switch {
	case err == nil:
		plan.trusting(ctx, state, spec, h, diags)
		plan.fill(ctx, h, diags)
		saveHost(ctx, &resp.State, resp.Identity, plan, diags)
		writeHostNotes(ctx, resp.Private, n.finished(cmp.Or(h.Key, ref.Key), h, decoded[hostDeployModel](ctx, config.Deploy, diags)), diags)
		return
	case wait.Err() != nil:
		diags.AddError(fmt.Sprintf("VM host %s is not finished", spec.Name),
			fmt.Sprintf("%s\n\nNothing is lost; the next apply goes on from here.%s",
				stoppedWaiting(wait.Err(), "timeouts.update"), paragraph(said(err))))
	default:
		report(diags, doing, err)
	}
	if h.Machine.SystemID != "" {
		state.Tags = unionTags(state, plan)
		state.trustingNow(n, spec, h)
		state.refresh(ctx, h, diags)
		saveHost(ctx, &resp.State, resp.Identity, state, diags)
		writeHostNotes(ctx, resp.Private, n.seen(h), diags)
	}
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
func (r *hostResource) byMAAS(ctx context.Context, b *backend) bool {
	chosen, err := b.chosen(ctx)
	return err == nil && chosen == site.MAAS
}

// changedSpec is what an existing host is to be. One that carries no mark yet
// is adopted on the way.
func (r *hostResource) changedSpec(ctx context.Context, plan, config, state hostState, n hostNotes, diags *diag.Diagnostics) (*backend, engine.HostSpec, error) {
	b, err := r.client.use()
	if err != nil {
		return nil, engine.HostSpec{}, err
	}
	pair, err := b.pairFor(state, plan.trusted(ctx, new(diag.Diagnostics)))
	if _, missing := b.key.load(); errors.Is(missing, engine.ErrNotFound) && !n.Pending && !n.Foreign && !n.Forgotten && onlyOfMAAS(plan, state) && r.byMAAS(ctx, b) {
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
		if next, err = b.key.next(); err != nil {
			return nil, engine.HostSpec{}, err
		}
		r.client.run.warnNext(b.key, next, diags)
	}
	spec, ds := plan.spec(ctx, config, lxdPair, next)
	spec.Credentials = pair
	spec.RemovedTags = removedTags(state.tags(), spec.Tags)
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
	return tagSet(append(state.tags(), removedTags(plan.tags(), state.tags())...))
}

// hostPatience allows a host that is still on its way the time of a create.
func hostPatience(plan hostState) time.Duration {
	if plan.Status.IsUnknown() {
		return hostCreateTimeout
	}
	return hostUpdateTimeout
}
