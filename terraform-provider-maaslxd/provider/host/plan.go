package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// ModifyPlan says what replaces the host, plans to go on with what an apply
// left unfinished, and warns early of what the key of the fleet forbids.
func (r *hostResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		r.planDestroy(ctx, req, resp)
		return
	}
	p := hostPlan{diags: &resp.Diagnostics, machine: r.client.Machine}
	if r.client != nil {
		p.run = &r.client.Run
	}
	p.diags.Append(req.Config.Get(ctx, &p.config)...)
	p.diags.Append(req.Plan.Get(ctx, &p.plan)...)
	if !req.State.Raw.IsNull() {
		p.state = new(hostState)
		p.diags.Append(req.State.Get(ctx, p.state)...)
		p.notes = hostNotesToPlan(ctx, req.Private, p.diags)
	}
	if p.diags.HasError() {
		return
	}
	if b, err := r.client.Use(); err == nil {
		p.checkKey(ctx, b)
	}
	if p.state == nil {
		checkDefaultPool(ctx, p.config, p.diags)
		p.refuseForgottenAdoption(readHostNotes(ctx, req.Private, p.diags).Adopted)
	} else {
		p.decide(ctx)
		p.diags.Append(resp.Plan.Set(ctx, &p.plan)...)
		resp.RequiresReplace = append(resp.RequiresReplace, p.replace...)
	}
	if !p.diags.HasError() {
		r.checkPlan(ctx, &p, req, resp)
	}
}

// checkPlan asks MAAS whether the plan can be applied, and tells the VMs of the run.
func (r *hostResource) checkPlan(ctx context.Context, p *hostPlan, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if p.again = r.client.NotePlanned("VM host ", p.plan.Name, p.state != nil, p.diags); p.again {
		p.notes = readHostNotes(ctx, req.Private, p.diags)
	}
	if p.state != nil && !resp.Plan.Raw.Equal(req.State.Raw) {
		r.client.CheckMAAS(ctx, p.notes.MAAS, "change VM host "+p.state.Name.ValueString(), p.diags)
	}
	if !p.diags.HasError() {
		r.check(ctx, *p)
	}
	r.tell(ctx, *p)
}

// tell says to the VMs of the run what becomes of their host.
func (r *hostResource) tell(ctx context.Context, p hostPlan) {
	if p.diags.HasError() || !r.client.CanCheckPlan() {
		return
	}
	l := leaving{name: p.plan.Name.ValueString(), replaced: true, diags: p.diags}
	switch {
	case p.state != nil && len(p.replace) > 0:
		l.forced, l.kept = p.state.ForceDestroy.ValueBool(), p.state.Adopt.ValueBool() || p.state.registers()
		r.leave(ctx, p.state.ID.ValueString(), l)
	case p.state != nil && !p.plan.Name.Equal(p.state.Name):
		r.client.Run.NoteRenamed(p.state.ID.ValueString(), p.plan.Name.ValueString())
	case p.again: // by -replace: its plan as a change replaced nothing
		l.forced, l.kept = p.plan.ForceDestroy.ValueBool(), p.plan.Adopt.ValueBool() || p.plan.registers()
		r.leave(ctx, p.notes.Machine, l)
	}
}

// hostPlan is a plan being made.
type hostPlan struct {
	config  hostState
	state   *hostState // nil for a host that is to be made
	plan    hostState
	notes   hostNotes
	replace path.Paths
	again   bool // what is to be made takes the place of what stands: the second plan of a replacement
	machine func(ctx context.Context, systemID string) (engine.Machine, error)
	run     *client.Run // nil where the provider is not configured
	// adoptKept: the line adopt was removed from an adopted host, which stays one.
	adoptKept bool
	diags     *diag.Diagnostics
}

