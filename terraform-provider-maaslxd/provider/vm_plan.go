package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
)

// ModifyPlan fills in defaults that depend on other attributes, says what
// replaces the VM, and plans to go on with what an apply left unfinished.
func (r *vmResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return // a destroy
	}
	p := vmPlan{diags: &resp.Diagnostics, subnets: r.subnets, listed: r.listed, resizes: r.resizes}
	p.diags.Append(req.Config.Get(ctx, &p.config)...)
	p.diags.Append(req.Plan.Get(ctx, &p.plan)...)
	if !req.State.Raw.IsNull() {
		p.state = new(vmModel)
		p.diags.Append(req.State.Get(ctx, p.state)...)
		p.notes = readNotes(ctx, req.Private, p.diags)
	}
	if p.diags.HasError() {
		return
	}
	p.decide(ctx)
	p.diags.Append(resp.Plan.Set(ctx, &p.plan)...)
	resp.RequiresReplace = append(resp.RequiresReplace, p.replace...)
}

// vmPlan is a plan being made.
type vmPlan struct {
	config  vmModel
	state   *vmModel // nil for a VM that is to be made
	plan    vmModel
	notes   notes
	replace path.Paths
	subnets func(context.Context) ([]engine.Subnet, error)
	listed  func(context.Context) ([]engine.VMHost, error)
	resizes func(context.Context) (bool, error) // tells whether VMs are made in LXD itself
	diags   *diag.Diagnostics
}

func (p *vmPlan) decide(ctx context.Context) {
	p.planCores()
	p.planDisks(ctx)
	if p.state == nil {
		return
	}
	p.planReplacement(ctx)
	if goesOn(p.notes, *p.state, p.plan) {
		p.planWork(ctx)
		p.planAnew()
	}
	p.warnStays()
	if !p.plan.Name.Equal(p.state.Name) || !p.plan.Domain.Equal(p.state.Domain) {
		p.plan.FQDN = types.StringUnknown()
	}
}

// planCores counts the pinned cores where cores is left out.
func (p *vmPlan) planCores() {
	if !p.config.Cores.IsNull() {
		return
	}
	switch pinned := p.config.PinnedCores; {
	case pinned.IsUnknown():
		p.plan.Cores = types.Int64Unknown()
	case pinned.IsNull():
		p.plan.Cores = types.Int64Value(defaultCores)
	default:
		p.plan.Cores = types.Int64Value(int64(len(pinned.Elements())))
	}
}

// planDisks plans one root disk where disks is left out.
func (p *vmPlan) planDisks(ctx context.Context) {
	if !p.config.Disks.IsNull() {
		return
	}
	root := diskModel{SizeGB: types.Int64Value(defaultDiskGB), Pool: types.StringUnknown()}
	if p.state != nil {
		if had, ok := p.state.disks(ctx, p.diags)[rootDiskName]; ok {
			root.Pool = had.Pool // null, too, where MAAS does not tell it
		}
	}
	p.plan.Disks = toMap(ctx, diskType, map[string]diskModel{rootDiskName: root}, p.diags)
}

// goesOn tells whether an apply has something to wait for: what an earlier
// one left unfinished, or a deployment.
func goesOn(n notes, state, plan vmModel) bool {
	return n.Pending || state.Deploy.IsNull() && !plan.Deploy.IsNull()
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
		p.plan.Interfaces = toMap(ctx, interfaceType, interfaces, p.diags)
	}
}
