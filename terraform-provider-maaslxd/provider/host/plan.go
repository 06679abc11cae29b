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

// ModifyPlan lists what replaces the host, plans to finish what an apply left unfinished, and
// warns early of problems with the fleet's key.
func (r *hostResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		r.planDestroy(ctx, req, resp)
		return
	}
	p := hostPlan{diags: &resp.Diagnostics, readMachine: r.client.Machine, listSubnets: r.client.Subnets}
	if r.client != nil {
		p.run = &r.client.Run
	}
	p.diags.Append(req.Config.Get(ctx, &p.config)...)
	p.diags.Append(req.Plan.Get(ctx, &p.plan)...)
	if !req.State.Raw.IsNull() {
		p.state = new(hostModel)
		p.diags.Append(req.State.Get(ctx, p.state)...)
		p.private = readPrivateStateForPlan(ctx, req.Private, p.diags)
	}
	if p.diags.HasError() {
		return
	}
	if b, err := r.client.Backend(); err == nil {
		p.planKeyPair(ctx, b)
	}
	if p.state == nil {
		checkDefaultPool(ctx, p.config, p.diags)
		p.refuseForgottenAdoption(readPrivateState(ctx, req.Private, p.diags).Adopted)
	} else {
		p.modify(ctx)
		p.diags.Append(resp.Plan.Set(ctx, &p.plan)...)
		resp.RequiresReplace = append(resp.RequiresReplace, p.replace...)
	}
	if !p.diags.HasError() {
		r.checkPlan(ctx, &p, req, resp)
	}
}

// checkPlan asks MAAS whether the plan can be applied, and tells the VMs of the run.
func (r *hostResource) checkPlan(ctx context.Context, p *hostPlan, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	p.isReplacement = r.client.NotePlanned("VM host ", p.plan.Name, client.ActionOf(p.state != nil, len(p.replace) > 0, values.HasPrivateState(ctx, req.Private, privateStateKey)), p.diags).IsReplaced
	if p.isReplacement {
		p.private = readPrivateState(ctx, req.Private, p.diags)
	}
	if p.state != nil && !resp.Plan.Raw.Equal(req.State.Raw) {
		r.client.CheckPlannedMAAS(ctx, p.private.MAAS, "change VM host "+p.state.Name.ValueString(), p.diags)
	}
	if p.state != nil && r.client != nil {
		r.client.Run.NoteInState("VM host "+p.state.Name.ValueString(), p.state.ID.ValueString())
		r.client.NotePlannedName(&r.client.Run.HostNames, "VM host "+p.state.Name.ValueString(), p.state.ID, p.plan.Name, p.diags)
	}
	if p.state != nil && r.client != nil && p.private.hasPendingWork() && len(p.replace) == 0 {
		r.client.Run.NoteUnfinishedHost(p.state.ID.ValueString(), p.plan.Name.ValueString())
	}
	if !p.diags.HasError() {
		r.checkAgainstMAAS(ctx, *p)
	}
	r.notePlanForVMs(ctx, *p)
}

// notePlanForVMs records for the VMs of the run what becomes of their host.
func (r *hostResource) notePlanForVMs(ctx context.Context, p hostPlan) {
	if _, err := r.client.Backend(); err != nil || p.diags.HasError() || !r.client.Run.WantsPlanCheck(true) {
		return
	}
	l := hostDestroy{name: p.plan.Name.ValueString(), isReplaced: true, key: p.private.Key, diags: p.diags}
	switch {
	case p.state != nil && len(p.replace) > 0:
		l.because = p.replace
		l.isForced, l.keepsMachine = p.state.ForceDestroy.ValueBool(), !p.state.deploysMachine()
		r.checkHostDestroy(ctx, p.state.ID.ValueString(), l)
	case p.state != nil && !p.plan.Name.Equal(p.state.Name):
		r.client.Run.NoteHostRename(p.state.ID.ValueString(), p.plan.Name.ValueString())
	case p.isReplacement: // by -replace: as a change, the plan replaced nothing
		l.isForced, l.keepsMachine = p.plan.ForceDestroy.ValueBool(), !p.plan.deploysMachine()
		r.checkHostDestroy(ctx, p.private.Machine, l)
	}
}

// hostPlan is a plan of a VM host while it is made.
type hostPlan struct {
	config        hostModel
	state         *hostModel // nil for a new host
	plan          hostModel
	private       privateState
	replace       path.Paths
	isReplacement bool // the new host replaces an existing one: the second plan of a replacement
	readMachine   func(ctx context.Context, systemID string) (engine.Machine, error)
	listSubnets   func(context.Context) ([]engine.Subnet, error)
	run           *client.Run // nil if the provider is not configured
	// keepsAdopt: the line adopt was removed from an adopted host, which stays adopted.
	keepsAdopt bool
	diags      *diag.Diagnostics
}