// checkKey warns of a key that cannot be used for this host, and plans to hand
// over one that is new to MAAS. It is no error yet, because Terraform makes a
// plan of the configuration before it destroys, too.
func (p *hostPlan) checkKey(ctx context.Context, b *client.Backend) {
	key, err := b.Key.Load()
	switch {
	case errors.Is(err, engine.ErrNotFound) && p.state == nil && b.LedgerIsNoFile():
		_, err = b.Key.LoadOrCreate(func() error { return nil }) // says why not
	case errors.Is(err, engine.ErrNotFound) && p.state != nil:
		p.warnKeyLost(err)
		return
	case errors.Is(err, engine.ErrNotFound): // it is made when the host is
		if err = client.AutomationError(); err == nil {
			look, cancel := context.WithTimeout(ctx, client.CheckTimeout)
			defer cancel()
			if err = otherFleetError(look, b, p.run); err != nil && !errors.Is(err, engine.ErrForbidden) {
				err = nil // the apply looks again
			}
		}
	}
	if err == nil && p.state == nil {
		err = b.Key.MayTravel()
	}
	if err == nil && p.state != nil {
		err = p.state.trustsKey(key, p.plan.trusted(ctx, p.diags)...)
	}
	if err != nil {
		p.diags.AddWarning(fmt.Sprintf("VM host %s cannot be made or changed", p.plan.Name.ValueString()), diagnostics.Explain(err))
		return
	}
	warnExpiry(key, p.diags)
	if p.state != nil && values.IsSet(p.state.Fingerprint) && p.state.Fingerprint.ValueString() != key.Fingerprint {
		p.plan.Fingerprint = types.StringUnknown()
	}
}

// warnKeyLost tells, once for all hosts, that the pair which they trust is not here.
func (p *hostPlan) warnKeyLost(missing error) {
	noted := p.state.Fingerprint.ValueString()
	if noted == "" || !p.run.Once("key lost") {
		return
	}
	p.diags.AddWarning("The LXD client key pair of the fleet is not here", fmt.Sprintf(
		"VM host %s trusts the certificate %s, and %s. Only what is MAAS's alone can be changed: name, zone, pool, tags and over-commit.\n\n"+
			"Give the pair as lxd_client_cert and lxd_client_key, restore it beside the ledger, or use the ledger beside which it was made.",
		p.state.Name.ValueString(), noted, missing))
}

// planInstalled keeps what is installed where the configuration names nothing. An adopted
// machine stays adopted when the line is removed.
func (p *hostPlan) planInstalled(ctx context.Context) {
	if want := values.Decode[values.Deployment](ctx, p.plan.Deploy, p.diags); want != nil {
		want.KeepInstalled(values.DeploymentOf(ctx, p.state.Deploy, p.diags), values.DeploymentOf(ctx, p.config.Deploy, p.diags), p.installed())
		p.plan.Deploy = values.Encode(ctx, values.DeploymentType, want, p.diags)
	}
	if p.config.Adopt.IsNull() && p.plan.Adopt.ValueBool() {
		p.adoptKept, p.config.Adopt = true, p.plan.Adopt
		checkUnused(ctx, p.config, p.diags)
	}
}

// refuseForgottenAdoption refuses to make a host anew that was adopted, and whose line adopt was
// removed: a machine would be installed, where one was only taken as it is.
func (p *hostPlan) refuseForgottenAdoption(wasAdopted bool) {
	if !wasAdopted || !p.config.Adopt.IsNull() && !p.adoptKept || p.config.registers() {
		return
	}
	p.diags.AddAttributeError(path.Root("adopt"), fmt.Sprintf("VM host %s was adopted, and the line adopt was removed", p.plan.Name.ValueString()),
		"This plan makes the host anew, and without the line a machine is installed for it. Write adopt = true to take the machine as it is, or adopt = false to have one installed.")
}

// planOneNetwork lets bridge take the place of network, and the other way round: only a
// line that nothing takes the place of is kept.
func (p *hostPlan) planOneNetwork() {
	switch {
	case p.config.Network.IsNull() && !p.config.Bridge.IsNull():
		p.plan.Network = p.config.Network
	case p.config.Bridge.IsNull() && !p.config.Network.IsNull():
		p.plan.Bridge = p.config.Bridge
	}
}

