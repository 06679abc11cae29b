package vm

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// checkAgainstMAAS asks MAAS whether the plan can be applied, before the run destroys
// anything. It checks the whole spec of a new or replaced VM, and only the names of a change
// in place. Values that are not known yet are not checked.
func (r *vmResource) checkAgainstMAAS(ctx context.Context, p vmPlan) {
	b, err := r.client.Backend()
	if err != nil {
		return
	}
	// A tainted VM is planned only as new, but the state has it.
	replaces := p.replacement.IsReplaced || len(p.replace) > 0 || p.state == nil && r.client.Run.VMInState(p.plan.Name.ValueString()).SystemID != ""
	if !r.client.Run.WantsPlanCheck(replaces) {
		return
	}
	ref, spec, doing := r.specToCheck(ctx, p)
	if doing == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, client.PlanCheckTimeout)
	defer cancel()
	isPlaced := spec.Host == ""
	if doing == "create" && !replaces && r.client.Run.FinishesHost(spec.Host) {
		spec.Host, spec.Placement = "", engine.Placement{}
	}
	if doing == "create" && spec.Host == "" && r.client.Run.MakesHosts() {
		spec.Placement.Strategy = "" // one of the new hosts may have room
	}
	v := client.ObstacleReport{Object: "VM " + p.plan.Name.ValueString(), Action: doing, Replaces: replaces, IsPlaced: isPlaced, IsForced: p.replacement.IsForced, Run: &r.client.Run, Diags: p.diags}
	found, remakes := r.client.Run.VMNames.WithoutFreed(ctx, b.VMs.Check(ctx, ref, spec), spec.Name)
	v.AddDiagnostics(found, func() bool { return hasFinishedVM(ctx, b, ref) })
	if doing == "create" && !p.replacement.IsReplaced && (remakes || ref.SystemID != "" && r.client.Run.VMNames.Destroys(ctx, ref.SystemID)) {
		client.WarnMadeAnew("VM "+p.plan.Name.ValueString(), "The data on its disks are lost.", p.diags)
	}
	if doing != "update" {
		r.client.Run.CheckVMNeed(ctx, b, spec, v)
	}
}

// specToCheck is the part of a plan that the engine can check, with its verb. There is none if
// the plan has nothing to look up.
func (r *vmResource) specToCheck(ctx context.Context, p vmPlan) (ref engine.Ref, spec engine.VMSpec, doing string) {
	switch {
	case p.state == nil:
		name := p.plan.Name.ValueString()
		ref, doing = engine.Ref{Key: r.client.Owner.VMKey(name), Name: name, SystemID: r.client.Run.VMInState(name).SystemID}, "create"
	case len(p.replace) > 0:
		ref, doing = r.ref(*p.state, p.private), "replace"
	default:
		spec := p.changedNames(ctx)
		if !p.plan.hasSameSize(ctx, *p.state, p.diags) && p.private.HostMachine != "" { // in place: is there room for it?
			spec.Host, spec.Cores, spec.MemoryMiB = p.private.HostMachine, int(p.plan.Cores.ValueInt64()), p.plan.MemoryMiB.ValueInt64()
			if values.IsFullyKnown(ctx, p.config.Disks) {
				spec.Disks = diskSpecs(p.plan.disks(ctx, p.diags))
			}
		}
		spec.AddedInterfaces = interfacePlan{&p}.knownAdded(ctx)
		if spec.Name == "" && spec.Zone == "" && spec.Pool == "" && spec.Domain == "" && spec.Deploy == nil && spec.Host == "" && len(spec.AddedInterfaces) == 0 {
			return ref, spec, ""
		}
		return r.ref(*p.state, p.private), spec, "update"
	}
	return ref, p.knownSpec(ctx), doing
}

// knownAdded are the interfaces that are added in place, if all values of them are known.
func (p interfacePlan) knownAdded(ctx context.Context) []engine.Interface {
	if !p.interfaceDiff.isInPlace() || !values.IsFullyKnown(ctx, p.config.Interfaces) {
		return nil
	}
	return slices.DeleteFunc(interfaceSpecs(ctx, p.config.interfaces(ctx, p.diags)), func(i engine.Interface) bool {
		return !slices.Contains(p.interfaceDiff.added, i.Name)
	})
}

// knownSpec is the spec of a plan with the values that are known so far. Storage pools that
// only the state has are left out: they are those of the former host.
func (p vmPlan) knownSpec(ctx context.Context) engine.VMSpec {
	m := p.plan
	if values.IsSet(p.config.Disks) {
		m.Disks = p.config.Disks
	}
	if !values.IsSet(p.config.VMHost) {
		m.VMHost = types.StringNull()
	}
	spec, _ := m.spec(ctx, p.config)
	if !values.IsSet(m.PinnedCores) || !values.IsFullyKnown(ctx, m.PinnedCores) {
		spec.PinnedCores = nil
	}
	if p.config.Placement.IsUnknown() || p.config.VMHost.IsUnknown() {
		spec.Host, spec.Placement = "", engine.Placement{}
	}
	return spec
}

// changedNames are the names of VM, zone, pool, domain and image that an update in place sets.
func (p vmPlan) changedNames(ctx context.Context) engine.VMSpec {
	changed := func(plan, state types.String) string {
		if !values.IsSet(plan) || plan.Equal(state) {
			return ""
		}
		return plan.ValueString()
	}
	spec := engine.VMSpec{
		Name: changed(p.plan.Name, p.state.Name),
		Zone: changed(p.plan.Zone, p.state.Zone), Pool: changed(p.plan.Pool, p.state.Pool), Domain: changed(p.plan.Domain, p.state.Domain),
	}
	if d := p.plan.deploy(ctx, new(diag.Diagnostics)); d != nil && (p.changesTriggers || p.state.Deploy.IsNull()) {
		spec.Deploy = d.spec(p.config.deploy(ctx, p.diags))
	}
	return spec
}

// hasFinishedVM tells whether the VM of a new plan exists already and is finished. Then
// Terraform replaces a tainted VM.
func hasFinishedVM(ctx context.Context, b *client.Backend, ref engine.Ref) bool {
	vm, err := b.VMs.Observe(ctx, ref)
	return err == nil && vm.Ours && vm.Finished
}
