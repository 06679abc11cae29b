package vm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// Update changes in place what MAAS can change, deploys a VM on which nothing is installed,
// and finishes an unfinished one. An error here does not taint the VM: the state says how far
// it has come, and the next apply continues.
func (r *vmResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, config, state vmModel
	r.client.Run.BeginApply()
	diags := &resp.Diagnostics
	diags.Append(slices.Concat(req.Plan.Get(ctx, &plan), req.Config.Get(ctx, &config), req.State.Get(ctx, &state))...)
	config = unlessIgnored(config, plan)
	n := readPrivateState(ctx, req.Private, diags)
	spec := plan.changeSpec(ctx, config, state, n, diags)
	wait, cancel := values.WithTimeout(ctx, plan.Timeouts.Update, updateTimeoutOf(plan), diags)
	defer cancel()
	interfacePlan{&vmPlan{config: config, plan: plan, state: &state, private: n, listSubnets: r.client.Subnets, observeVM: r.observeVM, diags: diags}}.splitAddedInterfaces(wait, &spec)
	r.client.PersistAdopter(n.Key, diags)
	if diags.HasError() {
		return
	}
	ref := r.ref(state, n)
	ref.NewKey, ref.Finished = client.KeyAfterRename(ref.Key, spec.Name), !hasPendingWork(n, state, plan)
	vm, err := r.update(wait, ref, spec, n.MAAS)
	n.MAAS = r.client.MAASAfterUpdate(ctx, vm.SystemID, n.MAAS, diags)
	if err == nil {
		n.Unclaimed = n.Unclaimed.WithoutClaimed(map[string]attr.Value{"tags": config.Tags, "deletion_protection": config.Protection})
		warnUnplannedStatus(plan, vm, diags)
		plan.fill(ctx, vm, diags)
		saveState(ctx, &resp.State, resp.Identity, plan, diags)
		n.ResizedInLXD = sizeGivenInLXD(ctx, plan, spec, n, diags)
		n = n.afterUpdate(state, plan, config.deploy(ctx, diags), spec, r.readHostMachine(ctx, vm)).withImage(vm)
		n.Key, n.AddedInterfaces = cmp.Or(vm.MarkedBy(), ref.Key), plan.addedInterfaceLabels(ctx, n.AddedInterfaces, vm, diags)
		writePrivateState(ctx, resp.Private, n, diags)
		return
	}
	diagnostics.ReportUpdate(wait, diags, fmt.Sprintf("update VM %s (%s)", spec.Name, state.ID.ValueString()), "VM "+spec.Name, err)
	if vm.SystemID != "" {
		vm, n = refreshAfterFailure(ctx, r, plan, &state, spec, n, vm, diags)
		saveState(ctx, &resp.State, resp.Identity, state, diags)
		n = n.afterFailedUpdate(plan, ref, vm)
		n.AddedInterfaces, n.Protected, n.ProtectionApplied = state.addedInterfaceLabels(ctx, n.AddedInterfaces, vm, diags), state.Protection.ValueBool(), values.IsProtectedAfterFailure(config.Protection, state.Protection, n.ProtectionApplied)
		writePrivateState(ctx, resp.Private, n, diags)
	}
}

// refreshAfterFailure records in the state and the notes how far a failed update came, and returns
// the VM as MAAS and LXD show it.
func refreshAfterFailure(ctx context.Context, r *vmResource, plan vmModel, state *vmModel, spec engine.VMSpec, n privateState, vm engine.VM, diags *diag.Diagnostics) (engine.VM, privateState) {
	vm = observeAfterFailure(ctx, r, n, vm)
	state.refreshUnfinished(ctx, plan, spec, n.AddedInterfaces, vm, diags)
	if len(vm.Disks) > 0 { // otherwise nobody tells the size
		n.ResizedInLXD = sizeGivenInLXD(ctx, *state, spec, n, diags)
	}
	return vm, n
}

