package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// Create takes and deploys a machine, or continues one of an interrupted run. If waiting ends
// while the machine makes progress, the state has it with a warning, and the next apply
// continues. If the create failed for good, the state has the machine with an error, and so
// tainted. If nothing was installed on it, MAAS releases it instead.
func (r *machineResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan, config machineModel
	r.client.Run.BeginApply()
	diags := &resp.Diagnostics
	diags.Append(req.Plan.Get(ctx, &plan)...)
	diags.Append(req.Config.Get(ctx, &config)...)
	checkSource(config, diags) // all values are known by now
	spec := plan.spec(ctx, config, diags)
	spec.AwaitName = true
	wait, cancel := values.WithTimeout(ctx, plan.Timeouts.Create, createTimeout, diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	name := plan.Name.ValueString()
	doing := "create machine " + name
	b, m, err := r.create(wait, name, spec)
	switch createOutcome(wait, m, err) {
	case diagnostics.NothingCreated:
		diagnostics.ReportErrorAt(diags, config.sourceAttribute(), doing, err)
		return
	case diagnostics.CreateResumable:
		r.client.ReportUnfinished(wait, diags, client.UnfinishedCreate{
			Object: "Machine " + m.Hostname, KeptObject: "The machine", Phase: m.StatusName, SystemID: m.SystemID, Secrets: spec.Deploy.Secrets(),
		}, err)
	case diagnostics.CreateFailed:
		diagnostics.ReportErrorAt(diags, config.sourceAttribute(), doing, err)
		if m.Status.Phase() == engine.PhaseAllocated {
			r.releaseFailedCreate(ctx, b, m, plan, diags)
			return
		}
	case diagnostics.CreateSucceeded:
	}
	plan.fill(ctx, m, diags)
	n := r.privateStateOfCreate(ctx, config, m, err != nil, diags)
	values.SaveIdentity(ctx, resp.Identity, values.Identity{SystemID: m.SystemID, MAAS: n.MAAS}, diags)
	saveState(ctx, &resp.State, resp.Identity, plan, diags)
	writePrivateState(ctx, resp.Private, n, diags)
}

// privateStateOfCreate are the notes of a machine that a configuration deployed.
func (r *machineResource) privateStateOfCreate(ctx context.Context, config machineModel, m engine.BareMetal, pending bool, diags *diag.Diagnostics) privateState {
	n := privateState{
		Key: r.client.Owner.MachineKey(config.Name.ValueString()), MAAS: r.client.EnsureMAASMark(ctx, diags), Pending: pending,
		Image: m.Image, Kernel: m.Kernel, Ephemeral: m.Ephemeral, HardwareSync: m.HardwareSync, Protected: config.Protection.ValueBool(), ProtectionApplied: !pending && config.Protection.ValueBool(),
	}
	if d := config.deploy(ctx, diags); d != nil {
		n.UserData = values.NewInstalledUserData(d.UserDataWO, d.UserDataWOVersion)
	}
	return n
}

func (r *machineResource) create(ctx context.Context, name string, spec engine.MachineSpec) (*client.Backend, engine.BareMetal, error) {
	b, err := r.client.Backend()
	if err != nil {
		return nil, engine.BareMetal{}, err
	}
	// It is checked before anything is made, and outside of WaitAndLog, which retries.
	if _, err := b.Catalog.Capabilities(ctx); err != nil {
		return b, engine.BareMetal{}, err
	}
	if err := r.client.PersistOwner(); err != nil {
		return b, engine.BareMetal{}, err
	}
	key := r.client.Owner.MachineKey(name)
	if err := r.client.ClaimKey(key, "machine "+name); err != nil {
		return b, engine.BareMetal{}, err
	}
	release, err := r.client.HoldLease(ctx, b, key, "machine", name)
	if err != nil {
		return b, engine.BareMetal{}, err
	}
	defer release()
	m, err := client.WaitAndLog(ctx, "machine "+name, b.Metal.Steps(engine.Ref{Key: key, Name: name}, spec))
	return b, m, err
}

// createOutcome evaluates how a wait for a machine within ctx ended.
func createOutcome(ctx context.Context, m engine.BareMetal, err error) diagnostics.Outcome {
	return diagnostics.OutcomeOf(ctx, m.SystemID, err, func(err error) bool { return hasCreateFailed(m, err) })
}

// hasCreateFailed tells whether the error means that this machine can never be finished. A
// revoked key of MAAS or the page of a proxy does not mean that. Once the machine is Deployed,
// no error does.
func hasCreateFailed(m engine.BareMetal, err error) bool {
	elsewhere := []error{engine.ErrUnavailable, engine.ErrUnclear, engine.ErrGone, engine.ErrBusy, engine.ErrForbidden}
	_, refused := errors.AsType[*engine.Refusal](err)
	_, misspelled := errors.AsType[*engine.SpecError](err)
	return m.Status.Phase() != engine.PhaseDeployed && (refused || misspelled) &&
		!slices.ContainsFunc(elsewhere, func(s error) bool { return errors.Is(err, s) })
}

// releaseFailedCreate undoes a failed create.
func (r *machineResource) releaseFailedCreate(ctx context.Context, b *client.Backend, m engine.BareMetal, plan machineModel, diags *diag.Diagnostics) {
	name := plan.Name.ValueString()
	ref := engine.Ref{Key: r.client.Owner.MachineKey(name), Name: name, SystemID: m.SystemID}
	wait, cancel := values.WithTimeout(ctx, plan.Timeouts.Delete, deleteTimeout, diags)
	defer cancel()
	if err := releaseMachine(wait, b, ref); err != nil && !diagnostics.IsObjectGone(err) {
		diagnostics.ReportError(diags, fmt.Sprintf("release machine %s; the next apply finds it", ref.SystemID), err)
	}
}
