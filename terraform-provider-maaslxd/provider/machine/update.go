package machine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// Update changes in place what MAAS can change, marks an imported machine, and finishes an
// unfinished one. An error here does not taint the machine: the next apply continues.
func (r *machineResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, config, state machineModel
	r.client.Run.BeginApply()
	diags := &resp.Diagnostics
	diags.Append(req.Plan.Get(ctx, &plan)...)
	diags.Append(req.Config.Get(ctx, &config)...)
	diags.Append(req.State.Get(ctx, &state)...)
	config = unlessIgnored(config, plan)
	n := readPrivateState(ctx, req.Private, diags)
	spec := plan.changedSpec(ctx, config, state, n, diags)
	wait, cancel := values.WithTimeout(ctx, plan.Timeouts.Update, updateTimeoutOf(plan), diags)
	defer cancel()
	r.client.PersistAdopter(n.Key, diags)
	if diags.HasError() {
		return
	}
	ref := r.ref(state, n)
	ref.NewKey = client.KeyAfterRename(ref.Key, client.MachineKeyName(plan.Name.ValueString()))
	ref.Finished = !n.Pending && !n.Foreign
	m, err := r.update(wait, ref, spec, n.MAAS)
	n.MAAS = r.client.MAASAfterUpdate(ctx, m.SystemID, n.MAAS, diags)
	if err == nil {
		n.Unclaimed = n.Unclaimed.WithoutClaimed(map[string]attr.Value{"tags": config.Tags, "deletion_protection": config.Protection})
		plan.fill(ctx, m, diags)
		saveState(ctx, &resp.State, resp.Identity, plan, diags)
		n = n.afterUpdate(cmp.Or(markOf(m), ref.Key), m, config.deploy(ctx, diags))
		n.Protected, n.ProtectionApplied = plan.Protection.ValueBool(), config.Protection.ValueBool()
		writePrivateState(ctx, resp.Private, n, diags)
		return
	}
	diagnostics.ReportUpdate(wait, diags, fmt.Sprintf("update machine %s (%s)", plan.Name.ValueString(), state.ID.ValueString()), "Machine "+plan.Name.ValueString(), err)
	if m.SystemID != "" {
		state.refreshUnfinished(ctx, plan, m, diags)
		saveState(ctx, &resp.State, resp.Identity, state, diags)
		n = n.withObserved(m)
		n.Protected, n.ProtectionApplied = state.Protection.ValueBool(), values.IsProtectedAfterFailure(config.Protection, state.Protection, n.ProtectionApplied)
		writePrivateState(ctx, resp.Private, n, diags)
	}
}

// unlessIgnored is the configuration without what ignore_changes names.
func unlessIgnored(config, plan machineModel) machineModel {
	config.Hostname, config.Domain = values.UnlessIgnored(config.Hostname, plan.Hostname), values.UnlessIgnored(config.Domain, plan.Domain)
	config.Zone, config.Pool = values.UnlessIgnored(config.Zone, plan.Zone), values.UnlessIgnored(config.Pool, plan.Pool)
	config.Description, config.Protection = values.UnlessIgnored(config.Description, plan.Description), values.UnlessIgnored(config.Protection, plan.Protection)
	config.Tags = values.UnlessIgnored(config.Tags, plan.Tags)
	return config
}

// changedSpec is the spec of an existing machine after the change. A machine without a mark is
// taken over as it is installed. From then on, a destroy of this configuration releases it.
func (m machineModel) changedSpec(ctx context.Context, config, state machineModel, n privateState, diags *diag.Diagnostics) engine.MachineSpec {
	spec := m.spec(ctx, config, diags)
	spec.Deploy, spec.AwaitName = m.plannedDeployment(ctx, config, diags), true
	spec.InPlaceSettings.RemovedTags = values.Difference(values.SortedStrings(state.Tags), spec.InPlaceSettings.Tags)
	spec.InPlaceSettings.RemovedAnnotations = values.RemovedAnnotations(state.Annotations, m.Annotations)
	if spec.InPlaceSettings.Locked == nil && n.ProtectionApplied {
		spec.InPlaceSettings.Locked = new(bool) // the line was removed; a lock that an import has read belongs to somebody else
	}
	if n.Foreign {
		spec.Machine, spec.Select, spec.Interfaces, spec.Adopt, spec.TakeOwnership = state.ID.ValueString(), engine.Selector{}, nil, true, true
	}
	return spec
}

// update changes the machine to match the spec, in the MAAS of the known mark.
func (r *machineResource) update(ctx context.Context, ref engine.Ref, spec engine.MachineSpec, known string) (engine.BareMetal, error) {
	b, err := r.client.Backend()
	if err != nil {
		return engine.BareMetal{}, err
	}
	if _, err := b.RequireSameMAAS(ctx, known); err != nil {
		return engine.BareMetal{}, err
	}
	if !ref.Finished { // otherwise a create of another configuration could take it over
		release, err := r.client.HoldLease(ctx, b, ref.Key, "machine", ref.Name)
		if err != nil {
			return engine.BareMetal{}, err
		}
		defer release()
	}
	return client.WaitAndLog(ctx, "machine "+ref.Name, b.Metal.Steps(ref, spec))
}

// updateTimeoutOf gives an unfinished machine the time of a create.
func updateTimeoutOf(plan machineModel) time.Duration {
	if plan.Status.IsUnknown() {
		return createTimeout
	}
	return updateTimeout
}
