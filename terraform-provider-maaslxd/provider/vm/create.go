package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	tfpath "github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// Create makes the VM, or goes on with one that an earlier run began. A VM
// that has a system id when waiting ends goes to the state in any case: with
// a warning if the next apply can go on with it, with an error, and so tainted,
// if it is of no use.
func (r *vmResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan, config vmModel
	r.client.Run.BeginApply()
	diags := &resp.Diagnostics
	diags.Append(req.Plan.Get(ctx, &plan)...)
	diags.Append(req.Config.Get(ctx, &config)...)
	checkHostOrPlacement(config, diags) // what was unknown is known by now
	spec, ds := plan.spec(ctx, config)
	diags.Append(ds...)
	wait, cancel := values.WithTimeout(ctx, plan.Timeouts.Create, createTimeout, diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	spec.AwaitName = true
	vm, err := r.create(wait, spec)
	doing := fmt.Sprintf("create VM %s", spec.Name)
	switch createOutcome(wait, vm, err) {
	case diagnostics.NothingCreated:
		diagnostics.ReportErrorAt(diags, config.hostPath(err), doing, config.withOrderHint(err))
		return
	case diagnostics.CreateResumable:
		r.client.ReportUnfinished(wait, diags, unfinishedCreate(vm, spec), err)
	case diagnostics.CreateFailed:
		diagnostics.ReportError(diags, doing, err)
	case diagnostics.CreateSucceeded:
	}
	warnLeftover(spec.Name, vm.Leftover, diags)
	plan.fill(ctx, vm, diags)
	n := privateState{
		Key: r.client.VMKey(spec.Name), MAAS: r.client.EnsureMAASMark(ctx, diags), Pending: err != nil, Ran: vm.Status == engine.StatusDeployed,
		HostMachine: r.readHostMachine(ctx, vm), PinnedCores: spec.PinnedCores, Protected: plan.Protection.ValueBool(), ProtectionApplied: err == nil && plan.Protection.ValueBool(),
	}
	if d := config.deploy(ctx, diags); d != nil {
		n.UserData = values.NewInstalledUserData(d.UserDataWO, d.UserDataWOVersion)
	}
	values.SaveIdentity(ctx, resp.Identity, values.Identity{SystemID: vm.SystemID, MAAS: n.MAAS}, diags)
	saveState(ctx, &resp.State, resp.Identity, plan, diags)
	writePrivateState(ctx, resp.Private, n.withImage(vm), diags)
}

// warnLeftover tells of an instance that a VM has left besides itself.
func warnLeftover(name, leftover string, diags *diag.Diagnostics) {
	if leftover == "" {
		return
	}
	diags.AddWarning(
		fmt.Sprintf("Something of VM %s is left behind", name),
		fmt.Sprintf("The VM is there, but it was composed more than once, or somebody has copied one of its name: MAAS refused a compose after LXD "+
			"had made the instance, or an earlier run was cut off and its ledger lost. Now %s. Look there, and delete it if nobody needs it.", leftover),
	)
}

// hostPath is the attribute that names the host, or the profile, of which an
// error tells that it cannot be used; empty for other errors.
func (m vmModel) hostPath(err error) tfpath.Path {
	typed, ok := errors.AsType[*engine.Error](err)
	unusable := ok && slices.Contains([]engine.ErrorType{engine.HostUnavailable, engine.ProjectNotFound}, typed.Type)
	if ok && typed.Type == engine.ProfileNotFound {
		return tfpath.Root("profile")
	}
	if !unusable || m.VMHost.IsNull() {
		return tfpath.Empty()
	}
	return tfpath.Root("vm_host")
}

func (m vmModel) withOrderHint(err error) error {
	if m.Placement.IsNull() {
		return err
	}
	return diagnostics.WithOrderHint(err)
}

func (r *vmResource) create(ctx context.Context, spec engine.VMSpec) (engine.VM, error) {
	b, err := r.client.Backend()
	if err != nil {
		return engine.VM{}, err
	}
	// Asked here besides, outside of Wait and its patience: a MAAS that was
	// never there is not waited for.
	if _, err := b.Catalog.Capabilities(ctx); err != nil {
		return engine.VM{}, err
	}
	// Before the hosts are listed: an inventory of them from before there was a
	// ledger places nothing, and would have to be read again after a pause.
	if err := b.OpenLedger(ctx); err != nil {
		return engine.VM{}, err
	}
	if err := r.client.PersistOwner(); err != nil {
		return engine.VM{}, err
	}
	key := r.client.VMKey(spec.Name)
	if err := r.client.ClaimKey(key, "VM "+spec.Name); err != nil {
		return engine.VM{}, err
	}
	release, err := r.client.HoldLease(ctx, b, key, "VM", spec.Name)
	if err != nil {
		return engine.VM{}, err
	}
	defer release()
	return client.WaitAndLog(ctx, "VM "+spec.Name, b.VMs.Steps(engine.Ref{Key: key, Name: spec.Name}, spec))
}

// unfinishedCreate describes a VM that is kept in the state before it is finished.
func unfinishedCreate(vm engine.VM, spec engine.VMSpec) client.UnfinishedCreate {
	return client.UnfinishedCreate{Object: "VM " + vm.Hostname, KeptObject: "The VM", Phase: vm.StatusName, SystemID: vm.SystemID, Secrets: spec.Deploy.Secrets()}
}

// createOutcome judges how waiting for a VM within ctx ended.
func createOutcome(ctx context.Context, vm engine.VM, err error) diagnostics.Outcome {
	return diagnostics.OutcomeOf(ctx, vm.SystemID, err, func(err error) bool { return hasCreateFailed(vm, err) })
}

// hasCreateFailed tells whether the error says that this very VM will not get there:
// MAAS gave it up, or the configuration asks of it what cannot be had while
// nothing is installed on it yet. A key that was revoked, a proxy's page or a
// lock say nothing of the VM.
func hasCreateFailed(vm engine.VM, err error) bool {
	if _, ok := errors.AsType[*engine.SpecError](err); ok {
		return vm.Status.Phase() != engine.PhaseDeployed
	}
	e, ok := errors.AsType[*engine.Error](err)
	return ok && (e.Type == engine.VMCreationFailed || e.Type == engine.VMDeploymentFailed) &&
		engine.IsTerminal(err) && !slices.ContainsFunc(errorsOutsideVM, func(s error) bool { return errors.Is(err, s) })
}

// errorsOutsideVM are the causes that lie elsewhere.
var errorsOutsideVM = []error{
	engine.ErrForbidden, engine.ErrUnavailable, engine.ErrUnclear, engine.ErrGone, engine.ErrConflict, engine.ErrBusy,
}
