package vm

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/moved"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
)

// privateStateKey is the key of the notes in the private state of a VM.
const privateStateKey = "vm"

// privateState are the notes of a VM besides its state. They hold no secret.
type privateState struct {
	// Key of the VM in the ledger, with its owner. It is empty in states from before it was
	// recorded: then the mark has it.
	Key engine.Key `json:"key,omitempty"`
	// Pending: an apply stopped waiting before everything was done. The next plan continues.
	Pending bool `json:"pending,omitempty"`
	// Imported: pinned cores, huge pages and the version of the user-data were never known, so
	// the configuration counts.
	Imported bool `json:"imported,omitempty"`
	// MAAS is the mark of the VM's MAAS; empty: the state is from before there were marks.
	MAAS string `json:"maas,omitempty"`
	// TakenOverBy is the key of another owner in the VM's mark, at the last read.
	TakenOverBy engine.Key `json:"taken_over_by,omitempty"`
	// Restarts: an update turned the VM off for a change, and was interrupted.
	Restarts bool `json:"restarts,omitempty"`
	// Protected: the state protects the VM from deletion. The second plan of a
	// replacement has no state.
	Protected bool `json:"protected,omitempty"`
	// ProtectionApplied: the last apply wanted it protected. Somebody may have taken the lock
	// off since.
	ProtectionApplied bool `json:"protection_applied,omitempty"`
	// Ran: the VM was Deployed once, so only a change that says so makes it anew. It stays
	// true.
	Ran bool `json:"ran,omitempty"`
	// Installation names the installation that redeploy_triggers last asked for, or that an
	// import found.
	Installation string `json:"installation,omitempty"`
	// Image that is installed, by MAAS's name, such as "ubuntu/noble"; empty: not known.
	Image string `json:"image,omitempty"`
	// UserData that the VM was installed with.
	UserData values.InstalledUserData `json:"user_data,omitzero"`
	// PinnedCores that the VM was made with, also after their line was removed.
	PinnedCores []int `json:"pinned_cores,omitempty"`
	// ResizedInLXD is the size that an apply last gave the existing VM in LXD, of which MAAS may not
	// know yet; nil: none did.
	ResizedInLXD *vmSize `json:"resized_in_lxd,omitempty"`
	// AddedInterfaces are the labels of the interfaces that were added to the VM after it was made.
	AddedInterfaces []string `json:"added_interfaces,omitempty"`
	// HostMachine is the system id of the machine of the VM's host, whatever the name of the
	// VM host.
	HostMachine string `json:"host_machine,omitempty"`
	// Unclaimed are attributes that an import has read and that no configuration has set
	// since.
	Unclaimed planmodifiers.Unclaimed `json:"unclaimed,omitempty"`
	// Moved: the state came from another provider, and nobody has read the VM yet. The next
	// refresh does.
	Moved *moved.VM `json:"moved,omitempty"`
}

// withImage are the notes with the image of a deployed VM.
func (n privateState) withImage(vm engine.VM) privateState {
	switch vm.Status.Phase() {
	case engine.PhaseDeployed, engine.PhaseDeploying:
		n.Image = vm.Image
	}
	return n
}

// withObserved updates the notes with the observed VM. Its own mark tells whether it is
// finished, also if a run was killed before it could write notes. A VM without our mark was
// imported, and tells nothing.
func (n privateState) withObserved(vm engine.VM) privateState {
	if n.Key == "" {
		n.Key = vm.MarkedBy()
		vm.Ours = vm.Ours || n.Key != ""
	}
	if vm.Ours {
		n.Pending = !vm.Finished
	}
	n.Restarts = vm.RestartPending
	n = n.withImage(vm)
	n.Ran = n.Ran || vm.Status == engine.StatusDeployed || engine.WasFinishedOnce(vm.Machine)
	return n
}

// hasFailedAfterRun tells whether a VM ran, and a redeployment left it in a state that MAAS
// does not change any more. Continuing it would only report the old failure.
func (n privateState) hasFailedAfterRun(status string) bool {
	return n.Ran && (diagnostics.HasMAASGivenUp(status) || diagnostics.HasReleaseFailed(status))
}

// isUnmarked tells whether a VM was imported or moved, and has no mark of any configuration.
func (n privateState) isUnmarked() bool { return n.Imported && n.Key == "" }

// afterUpdate are the notes of a VM after a complete update. The values that an import took
// from the configuration, and those installed now, count as installed.
func (n privateState) afterUpdate(before, after vmModel, deployed *deployModel, spec engine.VMSpec, hostMachine string) privateState {
	if deployed != nil && (n.Imported || before.Deploy.IsNull() || hasPendingWork(n, before, after)) {
		n.UserData = values.NewInstalledUserData(deployed.UserDataWO, deployed.UserDataWOVersion)
	}
	n.Installation = cmp.Or(spec.Installation, n.Installation)
	n.PinnedCores, n.Protected = n.pinnedCoresAfterUpdate(after, before), after.Protection.ValueBool()
	n.ProtectionApplied = n.Protected && !n.Unclaimed.Contains("deletion_protection")
	n.Pending, n.Imported, n.Restarts = false, false, false
	n.HostMachine = cmp.Or(hostMachine, n.HostMachine)
	return n
}

// afterFailedUpdate are the notes of a VM whose update failed.
func (n privateState) afterFailedUpdate(plan vmModel, ref engine.Ref, vm engine.VM) privateState {
	onlyMarks := n.isUnmarked() && ref.Finished // then the VM is finished, in spite of the error
	n.Pending = n.Pending || plan.Status.IsUnknown() && !onlyMarks
	if ref.NewKey != "" && vm.MarkedBy() == ref.NewKey {
		n.Key = ref.NewKey
	}
	n = n.withImage(vm)
	n.Ran = n.Ran || vm.Status == engine.StatusDeployed || engine.WasFinishedOnce(vm.Machine)
	return n
}

// pinnedCoresAfterUpdate are the cores that a VM is pinned to after an update. Removing their
// line keeps them; giving the VM another number of cores does not.
func (n privateState) pinnedCoresAfterUpdate(plan, state vmModel) []int {
	switch wanted, had := pinnedCores(plan.PinnedCores), pinnedCores(state.PinnedCores); {
	case wanted != nil:
		return wanted
	case !plan.Cores.Equal(state.Cores):
		return nil
	case had != nil: // the state is from before it was recorded
		return had
	default:
		return n.PinnedCores
	}
}

// readPrivateState reads the notes; they are empty before the first apply.
func readPrivateState(ctx context.Context, private values.PrivateReader, diags *diag.Diagnostics) privateState {
	var n privateState
	raw, ds := private.GetKey(ctx, privateStateKey)
	diags.Append(ds...)
	if len(raw) == 0 {
		return n
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		diags.AddError("Cannot read the private state of the VM",
			err.Error()+"\n\nThis version of the provider did not write it. Remove the VM from the state and import it.")
	}
	return n
}

// readPrivateStateForPlan are the notes of a VM after a refresh.
func readPrivateStateForPlan(ctx context.Context, private values.PrivateReader, diags *diag.Diagnostics) privateState {
	n := readPrivateState(ctx, private, diags)
	if n.Moved != nil {
		n.Moved.AddUnreadError(diags)
	}
	return n
}

func writePrivateState(ctx context.Context, private values.PrivateWriter, n privateState, diags *diag.Diagnostics) {
	raw, err := json.Marshal(n)
	if err != nil {
		diags.AddError("Cannot write the private state of the VM", err.Error())
		return
	}
	diags.Append(private.SetKey(ctx, privateStateKey, raw)...)
}
