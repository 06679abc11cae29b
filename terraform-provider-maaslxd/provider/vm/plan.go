package vm

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// ModifyPlan fills in defaults that depend on other attributes, says what
// replaces the VM, and plans to go on with what an apply left unfinished.
func (r *vmResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		r.planDestroy(ctx, req, &resp.Diagnostics)
		return
	}
	p := vmPlan{diags: &resp.Diagnostics, renamedTo: r.client.RenamedTo, hostLeaves: r.client.HostLeaves, subnets: r.client.Subnets, listed: r.listed, resizes: r.resizes, power: r.power, shown: r.shown}
	p.diags.Append(req.Config.Get(ctx, &p.config)...)
	p.diags.Append(req.Plan.Get(ctx, &p.plan)...)
	if !req.State.Raw.IsNull() {
		p.state = new(vmModel)
		p.diags.Append(req.State.Get(ctx, p.state)...)
		p.notes = notesToPlan(ctx, req.Private, p.diags)
	}
	if p.diags.HasError() {
		return
	}
	p.decide(ctx)
	p.diags.Append(resp.Plan.Set(ctx, &p.plan)...)
	resp.RequiresReplace = append(resp.RequiresReplace, p.replace...)
	if !p.diags.HasError() {
		if p.again = r.client.NotePlanned("VM ", p.plan.Name, p.state != nil, p.diags); p.again {
			p.notes = readNotes(ctx, req.Private, p.diags)
			refuseTakenOver(p.plan.Name.ValueString(), p.notes, p.diags)
			values.RefuseDestroy("VM "+p.plan.Name.ValueString(), p.notes.Protected || p.notes.ProtectionApplied && p.plan.Protection.ValueBool(), p.diags)
		}
		if p.state != nil && !resp.Plan.Raw.Equal(req.State.Raw) {
			r.client.CheckMAAS(ctx, p.notes.MAAS, "change VM "+p.state.Name.ValueString(), p.diags)
			refuseTakenOver(p.state.Name.ValueString(), p.notes, p.diags)
		}
		if !p.diags.HasError() {
			r.check(ctx, p)
		}
		r.tell(p)
	}
}

// planDestroy refuses to destroy what the apply would not.
func (r *vmResource) planDestroy(ctx context.Context, req resource.ModifyPlanRequest, diags *diag.Diagnostics) {
	r.client.WarnLeftBehind(ctx, diags)
	var name types.String
	var protected types.Bool
	diags.Append(req.State.GetAttribute(ctx, path.Root("name"), &name)...)
	diags.Append(req.State.GetAttribute(ctx, values.ProtectionPath(), &protected)...)
	n := notesToPlan(ctx, req.Private, diags)
	values.RefuseDestroy("VM "+name.ValueString(), protected.ValueBool() || n.ProtectionApplied, diags)
	r.client.CheckMAAS(ctx, n.MAAS, "destroy VM "+name.ValueString(), diags)
	refuseTakenOver(name.ValueString(), n, diags)
}

// refuseTakenOver refuses in the plan what the engine would refuse in the apply.
func refuseTakenOver(name string, n notes, diags *diag.Diagnostics) {
	if n.TakenOverBy != "" {
		diags.AddError(takenOver(name, n))
	}
}

// tell says to the VM host whether the VM stays on it.
func (r *vmResource) tell(p vmPlan) {
	switch {
	case r.client == nil:
	case p.state != nil && len(p.replace) == 0:
		r.client.Run.NoteStaying(p.notes.HostMachine, p.state.Name.ValueString())
	case p.again: // by -replace: its plan as a change replaced nothing
		r.client.Run.NoteGoing(p.notes.HostMachine, p.plan.Name.ValueString())
	}
}

// vmPlan is a plan being made.
type vmPlan struct {
	config  vmModel
	state   *vmModel // nil for a VM that is to be made
	plan    vmModel
	notes   notes
	replace path.Paths
	// redeploys: redeploy_triggers changes, or may change.
	redeploys     bool
	inPlace       bool // the size changes without a new VM
	interfaceDiff interfaceDiff
	again         bool // what is to be made takes the place of what stands: the second plan of a replacement
	subnets       func(context.Context) ([]engine.Subnet, error)
	listed        func(context.Context) ([]engine.VMHost, error)
	resizes       func(context.Context) (bool, error) // tells whether VMs are made in LXD itself
	power         func(ctx context.Context, systemID string) (string, error)
	shown         func(ctx context.Context, systemID string) (engine.VM, error)
	// What the run makes of the VM host on a machine.
	renamedTo  func(machine string) string
	hostLeaves func(machine string) (leaves, replaced bool)
	diags      *diag.Diagnostics
}

func (p *vmPlan) decide(ctx context.Context) {
	p.planCores()
	p.planMemory()
	p.planDisks(ctx)
	refuseSettings(ctx, p)
	if p.state == nil {
		return
	}
	p.redeploys = changesTriggers(*p.state, p.plan)
	p.planInstalled(ctx)
	p.planReplacement(ctx)
	p.refuseFromMemory(ctx)
	p.planWithHost()
	p.planMissing()
	p.refuseRunning(ctx)
	p.warnLostKeys()
	if goesOn(p.notes, *p.state, p.plan) {
		p.planWork(ctx)
		p.planAnew()
	}
	if p.notes.isUnmarked() { // the update marks it
		p.plan.Status = types.StringUnknown()
	}
	if p.notes.Restarts {
		p.planRestart()
	}
	values.RefuseReplacement("VM "+p.state.Name.ValueString(), p.replace, p.state.Protection.ValueBool() || p.notes.ProtectionApplied && p.plan.Protection.ValueBool(), p.diags)
	if p.notes.Unclaimed.ClaimedBy(p.config.Tags, p.config.Protection) || values.ForgetsProtection(p.plan.Protection, p.state.Protection, p.notes.ProtectionApplied) {
		p.plan.Status = types.StringUnknown()
	}
	redeployment{p}.refuse()
	redeployment{p}.warn()
	p.warnStays()
	if !p.plan.Name.Equal(p.state.Name) || !p.plan.Domain.Equal(p.state.Domain) {
		p.plan.FQDN = types.StringUnknown()
	}
}

// planInstalled keeps image and kernel where none is named, also those that MAAS
// does not tell.
func (p *vmPlan) planInstalled(ctx context.Context) {
	had, want, wished := p.state.deploy(ctx, p.diags), p.plan.deploy(ctx, p.diags), p.config.deploy(ctx, p.diags)
	if had == nil || want == nil || wished == nil {
		return
	}
	switch {
	case wished.Image.IsNull() && want.Image.IsUnknown():
		want.Image = had.Image
	case values.OtherImage(wished.Image, had.Image, p.notes.Image): // the type may have kept the name of the former one
		want.Image = wished.Image
	}
	switch {
	case wished.Kernel.IsNull() && p.redeploys:
		want.Kernel = types.StringUnknown() // MAAS's default for the image, which may be another one
	case wished.Kernel.IsNull() && want.Kernel.IsUnknown():
		want.Kernel = had.Kernel
	}
	p.plan.Deploy = toObject(ctx, want, p.diags)
}

// goesOn tells whether an apply has something to wait for: what an earlier
// one left unfinished, or a deployment.
func goesOn(n notes, state, plan vmModel) bool {
	unfinished := n.Pending && !n.failedAfterItRan(state.Status.ValueString())
	return unfinished || state.Deploy.IsNull() && !plan.Deploy.IsNull() || changesTriggers(state, plan)
}

// planWork marks as unknown what changes while a VM is made or deployed.
func (p *vmPlan) planWork(ctx context.Context) {
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