func (p *hostPlan) decide(ctx context.Context) {
	p.planInstalled(ctx)
	p.planOneNetwork()
	p.planReplacement(ctx)
	if p.goesOn() {
		p.planWork()
		p.planAnew()
	}
	if p.notes.Unclaimed.ClaimedBy(p.config.Tags, types.BoolNull()) {
		p.plan.Status = types.StringUnknown() // the update notes it
	}
	if !p.plan.CPUOvercommit.Equal(p.state.CPUOvercommit) {
		p.plan.Cores = types.ObjectUnknown(amountType.AttrTypes)
	}
	if !p.plan.MemoryOvercommit.Equal(p.state.MemoryOvercommit) {
		p.plan.MemoryMiB = types.ObjectUnknown(amountType.AttrTypes)
	}
	if !p.plan.DefaultStoragePool.Equal(p.state.DefaultStoragePool) {
		p.plan.StoragePools = types.MapUnknown(hostPoolSeenType)
	}
	p.refuseForgottenAdoption(len(p.replace) > 0 && p.state.Adopt.ValueBool())
	if len(p.replace) == 0 {
		values.WarnSelectorStays(p.state.Selector, p.plan.Selector, "a host is made", p.state.Name, p.state.Hostname, p.diags)
	}
}

// goesOn tells whether an apply has something to do that no attribute tells: an
// earlier one left it unfinished, MAAS has forgotten the VM host, or it was
// imported without a mark.
func (p *hostPlan) goesOn() bool {
	return p.notes.Pending || p.notes.Foreign || p.notes.Forgotten
}

// planWork marks as unknown what changes while a host is made.
func (p *hostPlan) planWork() {
	open := func(v *types.String, config types.String) {
		if config.IsNull() {
			*v = types.StringUnknown()
		}
	}
	open(&p.plan.Status, types.StringNull())
	open(&p.plan.LXDVersion, types.StringNull())
	open(&p.plan.Fingerprint, types.StringNull())
	open(&p.plan.ServerFingerprint, p.config.ServerFingerprint)
	open(&p.plan.LXDAddress.StringValue, types.StringNull())
	open(&p.plan.Zone, p.config.Zone)
	open(&p.plan.Pool, p.config.Pool)
	open(&p.plan.DefaultStoragePool, p.config.DefaultStoragePool)
	if p.config.CPUOvercommit.IsNull() {
		p.plan.CPUOvercommit = types.Float64Unknown()
	}
	if p.config.MemoryOvercommit.IsNull() {
		p.plan.MemoryOvercommit = types.Float64Unknown()
	}
	if p.notes.Pending && p.state.undeployed() {
		p.plan.TrustedFingerprints = types.SetUnknown(types.StringType) // its deployment tells
	}
	p.plan.VMHostID = types.Int64Unknown()
	p.plan.IPAddresses = types.ListUnknown(types.StringType)
	p.plan.Cores, p.plan.MemoryMiB = types.ObjectUnknown(amountType.AttrTypes), types.ObjectUnknown(amountType.AttrTypes)
	p.plan.StoragePools = types.MapUnknown(hostPoolSeenType)
}

// planAnew replaces a host whose machine MAAS gave up before it was finished.
func (p *hostPlan) planAnew() {
	status := p.state.Status.ValueString()
	if !p.notes.Pending || !diagnostics.MAASGaveUp(status) {
		return
	}
	p.replace.Append(path.Root("status"))
	p.diags.AddAttributeWarning(path.Root("status"), "The host will be replaced", fmt.Sprintf(
		"Machine %s ended in the state %q before the host was finished. There is nothing to go on with, so it is released and the host made anew.",
		p.state.Hostname.ValueString(), status))
}
