package vm

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// ModifyPlan fills in defaults that depend on other attributes, lists what replaces the VM,
// and plans to finish what an apply left unfinished.
func (r *vmResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		r.planDestroy(ctx, req, &resp.Diagnostics)
		return
	}
	p := newVMPlan(r, &resp.Diagnostics)
	values.DecodeState(ctx, tfsdk.State(req.Config), &p.config, p.diags)
	values.DecodeState(ctx, tfsdk.State(req.Plan), &p.plan, p.diags)
	if !req.State.Raw.IsNull() {
		p.state = new(vmModel)
		values.DecodeState(ctx, req.State, p.state, p.diags)
		p.private = readPrivateStateForPlan(ctx, req.Private, p.diags)
	}
	if p.diags.HasError() {
		return
	}
	p.modify(ctx)
	p.diags.Append(resp.Plan.Set(ctx, &p.plan)...)
	resp.RequiresReplace = append(resp.RequiresReplace, p.replace...)
	if !p.diags.HasError() {
		notePlan(r.client, &p, client.ActionOf(p.state != nil, len(p.replace) > 0, values.HasPrivateState(ctx, req.Private, privateStateKey)))
		if p.replacement.IsReplaced {
			p.private = readPrivateState(ctx, req.Private, p.diags)
			refuseTakenOver(p.plan.Name.ValueString(), p.private, p.diags)
			values.RefuseDestroy("VM "+p.plan.Name.ValueString(), p.private.Protected || p.private.ProtectionApplied && p.plan.Protection.ValueBool(), p.diags)
		}
		if p.state != nil && !resp.Plan.Raw.Equal(req.State.Raw) {
			r.client.CheckPlannedMAAS(ctx, p.private.MAAS, "change VM "+p.state.Name.ValueString(), p.diags)
			refuseTakenOver(p.state.Name.ValueString(), p.private, p.diags)
		}
		if !p.diags.HasError() {
			r.checkAgainstMAAS(ctx, p)
		}
		r.notePlanForHost(&p)
	}
}

// newVMPlan is an empty plan with the questions that it asks MAAS and the other plans of the run.
func newVMPlan(r *vmResource, diags *diag.Diagnostics) vmPlan {
	return vmPlan{
		diags: diags, listSubnets: r.client.Subnets, listHosts: r.listHosts, makesVMsInLXD: r.makesVMsInLXD, readPower: r.readPower, observeVM: r.observeVM,
		newHostName: r.client.NewHostName, destroysHost: r.client.DestroysHost,
		isLostHost: func(name string) bool { // without a refresh, the plan of a tainted VM host does not tell that the state has it
			return r.client != nil && r.client.Run.HasReadState() && r.client.Run.LostHosts.Contains(name)
		},
	}
}

// notePlan records the plan for the other plans of the run.
func notePlan(c *client.Client, p *vmPlan, action client.Action) {
	p.replacement = c.NotePlanned("VM ", p.plan.Name, action, p.diags)
	if p.state == nil || c == nil {
		return
	}
	c.Run.NoteVMInState(p.state.Name.ValueString(), p.plan.Name.ValueString(), p.state.inState(p.private))
	c.NotePlannedName(&c.Run.VMNames, "VM "+p.state.Name.ValueString(), p.state.ID, p.plan.Name, p.diags)
	if len(p.replace) == 0 && values.IsSet(p.plan.Name) && !p.plan.Name.Equal(p.state.Name) {
		c.Run.NoteRename("VM "+p.plan.Name.ValueString(), p.state.ID.ValueString(), p.diags)
	}
}

// planDestroy refuses to destroy a VM if the apply would refuse it.
func (r *vmResource) planDestroy(ctx context.Context, req resource.ModifyPlanRequest, diags *diag.Diagnostics) {
	r.client.WarnLeftBehind(ctx, diags)
	var id, name types.String
	var protected types.Bool
	diags.Append(req.State.GetAttribute(ctx, path.Root("id"), &id)...)
	diags.Append(req.State.GetAttribute(ctx, path.Root("name"), &name)...)
	if r.client != nil {
		r.client.NotePlannedName(&r.client.Run.VMNames, "VM "+name.ValueString(), id, types.StringNull(), diags)
	}
	diags.Append(req.State.GetAttribute(ctx, values.ProtectionPath(), &protected)...)
	n := readPrivateStateForPlan(ctx, req.Private, diags)
	values.RefuseDestroy("VM "+name.ValueString(), protected.ValueBool() || n.ProtectionApplied, diags)
	r.client.CheckPlannedMAAS(ctx, n.MAAS, "destroy VM "+name.ValueString(), diags)
	refuseTakenOver(name.ValueString(), n, diags)
}

// refuseTakenOver refuses in the plan what the engine would refuse in the apply: a VM of
// another owner.
func refuseTakenOver(name string, n privateState, diags *diag.Diagnostics) {
	if n.TakenOverBy != "" {
		diags.AddError(takenOverMessage(name, n))
	}
}

