package machine

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// checkAgainstMAAS asks MAAS whether the plan can be applied, before a machine is released. It
// checks the machine, image, kernel, subnets, zone and pool, and whether the machine is
// suitable. Of a change in place it checks only the names.
func (r *machineResource) checkAgainstMAAS(ctx context.Context, p machinePlan) {
	b, err := r.client.Backend()
	if err != nil {
		return
	}
	var ref engine.Ref
	var doing string
	spec := p.knownSpec(ctx)
	switch {
	case p.state == nil:
		name := p.plan.Name.ValueString()
		ref, doing = engine.Ref{Key: r.client.Owner.MachineKey(name), Name: name, SystemID: r.client.Run.SystemIDInState("machine " + name)}, "create"
	case len(p.replace) > 0:
		ref, doing = r.ref(*p.state, p.private), "replace"
	default:
		if spec = p.changedNames(); spec.Hostname == "" && spec.InPlaceSettings.Zone == "" && spec.InPlaceSettings.Pool == "" && spec.InPlaceSettings.Domain == "" {
			return
		}
		ref, doing = r.ref(*p.state, p.private), "update"
	}
	// A tainted machine is planned only as new, but the state has it.
	replaces := p.isReplacement || len(p.replace) > 0 || p.state == nil && ref.SystemID != ""
	if !r.client.Run.WantsPlanCheck(replaces) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, client.PlanCheckTimeout)
	defer cancel()
	v := client.ObstacleReport{Object: "machine " + p.plan.Name.ValueString(), Action: doing, Replaces: replaces, Run: &r.client.Run, Diags: p.diags}
	found, remakes := r.client.Run.MachineNames.WithoutFreed(ctx, b.Metal.Check(ctx, ref, spec), p.plan.Name.ValueString())
	v.AddDiagnostics(found, func() bool { return hasFinishedMachine(ctx, b, ref) })
	if doing == "create" && !p.isReplacement && (remakes || ref.SystemID != "" && r.client.Run.MachineNames.Destroys(ctx, ref.SystemID)) {
		client.WarnMadeAnew(v.Object, "It is released, and the data on its disks are lost.", p.diags)
	}
}

// changedNames are the hostname, zone, resource pool and domain that an update in place sets.
func (p machinePlan) changedNames() engine.MachineSpec {
	changed := func(plan, state types.String) string {
		if !values.IsSet(plan) || plan.Equal(state) {
			return ""
		}
		return plan.ValueString()
	}
	return engine.MachineSpec{Hostname: changed(p.plan.Hostname, p.state.Hostname), InPlaceSettings: engine.InPlaceSettings{
		Zone: changed(p.plan.Zone, p.state.Zone), Pool: changed(p.plan.Pool, p.state.Pool), Domain: changed(p.plan.Domain, p.state.Domain),
	}}
}

// knownSpec is the spec of a plan with the values that are known so far. If the machine is not
// known, none is looked up.
func (p machinePlan) knownSpec(ctx context.Context) engine.MachineSpec {
	spec := p.plan.spec(ctx, p.config, new(diag.Diagnostics))
	if p.config.Machine.IsUnknown() || !values.IsFullyKnown(ctx, p.config.Selector) {
		return engine.MachineSpec{InPlaceSettings: spec.InPlaceSettings}
	}
	return spec
}

// hasFinishedMachine tells whether the machine of a new plan is deployed already and finished.
// Then Terraform replaces a tainted machine.
func hasFinishedMachine(ctx context.Context, b *client.Backend, ref engine.Ref) bool {
	m, err := b.Metal.Observe(ctx, ref)
	return err == nil && m.Ours && m.Finished
}