// observeAfterFailure adds to a VM whose update failed what LXD tells of it. MAAS alone shows the
// size as of the last commissioning. Without LXD's word, the size is unknown, and the state keeps
// the disks that it has.
func observeAfterFailure(ctx context.Context, r *vmResource, n privateState, vm engine.VM) engine.VM {
	inLXD, err := r.makesVMsInLXD(ctx)
	if err == nil && !inLXD && n.ResizedInLXD == nil {
		return vm
	}
	if err == nil && inLXD {
		if seen, err := r.observeVM(ctx, vm.SystemID); err == nil {
			vm.Machine = seen.Machine
			return vm
		}
	}
	vm.Cores, vm.MemoryMiB, vm.Disks = 0, 0, nil
	return vm
}

// unlessIgnored is the configuration without what ignore_changes names.
func unlessIgnored(config, plan vmModel) vmModel {
	config.Zone, config.Pool, config.Domain = values.UnlessIgnored(config.Zone, plan.Zone), values.UnlessIgnored(config.Pool, plan.Pool), values.UnlessIgnored(config.Domain, plan.Domain)
	config.Description, config.Protection = values.UnlessIgnored(config.Description, plan.Description), values.UnlessIgnored(config.Protection, plan.Protection)
	config.Profile, config.Tags = values.UnlessIgnored(config.Profile, plan.Profile), values.UnlessIgnored(config.Tags, plan.Tags)
	return config
}

// changeSpec turns a plan into a spec for the VM of this state. The state shows what is to be
// removed.
func (m vmModel) changeSpec(ctx context.Context, config, state vmModel, n privateState, diags *diag.Diagnostics) engine.VMSpec {
	spec, ds := m.spec(ctx, config)
	diags.Append(ds...)
	spec.RemovedTags, spec.AwaitName = values.Difference(state.tags(), spec.Tags), true
	spec.RemovedAnnotations = values.RemovedAnnotations(state.Annotations, m.Annotations)
	spec.Resize = !m.hasSameSize(ctx, state, diags)
	spec.RemovedConfig, spec.RemovedDevices = m.settings().RemovedKeys(state.settings())
	spec.Reconfigure = !m.settings().Equal(state.settings())
	if changesRedeployTriggers(state, m) {
		spec.Installation = m.installationWord(n.Installation)
	}
	if spec.Locked == nil && n.ProtectionApplied {
		spec.Locked = new(bool) // the line was removed; a lock that an import has read belongs to somebody else
	}
	return spec
}

// warnUnplannedStatus warns that the VM does not have the planned status. The state gets the
// planned one, since Terraform allows no other. The next refresh shows the real one.
func warnUnplannedStatus(plan vmModel, vm engine.VM, diags *diag.Diagnostics) {
	if plan.Status.IsUnknown() || plan.Status.ValueString() == vm.StatusName {
		return
	}
	diags.AddWarning(
		fmt.Sprintf("VM %s is %s, and %s was planned", vm.Hostname, vm.StatusName, plan.Status.ValueString()),
		"Its state changed after the plan was made, or the plan did not read it. The planned changes were made. Nothing was installed or repaired, "+
			"because that was not planned. The next plan shows what is left to be done.")
}

// update changes the VM to match the spec, in the MAAS of the known mark.
func (r *vmResource) update(ctx context.Context, ref engine.Ref, spec engine.VMSpec, known string) (engine.VM, error) {
	b, err := r.client.Backend()
	if err != nil {
		return engine.VM{}, err
	}
	if _, err := b.RequireSameMAAS(ctx, known); err != nil {
		return engine.VM{}, err
	}
	if !ref.Finished { // otherwise a create of another configuration could take it over
		release, err := r.client.HoldLease(ctx, b, ref.Key, "VM", spec.Name)
		if err != nil {
			return engine.VM{}, err
		}
		defer release()
	}
	return client.WaitAndLog(ctx, "VM "+spec.Name, b.VMs.Steps(ref, spec))
}

// updateTimeoutOf gives an unfinished VM the time of a create.
func updateTimeoutOf(plan vmModel) time.Duration {
	if plan.Status.IsUnknown() {
		return createTimeout
	}
	return updateTimeout
}
