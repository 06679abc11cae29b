package machine

import (
	"context"
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

// ModifyPlan lists what replaces the machine, plans to finish what an apply left unfinished,
// and asks MAAS whether the plan can be applied.
func (r *machineResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		r.planDestroy(ctx, req, resp)
		return
	}
	p := machinePlan{client: r.client, diags: &resp.Diagnostics, readMachine: r.client.Machine, listSubnets: r.client.Subnets}
	p.diags.Append(req.Config.Get(ctx, &p.config)...)
	p.diags.Append(req.Plan.Get(ctx, &p.plan)...)
	if !req.State.Raw.IsNull() {
		p.state = new(machineModel)
		p.diags.Append(req.State.Get(ctx, p.state)...)
		p.private = readPrivateState(ctx, req.Private, p.diags)
	}
	if p.diags.HasError() {
		return
	}
	if p.state != nil {
		p.modify(ctx)
		p.diags.Append(resp.Plan.Set(ctx, &p.plan)...)
		resp.RequiresReplace = append(resp.RequiresReplace, p.replace...)
	}
	if p.diags.HasError() {
		return
	}
	p.isReplacement = r.client.NotePlanned("machine ", p.plan.Name, client.ActionOf(p.state != nil, len(p.replace) > 0, values.HasPrivateState(ctx, req.Private, privateStateKey)), p.diags).IsReplaced
	if p.isReplacement {
		n := readPrivateState(ctx, req.Private, p.diags)
		values.RefuseDestroy("machine "+p.plan.Name.ValueString(), n.Protected || n.ProtectionApplied && p.plan.Protection.ValueBool(), p.diags)
	}
	if p.state != nil && !resp.Plan.Raw.Equal(req.State.Raw) {
		r.client.CheckPlannedMAAS(ctx, p.private.MAAS, "change machine "+p.state.Name.ValueString(), p.diags)
	}
	if p.state != nil && r.client != nil {
		r.client.Run.NoteInState("machine "+p.state.Name.ValueString(), p.state.ID.ValueString())
		r.client.NotePlannedName(&r.client.Run.MachineNames, "machine "+p.state.Name.ValueString(), p.state.ID, p.plan.Name, p.diags)
	}
	if !p.diags.HasError() {
		r.checkAgainstMAAS(ctx, p)
	}
}

// planDestroy refuses to destroy a machine that is protected, or in another MAAS than that of
// the state.
func (r *machineResource) planDestroy(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	r.client.WarnLeftBehind(ctx, &resp.Diagnostics)
	var id, name types.String
	var protected types.Bool
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("id"), &id)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("name"), &name)...)
	if r.client != nil {
		r.client.NotePlannedName(&r.client.Run.MachineNames, "machine "+name.ValueString(), id, types.StringNull(), &resp.Diagnostics)
	}
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, values.ProtectionPath(), &protected)...)
	n := readPrivateState(ctx, req.Private, &resp.Diagnostics)
	values.RefuseDestroy("machine "+name.ValueString(), protected.ValueBool() || n.ProtectionApplied, &resp.Diagnostics)
	r.client.CheckPlannedMAAS(ctx, n.MAAS, "destroy machine "+name.ValueString(), &resp.Diagnostics)
}

// machinePlan is a plan of a machine while it is made.
type machinePlan struct {
	config        machineModel
	state         *machineModel // nil for a new machine
	plan          machineModel
	private       privateState
	replace       path.Paths
	isReplacement bool // the new machine replaces an existing one: the second plan of a replacement
	readMachine   func(ctx context.Context, systemID string) (engine.Machine, error)
	client        *client.Client // nil if the provider is not configured
	listSubnets   func(context.Context) ([]engine.Subnet, error)
	diags         *diag.Diagnostics
}

// keepInstalled keeps the installed values in the plan if the configuration names none.
func (p *machinePlan) keepInstalled(ctx context.Context) {
	if want := p.plan.deploy(ctx, p.diags); want != nil {
		want.KeepInstalled(p.state.deployOrNothing(ctx, p.diags).Deployment, p.config.deployOrNothing(ctx, p.diags).Deployment, p.private.installation())
		p.plan.Deploy = values.EncodeObject(ctx, deployType, want, p.diags)
	}
}

func (p *machinePlan) modify(ctx context.Context) {
	p.keepInstalled(ctx)
	p.planReplacement(ctx)
	if p.private.Pending || p.private.Foreign {
		p.markComputedUnknown()
		p.replaceIfFailed()
	}
	values.RefuseReplacement("machine "+p.state.Name.ValueString(), p.replace, p.state.Protection.ValueBool() || p.private.ProtectionApplied && p.plan.Protection.ValueBool(), p.diags)
	if p.private.Unclaimed.IsClaimedBy(p.config.Tags, p.config.Protection) || values.DropsProtection(p.plan.Protection, p.state.Protection, p.private.ProtectionApplied) {
		p.plan.Status = types.StringUnknown()
	}
	if !p.plan.Hostname.Equal(p.state.Hostname) || !p.plan.Domain.Equal(p.state.Domain) {
		p.plan.FQDN = types.StringUnknown()
	}
	if len(p.replace) == 0 {
		values.WarnSelectorStays(p.state.Selector, p.plan.Selector, "a machine is taken", p.state.Name, p.state.Hostname, p.diags)
	}
}

// markComputedUnknown marks as unknown the values that change while a machine is deployed.
func (p *machinePlan) markComputedUnknown() {
	p.plan.Status, p.plan.StatusMessage = types.StringUnknown(), types.StringUnknown()
	p.plan.IPAddresses = types.ListUnknown(types.StringType)
}

// replaceIfFailed replaces an unfinished machine that failed in MAAS: continuing it would only
// fail again.
func (p *machinePlan) replaceIfFailed() {
	status := p.state.Status.ValueString()
	if !p.private.Pending || !diagnostics.HasMAASGivenUp(status) {
		return
	}
	p.replace.Append(path.Root("status"))
	p.diags.AddAttributeWarning(path.Root("status"), "The machine will be replaced", fmt.Sprintf(
		"Machine %s ended in the state %q before it was finished. It cannot be continued, so MAAS releases it and deploys one again.",
		p.state.Hostname.ValueString(), status))
}
