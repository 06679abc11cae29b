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
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
)

// Update changes in place what MAAS can change, registers a host that MAAS has forgotten, and
// finishes an unfinished one. An error here does not taint the host: the next apply continues.
func (r *hostResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.client.Run.BeginApply()
	diags := &resp.Diagnostics
	u := readHostUpdate(ctx, req, diags)
	wait, cancel := values.WithTimeout(ctx, u.plan.Timeouts.Update, updateTimeoutOf(u.private), diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	doing := fmt.Sprintf("update VM host %s (%s)", u.plan.Name.ValueString(), u.state.ID.ValueString())
	b, spec, err := r.changedSpec(ctx, u.plan, u.config, u.state, u.private, diags)
	switch {
	case !u.private.Pending && isStateOnlyChange(req) && (err != nil || !u.private.hasPendingWork() && !u.private.Unrecorded): // neither the key nor the LXD may be there, and this may be the way out
		u.saveStateOnly(ctx, resp)
		return
	case err != nil:
		diagnostics.ReportError(diags, doing, err)
		return
	}
	r.client.PersistAdopter(u.private.Key, diags)
	if diags.HasError() {
		return
	}
	ref, release, err := r.holdForUpdate(wait, b, u, spec)
	if err != nil {
		diagnostics.ReportError(diags, doing, err)
		return
	}
	defer release()
	h, err := client.WaitAndLog(stepContext(wait, spec), "VM host "+spec.Name, b.Hosts.Steps(ref, spec))
	u.private.MAAS = r.client.MAASAfterUpdate(ctx, h.Machine.SystemID, u.private.MAAS, diags)
	if err == nil {
		u.saveFinished(ctx, spec, ref, h, resp)
		return
	}
	diagnostics.ReportUpdateAs(wait, diags, doing, "VM host "+spec.Name+" "+updateEndText(ref), err)
	if h.Machine.SystemID != "" {
		u.saveUnfinished(ctx, spec, h, resp)
	}
}

// updateEndText says of an update whose time was up what it has not done.
func updateEndText(ref engine.Ref) string {
	if ref.Finished {
		return "is not changed yet"
	}
	return "is not finished"
}

// hostUpdate is the input of an update: state, plan, configuration and notes.
type hostUpdate struct {
	plan, config, state hostModel
	private             privateState
}

func readHostUpdate(ctx context.Context, req resource.UpdateRequest, diags *diag.Diagnostics) hostUpdate {
	var u hostUpdate
	diags.Append(req.Plan.Get(ctx, &u.plan)...)
	diags.Append(req.Config.Get(ctx, &u.config)...)
	diags.Append(req.State.Get(ctx, &u.state)...)
	u.config = unlessIgnored(u.config, u.plan)
	u.private = readPrivateState(ctx, req.Private, diags)
	return u
}

// unlessIgnored is the configuration without what ignore_changes names.
func unlessIgnored(config, plan hostModel) hostModel {
	config.Zone, config.Pool, config.Tags = values.UnlessIgnored(config.Zone, plan.Zone), values.UnlessIgnored(config.Pool, plan.Pool), values.UnlessIgnored(config.Tags, plan.Tags)
	config.CPUOvercommit, config.MemoryOvercommit = values.UnlessIgnored(config.CPUOvercommit, plan.CPUOvercommit), values.UnlessIgnored(config.MemoryOvercommit, plan.MemoryOvercommit)
	config.DefaultStoragePool = values.UnlessIgnored(config.DefaultStoragePool, plan.DefaultStoragePool)
	config.ServerFingerprint = values.UnlessIgnored(config.ServerFingerprint, plan.ServerFingerprint)
	return config
}

// holdForUpdate refuses another MAAS than that of the state, and takes the lease of an
// unfinished host. Otherwise a create of another configuration could take it over.
func (r *hostResource) holdForUpdate(ctx context.Context, b *client.Backend, u hostUpdate, spec engine.HostSpec) (ref engine.Ref, release func(), err error) {
	if _, err := b.RequireSameMAAS(ctx, u.private.MAAS); err != nil {
		return engine.Ref{}, nil, err
	}
	ref = r.ref(u.state, u.private)
	ref.Finished = !u.private.Pending && !u.private.Foreign
	ref.NewKey = client.KeyAfterRename(ref.Key, client.HostKeyName(spec.Name))
	if ref.Finished {
		return ref, func() {}, nil
	}
	release, err = r.client.HoldLease(ctx, b, ref.Key, "VM host", spec.Name)
	return ref, release, err
}

// saveStateOnly saves the plan of an update that calls nobody.
func (u hostUpdate) saveStateOnly(ctx context.Context, resp *resource.UpdateResponse) {
	diags := &resp.Diagnostics
	u.plan.Status = u.state.Status
	saveState(ctx, &resp.State, resp.Identity, u.plan, diags)
	u.private.Unclaimed = u.unclaimed()
	writePrivateState(ctx, resp.Private, u.private, diags)
}

// unclaimed are the imported attributes that the configuration still does not set.
func (u hostUpdate) unclaimed() planmodifiers.Unclaimed {
	return u.private.Unclaimed.WithoutClaimed(map[string]attr.Value{"tags": u.config.Tags})
}

// saveFinished saves the plan of a host after a complete update.
func (u hostUpdate) saveFinished(ctx context.Context, spec engine.HostSpec, ref engine.Ref, h engine.Host, resp *resource.UpdateResponse) {
	diags := &resp.Diagnostics
	u.private.Unclaimed = u.unclaimed()
	u.plan.fillTrustedFingerprints(ctx, u.state, spec, h, diags)
	u.plan.fill(ctx, h, diags)
	saveState(ctx, &resp.State, resp.Identity, u.plan, diags)
	n := u.private.afterUpdate(cmp.Or(h.Key, ref.Key), h, values.DecodeObject[values.Deployment](ctx, u.config.Deploy, diags))
	n.Adopted = u.plan.Adopt.ValueBool()
	writePrivateState(ctx, resp.Private, n, diags)
}

// saveUnfinished records in the state how far a failed update came.
func (u hostUpdate) saveUnfinished(ctx context.Context, spec engine.HostSpec, h engine.Host, resp *resource.UpdateResponse) {
	diags := &resp.Diagnostics
	u.state.Tags = unionTags(u.state, u.plan)
	u.state.fillDeployedFingerprints(u.private, spec, h)
	u.state.refresh(ctx, h, diags)
	saveState(ctx, &resp.State, resp.Identity, u.state, diags)
	writePrivateState(ctx, resp.Private, u.private.withObserved(h), diags)
}

// stateOnlyAttributes are attributes whose change calls nobody. The status is unknown in the plan
// of a VM host that is recorded again.
var stateOnlyAttributes = []tftypes.AttributePathStep{
	tftypes.AttributeName("force_destroy"), tftypes.AttributeName("timeouts"), tftypes.AttributeName("status"),
}

// isStateOnlyChange tells whether the update changes only the state: how a later destroy
// proceeds, and the timeouts.
func isStateOnlyChange(req resource.UpdateRequest) bool {
	changes, err := req.Plan.Raw.Diff(req.State.Raw)
	return err == nil && !slices.ContainsFunc(changes, func(change tftypes.ValueDiff) bool {
		steps := change.Path.Steps()
		return len(steps) > 0 && !slices.Contains(stateOnlyAttributes, steps[0])
	})
}

// isMAASOnlyChange tells whether an update changes only MAAS's record of a VM host. That calls
// no LXD and needs no key.
func isMAASOnlyChange(plan, state hostModel) bool {
	return plan.LXD.Equal(state.LXD) && plan.DefaultStoragePool.Equal(state.DefaultStoragePool) && plan.ServerFingerprint.Equal(state.ServerFingerprint)
}

// isComposedByMAAS tells whether MAAS has the VM hosts.
func isComposedByMAAS(ctx context.Context, b *client.Backend) bool {
	chosen, err := b.ChosenComposer(ctx)
	return err == nil && chosen == site.MAAS
}

// changedSpec is the spec of an existing host after the change. A host without a mark is
// adopted on the way.
func (r *hostResource) changedSpec(ctx context.Context, plan, config, state hostModel, n privateState, diags *diag.Diagnostics) (*client.Backend, engine.HostSpec, error) {
	b, err := r.client.Backend()
	if err != nil {
		return nil, engine.HostSpec{}, err
	}
	pair, err := keyPairFor(b, state, plan.trustedCertificates(ctx, new(diag.Diagnostics)))
	if _, missing := b.Key.Load(); errors.Is(missing, engine.ErrNotFound) && !n.hasPendingWork() && isMAASOnlyChange(plan, state) && isComposedByMAAS(ctx, b) {
		pair, err = unknownKeyPair, nil // nothing calls the LXD
	}
	if err != nil {
		return nil, engine.HostSpec{}, err
	}
	lxdPair := pair
	if pair == unknownKeyPair {
		lxdPair.Certificate = placeholderCertificate() // it is not used for an installation
	}
	var next []string
	if n.Pending && !n.Foreign && state.hasNoTrustedFingerprint() {
		if next, err = b.Key.NextCertificates(); err != nil {
			return nil, engine.HostSpec{}, err
		}
		warnNextKeyPair(&r.client.Run, b.Key, next, diags)
	}
	spec, ds := plan.spec(ctx, config, lxdPair, next)
	spec.Credentials = pair
	if spec.Machine.Deploy != nil {
		spec.Machine.Deploy = plan.plannedDeployment(ctx, config, &ds)
	}
	spec.RemovedTags, spec.AcceptSilentLXD = values.Difference(state.tags(), spec.Tags), true
	if n.Foreign {
		spec.Address, spec.Bridge = "", nil
		spec.Machine = engine.MachineSpec{Machine: state.ID.ValueString(), Adopt: true}
	}
	if ds.HasError() {
		return nil, spec, fmt.Errorf("%s: %s", ds[0].Summary(), ds[0].Detail())
	}
	return b, spec, nil
}

// unionTags are the tags of both the state and the plan, so that the state knows all that may
// be on the host.
func unionTags(state, plan hostModel) types.Set {
	if state.Tags.IsNull() && plan.Tags.IsNull() {
		return state.Tags
	}
	return values.TagSet(append(state.tags(), values.Difference(plan.tags(), state.tags())...))
}

// updateTimeoutOf gives an unfinished host the time of a create.
func updateTimeoutOf(n privateState) time.Duration {
	if n.hasPendingWork() {
		return hostCreateTimeout
	}
	return hostUpdateTimeout
}
