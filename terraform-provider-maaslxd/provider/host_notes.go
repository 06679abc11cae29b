package provider

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
)

// hostNotesKey is where the notes are in the private state of a VM host.
const hostNotesKey = "vm_host"

// hostNotes are what the provider remembers of a VM host besides its state.
// They hold no secret.
type hostNotes struct {
	// Key that the host was made by. It stays when the host is renamed.
	Key engine.Key `json:"key,omitempty"`
	// Pending: an apply stopped waiting before everything was done.
	Pending bool `json:"pending,omitempty"`
	// Imported: how it was set up is not known, so the configuration is
	// believed.
	Imported bool `json:"imported,omitempty"`
	// Foreign: it carries no mark of anybody's yet. The next apply adopts it.
	Foreign bool `json:"foreign,omitempty"`
	// Forgotten: nothing knows its LXD as a VM host any more. The next apply
	// makes it known again.
	Forgotten bool `json:"forgotten,omitempty"`
}

// seen brings the notes up to date with what was seen of the host.
func (n hostNotes) seen(h engine.Host) hostNotes {
	n.Forgotten = h.VMHost.HostKey == ""
	if n.Key == "" {
		n.Key, n.Foreign = h.Key, h.Key == ""
	}
	if h.Key != "" && h.Key == n.Key {
		n.Pending, n.Foreign = !h.Finished, false
	}
	return n
}

// gone tells whether what the notes are of is not there any more: the machine
// was released, and perhaps deployed anew by someone else, which takes the
// marks off.
func (n hostNotes) gone(h engine.Host) bool {
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

func readHostNotes(ctx context.Context, private privateReader, diags *diag.Diagnostics) hostNotes {
	var n hostNotes
	raw, ds := private.GetKey(ctx, hostNotesKey)
	diags.Append(ds...)
	if len(raw) == 0 {
		return n
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		diags.AddError("Cannot read the private state of the VM host",
			err.Error()+"\n\nIt was not written by this version of the provider. Remove the VM host from the state and import it.")
	}
	return n
}

func writeHostNotes(ctx context.Context, private privateWriter, n hostNotes, diags *diag.Diagnostics) {
	raw, err := json.Marshal(n)
	if err != nil {
		diags.AddError("Cannot write the private state of the VM host", err.Error())
		return
	}
	diags.Append(private.SetKey(ctx, hostNotesKey, raw)...)
}
