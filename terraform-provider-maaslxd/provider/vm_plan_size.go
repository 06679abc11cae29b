package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// planCores counts the pinned cores where cores is left out. A VM that has some
// keeps them; the default is for one that is made.
func (p *vmPlan) planCores() {
	if !p.config.Cores.IsNull() {
		return
	}
	switch pinned := p.config.PinnedCores; {
	case pinned.IsUnknown():
		p.plan.Cores = types.Int64Unknown()
	case !pinned.IsNull():
		p.plan.Cores = types.Int64Value(int64(len(pinned.Elements())))
	case p.state != nil && set(p.state.Cores):
		p.plan.Cores = p.state.Cores
	default:
		p.plan.Cores = types.Int64Value(defaultCores)
	}
}

// planMemory keeps memory and huge pages where they are left out.
func (p *vmPlan) planMemory() {
	if p.config.MemoryMiB.IsNull() {
		p.plan.MemoryMiB = types.Int64Value(defaultMemoryMiB)
		if p.state != nil && set(p.state.MemoryMiB) {
			p.plan.MemoryMiB = p.state.MemoryMiB
		}
	}
	if p.config.HugePages.IsNull() {
		p.plan.HugePages = types.BoolValue(false)
		if p.state != nil && set(p.state.HugePages) {
			p.plan.HugePages = p.state.HugePages
		}
	}
}

// planDisks keeps the disks where they are left out, and plans one root disk for
// a VM that is made.
func (p *vmPlan) planDisks(ctx context.Context) {
	switch {
	case !p.config.Disks.IsNull():
		p.planPools(ctx)
	case p.state != nil && set(p.state.Disks):
		p.plan.Disks = p.state.Disks
	default:
		root := diskModel{SizeGB: types.Int64Value(defaultDiskGB), Pool: types.StringUnknown()}
		p.plan.Disks = toMap(ctx, diskType, map[string]diskModel{rootDiskName: root}, p.diags)
	}
}

// planPools keeps the storage pools of disks that name none, also those that MAAS
// does not tell: Terraform plans all that is computed anew where anything changes.
func (p *vmPlan) planPools(ctx context.Context) {
	if p.state == nil || !set(p.plan.Disks) {
		return
	}
	have, plan := p.state.disks(ctx, p.diags), p.plan.disks(ctx, p.diags)
	wished := p.config.disks(ctx, p.diags)
	for name, d := range plan {
		if had, ok := have[name]; ok && d.Pool.IsUnknown() && wished[name].Pool.IsNull() {
			d.Pool = had.Pool
			plan[name] = d
		}
	}
	p.plan.Disks = toMap(ctx, diskType, plan, p.diags)
}
