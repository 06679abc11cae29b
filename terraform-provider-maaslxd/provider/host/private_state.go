package host

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
)

// privateStateKey is the key of the notes in the private state of a VM host.
const privateStateKey = "vm_host"

// privateState are the notes of a VM host besides its state. They hold no secret.
type privateState struct {
	// Key of the host in the ledger. It changes with its name.
	Key engine.Key `json:"key,omitempty"`
	// Pending: an apply stopped waiting before everything was done.
	Pending bool `json:"pending,omitempty"`
	// Imported: nobody knows how it was set up, so the configuration counts.
	Imported bool `json:"imported,omitempty"`
	// Foreign: it has no mark of anybody yet. The next apply adopts it.
	Foreign bool `json:"foreign,omitempty"`
	// Forgotten: its LXD is no longer registered as a VM host. The next apply registers it
	// again.
	Forgotten bool `json:"forgotten,omitempty"`
	// Unrecorded: its machine lacks the tag or the address that a MAAS without VM hosts finds it
	// by. The next apply writes them.
	Unrecorded bool `json:"unrecorded,omitempty"`
	// MarksLost: somebody deleted the owner data of its machine by hand. The next apply writes
	// the marks again.
	MarksLost bool `json:"marks_lost,omitempty"`
	// Moved: the state came from another provider, and has only the number of the VM host. The
	// next refresh finds it.
	Moved bool `json:"moved,omitempty"`
	// Adopted: the state says that the machine was adopted. The second plan of a replacement has
	// no state.
	Adopted bool `json:"adopted,omitempty"`
	// Unclaimed are attributes that an import has read and that no configuration has set
	// since.
	Unclaimed planmodifiers.Unclaimed `json:"unclaimed,omitempty"`
	// Machine is the system id of the host's machine.
	Machine string `json:"machine,omitempty"`
	// MAAS is the mark of the MAAS that the host is in; empty: the state is from
	// before there were marks.
	MAAS string `json:"maas,omitempty"`
	// UserData that the machine was installed with.
	UserData values.InstalledUserData `json:"user_data,omitzero"`
	// Image and Kernel that are installed, by MAAS's name, such as "ubuntu/noble" and
	// "ga-24.04"; empty: not known.
	Image  string `json:"image,omitempty"`
	Kernel string `json:"kernel,omitempty"`
}

// withObserved updates the notes with the observed host.
func (n privateState) withObserved(h engine.Host) privateState {
	n.Forgotten, n.Machine = h.VMHost.HostKey == "", h.Machine.SystemID
	_, isRecorded := h.Machine.HostRecord()
	n.Unrecorded = h.Finished && !n.Forgotten && !isRecorded && h.Machine.Status.Phase() == engine.PhaseDeployed
	n.Image, n.Kernel = h.Machine.Image, h.Machine.Kernel
	if h.FormerKey != "" && h.FormerKey == n.Key { // a run was killed after it had renamed the host
		n.Key = h.Key
	}
	if n.Key == "" {
		n.Key = engine.Key(h.Machine.OwnerData[engine.KeyData])
		n.Foreign = n.Key == ""
	}
	if h.Key != "" && h.Key == n.Key {
		n.Pending, n.Foreign = !h.Finished, false
	}
	return n
}

// hasLostMarks tells whether somebody deleted the owner data of the host's machine by hand. A
// release deletes it, too, so this needs a proof: the machine is still allocated for the host, or
// MAAS still has the VM host on it, which MAAS releases before no machine. An adopted machine
// needs none: to mark it again costs nothing.
func (n privateState) hasLostMarks(state hostModel, h engine.Host) bool {
	_, isMarked := h.Machine.OwnerData[engine.KeyData]
	switch {
	case isMarked || n.Key == "":
		return false
	case h.Key == n.Key: // it is still allocated for the host
		return true
	case h.Machine.Status.Phase() != engine.PhaseDeployed:
		return false
	case state.VMHostID.IsNull():
		return n.Adopted || values.IsSet(state.Address)
	}
	return h.VMHost.MachineID == h.Machine.SystemID && int64(h.VMHost.ID) == state.VMHostID.ValueInt64()
}

// afterUpdate are the notes of a host after a complete update. The values that an import took
// from the configuration, and those installed now, count as installed.
func (n privateState) afterUpdate(key engine.Key, h engine.Host, deployed *values.Deployment) privateState {
	out := privateState{Key: key, Unclaimed: n.Unclaimed, Machine: h.Machine.SystemID, MAAS: n.MAAS, UserData: n.UserData, Image: h.Machine.Image, Kernel: h.Machine.Kernel}
	if deployed != nil && (n.Imported || n.Pending) {
		out.UserData = values.NewInstalledUserData(deployed.UserDataWO, deployed.UserDataWOVersion)
	}
	return out
}

// hasPendingWork tells whether an apply has work that no attribute shows. An earlier apply
// left the host unfinished, MAAS has forgotten the VM host, or it was imported without a mark.
func (n privateState) hasPendingWork() bool {
	return n.Pending || n.Foreign || n.Forgotten
}

// isGone tells whether the host of the notes no longer exists. Its machine was released, which
// takes the marks off, and perhaps someone else has deployed it.
func (n privateState) isGone(h engine.Host) bool {
	if n.Foreign {
		switch h.Machine.Status.Phase() {
		case engine.PhaseDeployed, engine.PhaseFailed, engine.PhaseOther:
			return false
		default:
			return true
		}
	}
	return h.Key != n.Key
}

func readPrivateState(ctx context.Context, private values.PrivateReader, diags *diag.Diagnostics) privateState {
	return values.ReadPrivateState[privateState](ctx, private, privateStateKey, "VM host", diags)
}

// readPrivateStateForPlan are the notes of a host after a refresh.
func readPrivateStateForPlan(ctx context.Context, private values.PrivateReader, diags *diag.Diagnostics) privateState {
	n := readPrivateState(ctx, private, diags)
	if n.Moved {
		diags.AddError("The moved VM host was not refreshed",
			"Its state comes from a "+canonicalHostType+" and has no other attributes yet. The first refresh reads them. Plan without -refresh=false. "+
				"If the plan did refresh, the configuration lacks this resource: give maaslxd_vm_host the keys of the former resource.")
	}
	return n
}

func writePrivateState(ctx context.Context, private values.PrivateWriter, n privateState, diags *diag.Diagnostics) {
	values.WritePrivateState(ctx, private, privateStateKey, "VM host", n, diags)
}
