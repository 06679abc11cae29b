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

// Create makes the VM, or continues one of an interrupted run. If the VM has a system id when
// waiting ends, the state has it in any case. There is a warning if the next apply can
// continue with it. There is an error if it cannot be used, so that it is tainted.
func (r *vmResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan, config vmModel
	r.client.Run.BeginApply()
	diags := &resp.Diagnostics
	diags.Append(req.Plan.Get(ctx, &plan)...)
	diags.Append(req.Config.Get(ctx, &config)...)
	checkHostOrPlacement(config, diags) // all values are known by now
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
		Key: r.client.Owner.VMKey(spec.Name), MAAS: r.client.EnsureMAASMark(ctx, diags), Pending: err != nil, Ran: vm.Status == engine.StatusDeployed,
		HostMachine: r.readHostMachine(ctx, vm), PinnedCores: spec.PinnedCores, Protected: plan.Protection.ValueBool(), ProtectionApplied: err == nil && plan.Protection.ValueBool(),
	}
	if d := config.deploy(ctx, diags); d != nil {
		n.UserData = values.NewInstalledUserData(d.UserDataWO, d.UserDataWOVersion)
	}
	values.SaveIdentity(ctx, resp.Identity, values.Identity{SystemID: vm.SystemID, MAAS: n.MAAS}, diags)
	saveState(ctx, &resp.State, resp.Identity, plan, diags)
	writePrivateState(ctx, resp.Private, n.withImage(vm), diags)
}

// warnLeftover warns of a second instance of a VM.
func warnLeftover(name, leftover string, diags *diag.Diagnostics) {
	if leftover == "" {
		return
	}
	diags.AddWarning(
		fmt.Sprintf("Something of VM %s is left behind", name),
		fmt.Sprintf("The VM exists, but it was composed more than once, or somebody has copied an instance of its name. Either MAAS refused a compose "+
			"after LXD had made the instance, or an earlier run was interrupted and its ledger lost. Now %s. Look there, and delete it if nobody needs it.", leftover),
	)
}

// hostPath is the attribute with the host or the profile that an error says cannot be used;
// empty for other errors.
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
	// It is also checked here, outside of WaitAndLog, which retries: a MAAS that never
	// answered is not waited for.
	if _, err := b.Catalog.Capabilities(ctx); err != nil {
		return engine.VM{}, err
	}
	// This comes before the hosts are listed. An inventory from before the ledger existed
	// places nothing, and would have to be read again after a pause.
	if err := b.OpenLedger(ctx); err != nil {
		return engine.VM{}, err
	}
	if err := r.client.PersistOwner(); err != nil {
		return engine.VM{}, err
	}
	key := r.client.Owner.VMKey(spec.Name)
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

// unfinishedCreate describes a VM that the state keeps before it is finished.
func unfinishedCreate(vm engine.VM, spec engine.VMSpec) client.UnfinishedCreate {
	return client.UnfinishedCreate{Object: "VM " + vm.Hostname, KeptObject: "The VM", Phase: vm.StatusName, SystemID: vm.SystemID, Secrets: spec.Deploy.Secrets()}
}

// createOutcome evaluates how a wait for a VM within ctx ended.
func createOutcome(ctx context.Context, vm engine.VM, err error) diagnostics.Outcome {
	return diagnostics.OutcomeOf(ctx, vm.SystemID, err, func(err error) bool { return hasCreateFailed(vm, err) })
}

// hasCreateFailed tells whether the error means that this VM can never be finished. It failed
// in MAAS, or nothing is installed on it yet and the configuration asks for something that it
// cannot have. A revoked key, the page of a proxy or a lock does not mean that.
func hasCreateFailed(vm engine.VM, err error) bool {
	if _, ok := errors.AsType[*engine.SpecError](err); ok {
		return vm.Status.Phase() != engine.PhaseDeployed
	}
	e, ok := errors.AsType[*engine.Error](err)
	return ok && (e.Type == engine.VMCreationFailed || e.Type == engine.VMDeploymentFailed) &&
		engine.IsTerminal(err) && !slices.ContainsFunc(errorsOutsideVM, func(s error) bool { return errors.Is(err, s) })
}

// errorsOutsideVM are errors whose cause is not the VM.
var errorsOutsideVM = []error{
	engine.ErrForbidden, engine.ErrUnavailable, engine.ErrUnclear, engine.ErrGone, engine.ErrConflict, engine.ErrBusy,
}