// planKeyPair warns of a key that cannot be used for this host. It plans to hand over a key
// that is new to MAAS. A bad key is mostly no error yet, because Terraform also plans the
// configuration before it destroys, and the apply checks again.
func (p *hostPlan) planKeyPair(ctx context.Context, b *client.Backend) {
	key, err := b.Key.Load()
	if p.state != nil {
		p.run.NoteTrustedCertificate(p.state.trustedCertificate())
	}
	switch {
	case errors.Is(err, engine.ErrNotFound) && p.state == nil && b.HasNoLedgerFile():
		_, err = b.Key.LoadOrCreate(func() error { return nil }) // the diagnostics have the reason
	case errors.Is(err, engine.ErrNotFound) && p.state != nil:
		p.warnKeyLost(ctx, b)
		return
	case errors.Is(err, engine.ErrNotFound): // the create makes it
		look, cancel := context.WithTimeout(ctx, client.PlanCheckTimeout)
		defer cancel()
		if err = otherFleetError(look, b, p.run, p.plan.Name.ValueString()); !errors.Is(err, engine.ErrForbidden) {
			err = client.AutomationError() // the apply looks for another fleet again
		} else if p.run.CertificateTrustedBeside(p.plan.Name.ValueString()).IsOnlyListed { // the apply does not know it
			p.diags.AddError("Cannot create VM host "+p.plan.Name.ValueString(), diagnostics.ExplainError(err)+diagnostics.Paragraph(
				"The plan stops here, before anything is made. "+client.DestroyAllHint))
			return
		}
	}
	if err == nil && p.state == nil {
		err = b.Key.CheckTransport()
	} else if err == nil {
		err = p.state.checkTrustsKey(key, p.plan.trustedCertificates(ctx, p.diags)...)
	}
	if err != nil {
		p.diags.AddWarning(fmt.Sprintf("VM host %s cannot be made or changed", p.plan.Name.ValueString()), diagnostics.ExplainError(err))
		return
	}
	warnExpiry(key, p.diags)
	p.warnWithoutPair(ctx)
	p.warnOtherPair(ctx, b, key.Fingerprint)
	if p.state != nil && values.IsSet(p.state.Fingerprint) && p.state.Fingerprint.ValueString() != key.Fingerprint {
		p.plan.Fingerprint = types.StringUnknown()
	}
}

// warnWithoutPair warns of a moved or imported VM host for which no pair is recorded, where MAAS has
// no VM hosts. VMs that were made on it have the fleet's pair, and would keep the former one when
// the pair changes.
func (p *hostPlan) warnWithoutPair(ctx context.Context) {
	if p.state == nil || !p.state.VMHostID.IsNull() || p.private.hasPendingWork() ||
		p.state.trustedCertificate().Fingerprint != "" || len(p.plan.trustedCertificates(ctx, p.diags)) > 0 {
		return
	}
	p.diags.AddWarning(fmt.Sprintf("VM host %s has no key pair of the fleet yet", p.state.Name.ValueString()), "It was moved or imported. When the fleet's pair changes, "+
		"MAAS keeps the former pair for the VMs on it. Once the LXD server no longer trusts that pair, MAAS cannot turn them on or off.\n\nList the certificate of the pair in "+
		"lxd.trusted_certificates, and apply. "+diagnostics.GuideURL("migrating", "give-the-moved-vm-hosts-a-key-pair")+" says how.")
}

// warnKeyLost warns, once for all hosts, that the pair which they trust is not here.
func (p *hostPlan) warnKeyLost(ctx context.Context, b *client.Backend) {
	noted := p.state.Fingerprint.ValueString()
	if noted == "" || !p.run.ClaimWarning("key lost") {
		return
	}
	left := "You can change only what MAAS alone has: name, zone, pool, tags and over-commit."
	if can, err := b.Catalog.Capabilities(ctx); err == nil && !can.VMHosts {
		left = "This MAAS has no VM hosts, so that each change of one needs the pair."
	}
	p.diags.AddWarning("The fleet's key pair is not here", fmt.Sprintf(
		"VM host %s trusts the certificate %s, but %s. %s\n\nGive the "+
			"pair as lxd_client_cert and lxd_client_key, restore it beside the ledger, or use the ledger that it was made beside. "+
			"If it is gone for good: "+diagnostics.GuideURL("keys-and-certificates", "the-key-is-lost"),
		p.state.Name.ValueString(), noted, b.Key.MissingText(), left))
}

