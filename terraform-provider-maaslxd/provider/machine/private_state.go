package machine

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
)

// privateStateKey is the key of the notes in the private state of a machine.
const privateStateKey = "machine"

// privateState are the notes of a machine besides its state. They hold no secret.
type privateState struct {
	// Key of the machine in the ledger. It changes with its name.
	Key engine.Key `json:"key,omitempty"`
	// Pending: an apply stopped waiting before everything was done.
	Pending bool `json:"pending,omitempty"`
	// Imported: nobody knows all that it was installed with, so the configuration counts.
	Imported bool `json:"imported,omitempty"`
	// Foreign: it has no mark of anybody yet. The next apply marks it.
	Foreign bool `json:"foreign,omitempty"`
	// MAAS is the mark of the machine's MAAS.
	MAAS string `json:"maas,omitempty"`
	// UserData that the machine was installed with.
	UserData values.InstalledUserData `json:"user_data,omitzero"`
	// Image and Kernel that are installed, by MAAS's name; empty: not known.
	Image  string `json:"image,omitempty"`
	Kernel string `json:"kernel,omitempty"`
	// Ephemeral and HardwareSync as MAAS reports them.
	Ephemeral    bool `json:"ephemeral,omitempty"`
	HardwareSync bool `json:"enable_hw_sync,omitempty"`
	// Unclaimed are attributes that an import has read and that no configuration has set
	// since.
	Unclaimed planmodifiers.Unclaimed `json:"unclaimed,omitempty"`
	// Protected: the state protects the machine from deletion. The second plan of a
	// replacement has no state.
	Protected bool `json:"protected,omitempty"`
	// ProtectionApplied: the last apply wanted it protected. Somebody may have taken the lock
	// off since.
	ProtectionApplied bool `json:"protection_applied,omitempty"`
}

// withImported are the notes after a read, which may be the first one after an import.
func (n privateState) withImported(first bool) privateState {
	if first {
		n.Imported, n.Unclaimed = true, planmodifiers.Unclaimed{"tags", "deletion_protection"}
	}
	return n
}

// markOf is the key in the mark of a machine; empty: it has no mark.
func markOf(m engine.BareMetal) engine.Key { return engine.Key(m.OwnerData[engine.KeyData]) }

// hasLostMarks tells whether somebody deleted the machine's owner data by hand. A machine that
// was released is no longer allocated for it.
func (n privateState) hasLostMarks(m engine.BareMetal) bool {
	return n.Key != "" && markOf(m) == "" && m.Ours
}

// isUnread tells whether the notes are those of an import before the first read.
func (n privateState) isUnread() bool { return n.Key == "" && !n.Foreign }

// withObserved updates the notes with the observed machine.
func (n privateState) withObserved(m engine.BareMetal) privateState {
	n.Image, n.Kernel, n.Ephemeral, n.HardwareSync = m.Image, m.Kernel, m.Ephemeral, m.HardwareSync
	mark := markOf(m)
	if n.hasLostMarks(m) {
		mark = n.Key
	}
	if mark != "" && n.Key != "" && engine.Key(m.OwnerData[engine.FormerKeyData]) == n.Key { // a run was killed after it had renamed the machine
		n.Key = mark
	}
	if n.Key == "" {
		n.Key, n.Foreign = mark, mark == ""
	}
	if mark != "" && mark == n.Key {
		n.Pending, n.Foreign = !m.Finished, false
	}
	return n
}

// isGone tells whether the machine of the notes no longer is ours. It was released, which
// takes the marks off, and perhaps someone else has deployed it.
func (n privateState) isGone(m engine.BareMetal) bool {
	if n.Foreign {
		return !isInstalled(m.Machine)
	}
	return markOf(m) != n.Key && !n.hasLostMarks(m)
}

// isInstalled tells whether the machine's disks hold an installation, or a failed one.
func isInstalled(m engine.Machine) bool {
	switch m.Status.Phase() {
	case engine.PhaseDeployed, engine.PhaseFailed, engine.PhaseOther:
		return true
	default:
		return false
	}
}

// afterUpdate are the notes of a machine after a complete update. The values that an import
// took from the configuration, and those installed now, count as installed.
func (n privateState) afterUpdate(key engine.Key, m engine.BareMetal, deployed *deployModel) privateState {
	out := privateState{Key: key, MAAS: n.MAAS, Unclaimed: n.Unclaimed, UserData: n.UserData, Image: m.Image, Kernel: m.Kernel, Ephemeral: m.Ephemeral, HardwareSync: m.HardwareSync}
	if deployed != nil && (n.Imported || n.Pending) {
		out.UserData = values.NewInstalledUserData(deployed.UserDataWO, deployed.UserDataWOVersion)
	}
	return out
}

// installation is what the machine was installed with.
func (n privateState) installation() values.Installation {
	return values.Installation{UserData: n.UserData, Image: n.Image, Kernel: n.Kernel, Imported: n.Imported}
}

func readPrivateState(ctx context.Context, private values.PrivateReader, diags *diag.Diagnostics) privateState {
	return values.ReadPrivateState[privateState](ctx, private, privateStateKey, "machine", diags)
}

func writePrivateState(ctx context.Context, private values.PrivateWriter, n privateState, diags *diag.Diagnostics) {
	values.WritePrivateState(ctx, private, privateStateKey, "machine", n, diags)
}