// notePlanForHost records for the VM host whether the VM stays on it. Terraform plans both at
// the same time, so each plan first writes its note and then reads the other's.
func (r *vmResource) notePlanForHost(p *vmPlan) {
	switch {
	case r.client == nil:
	case p.state != nil && len(p.replace) == 0:
		r.client.Run.NoteVMStays(p.private.HostMachine, p.plan.Name.ValueString())
		refuseStayingOnDestroyedHost(p)
	case p.replacement.IsForced: // as a change, the plan replaced nothing
		r.client.Run.NoteVMReplaced(p.private.HostMachine, p.plan.Name.ValueString())
	}
}

// vmPlan is a plan of a VM while it is made.
type vmPlan struct {
	config  vmModel
	state   *vmModel // nil for a new VM
	plan    vmModel
	private privateState
	replace path.Paths
	// changesRedeployTriggers: redeploy_triggers changes, or may change.
	changesTriggers bool
	resizesInPlace  bool // the size changes without a new VM
	interfaceDiff   interfaceDiff
	replacement     client.Replacement // in the second plan of a replacement
	listSubnets     func(context.Context) ([]engine.Subnet, error)
	listHosts       func(context.Context) ([]engine.VMHost, error)
	makesVMsInLXD   func(context.Context) (bool, error) // tells whether VMs are made in LXD itself
	readPower       func(ctx context.Context, systemID string) (string, error)
	observeVM       func(ctx context.Context, systemID string) (engine.VM, error)
	// These are the plans of this run for the VM host on a machine.
	newHostName  func(machine string) string
	destroysHost func(machine string) (leaves, replaced bool)
	isLostHost   func(name string) bool // the state lacks a VM host that it should have
	diags        *diag.Diagnostics
}

func (p *vmPlan) modify(ctx context.Context) {
	p.planCores()
	p.planMemory()
	p.planDisks(ctx)
	refuseSettings(ctx, p)
	if p.state == nil {
		return
	}
	p.changesTriggers = changesRedeployTriggers(*p.state, p.plan)
	p.keepInstalled(ctx)
	p.planReplacement(ctx)
	p.refuseFromMemory(ctx)
	p.followHostPlan()
	p.replaceIfInstanceMissing()
	p.refuseRunning(ctx)
	p.warnLostTPMKeys()
	if hasPendingWork(p.private, *p.state, p.plan) {
		p.markComputedUnknown(ctx)
		p.replaceIfFailed()
	}
	if p.private.isUnmarked() { // the update adds the mark
		p.plan.Status = types.StringUnknown()
	}
	if p.private.Restarts {
		p.planPowerOn()
	}
	values.RefuseReplacement("VM "+p.state.Name.ValueString(), p.replace, p.state.Protection.ValueBool() || p.private.ProtectionApplied && p.plan.Protection.ValueBool(), p.diags)
	if p.private.Unclaimed.IsClaimedBy(p.config.Tags, p.config.Protection) || values.DropsProtection(p.plan.Protection, p.state.Protection, p.private.ProtectionApplied) {
		p.plan.Status = types.StringUnknown()
	}
	redeployment{p}.refuseRedeployment()
	redeployment{p}.warnRedeployment()
	redeployment{p}.warnInstallation()
	p.warnPlacementIgnored()
	if !p.plan.Name.Equal(p.state.Name) || !p.plan.Domain.Equal(p.state.Domain) {
		p.plan.FQDN = types.StringUnknown()
	}
}

// keepInstalled keeps the installed image and kernel in the plan if the configuration names
// none, also if MAAS does not report them.
func (p *vmPlan) keepInstalled(ctx context.Context) {
	had, want, wished := p.state.deploy(ctx, p.diags), p.plan.deploy(ctx, p.diags), p.config.deploy(ctx, p.diags)
	if had == nil || want == nil || wished == nil {
		return
	}
	switch {
	case wished.Image.IsNull() && want.Image.IsUnknown():
		want.Image = had.Image
	case values.IsOtherImage(wished.Image, had.Image, p.private.Image): // the type may have kept the former spelling
		want.Image = wished.Image
	}
	switch {
	case wished.Kernel.IsNull() && p.changesTriggers:
		want.Kernel = types.StringUnknown() // MAAS's default for the image, which may be another kernel
	case wished.Kernel.IsNull() && want.Kernel.IsUnknown():
		want.Kernel = had.Kernel
	}
	p.plan.Deploy = encodeDeploy(ctx, want, p.diags)
}

// hasPendingWork tells whether an apply has to wait: for what an earlier one left unfinished,
// or for a deployment.
func hasPendingWork(n privateState, state, plan vmModel) bool {
	unfinished := n.Pending && !n.hasFailedAfterRun(state.Status.ValueString())
	return unfinished || state.Deploy.IsNull() && !plan.Deploy.IsNull() || changesRedeployTriggers(state, plan)
}

// markComputedUnknown marks as unknown the values that change while a VM is made or deployed.
func (p *vmPlan) markComputedUnknown(ctx context.Context) {
	p.plan.Status = types.StringUnknown()
	p.plan.IPAddresses = types.ListUnknown(types.StringType)
	if interfaces := p.plan.interfaces(ctx, p.diags); interfaces != nil {
		for label, i := range interfaces {
			i.IPAddresses = types.ListUnknown(types.StringType)
			interfaces[label] = i
		}
		p.plan.Interfaces = values.EncodeMap(ctx, interfaceType, interfaces, p.diags)
	}
}