// keepInstalled keeps the installed image and kernel in the plan if the configuration names
// none. An adopted machine stays adopted if the line is removed.
func (p *hostPlan) keepInstalled(ctx context.Context) {
	if want := values.DecodeObject[values.Deployment](ctx, p.plan.Deploy, p.diags); want != nil {
		want.KeepInstalled(values.DecodeDeployment(ctx, p.state.Deploy, p.diags), values.DecodeDeployment(ctx, p.config.Deploy, p.diags), p.installation())
		p.plan.Deploy = values.EncodeObject(ctx, values.DeploymentType, want, p.diags)
	}
	if p.config.Adopt.IsNull() && p.plan.Adopt.ValueBool() {
		p.keepsAdopt, p.config.Adopt = true, p.plan.Adopt
		checkUnusedFirstBoot(ctx, p.config, p.diags)
	}
}

// refuseForgottenAdoption refuses to make an adopted host anew after its line adopt was
// removed. MAAS would install a machine that was only adopted before.
func (p *hostPlan) refuseForgottenAdoption(wasAdopted bool) {
	if !wasAdopted || !p.config.Adopt.IsNull() && !p.keepsAdopt || p.config.registersRunningLXD() {
		return
	}
	p.diags.AddAttributeError(path.Root("adopt"), fmt.Sprintf("VM host %s was adopted, and the line adopt was removed", p.plan.Name.ValueString()),
		"This plan makes the host again, and without that line it installs a machine for it. Write adopt = true to take the machine as it is, or adopt "+
			"= false to have one installed.")
}

// planBridgeOrNetwork lets bridge replace network, and the other way round. A removed line
// keeps its value only if nothing replaces it.
func (p *hostPlan) planBridgeOrNetwork() {
	switch {
	case p.config.Network.IsNull() && !p.config.Bridge.IsNull():
		p.plan.Network = p.config.Network
	case p.config.Bridge.IsNull() && !p.config.Network.IsNull():
		p.plan.Bridge = p.config.Bridge
	}
}

func (p *hostPlan) modify(ctx context.Context) {
	p.keepInstalled(ctx)
	p.planBridgeOrNetwork()
	p.planReplacement(ctx)
	if p.private.hasPendingWork() {
		p.markComputedUnknown()
		p.replaceIfFailed()
	}
	if p.private.Unrecorded {
		p.diags.AddAttributeWarning(path.Root("status"), fmt.Sprintf("VM host %s is recorded on its machine again", p.plan.Name.ValueString()),
			"The machine lacks the tag maaslxd-host, or the address of its LXD server. A MAAS without VM hosts finds the VM host by them. The apply writes both.")
	}
	if p.private.Unrecorded || p.private.Unclaimed.IsClaimedBy(p.config.Tags, types.BoolNull()) {
		p.plan.Status = types.StringUnknown() // the update records it
	}
	if !p.plan.CPUOvercommit.Equal(p.state.CPUOvercommit) {
		p.plan.Cores = types.ObjectUnknown(amountType.AttrTypes)
	}
	if !p.plan.MemoryOvercommit.Equal(p.state.MemoryOvercommit) {
		p.plan.MemoryMiB = types.ObjectUnknown(amountType.AttrTypes)
	}
	if !p.plan.DefaultStoragePool.Equal(p.state.DefaultStoragePool) {
		p.plan.StoragePools = types.MapUnknown(storagePoolType)
	}
	p.refuseForgottenAdoption(len(p.replace) > 0 && p.state.Adopt.ValueBool())
	if len(p.replace) == 0 {
		values.WarnSelectorStays(p.state.Selector, p.plan.Selector, "a host is made", p.state.Name, p.state.Hostname, p.diags)
	}
}

// markComputedUnknown marks as unknown the values that change while a host is made.
func (p *hostPlan) markComputedUnknown() {
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
	if p.private.Pending && p.state.hasNoTrustedFingerprint() {
		p.plan.TrustedFingerprints = types.SetUnknown(types.StringType) // its deployment decides
	}
	p.plan.VMHostID = types.Int64Unknown()
	p.plan.IPAddresses = types.ListUnknown(types.StringType)
	p.plan.Cores, p.plan.MemoryMiB = types.ObjectUnknown(amountType.AttrTypes), types.ObjectUnknown(amountType.AttrTypes)
	p.plan.StoragePools = types.MapUnknown(storagePoolType)
}

// replaceIfFailed replaces an unfinished host whose machine failed in MAAS.
func (p *hostPlan) replaceIfFailed() {
	status := p.state.Status.ValueString()
	if !p.private.Pending || !diagnostics.HasMAASGivenUp(status) {
		return
	}
	p.replace.Append(path.Root("status"))
	p.diags.AddAttributeWarning(path.Root("status"), "The host will be replaced", fmt.Sprintf(
		"Machine %s ended in the state %q before the host was finished. It cannot be continued, so MAAS releases it, and the plan replaces the host.",
		p.state.Hostname.ValueString(), status))
}
