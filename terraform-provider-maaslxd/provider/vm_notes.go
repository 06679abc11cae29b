package provider

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
)

// notesKey is where the notes are in the private state of a VM.
const notesKey = "vm"

// notes are what the provider remembers of a VM besides its state. They hold
// no secret.
type notes struct {
	// Pending: an apply stopped waiting before everything was done. The next
	// plan goes on.
	Pending bool `json:"pending,omitempty"`
	// Imported: pinned cores, huge pages, interfaces and the version of the
	// user-data were never known, so the configuration is believed.
	Imported bool `json:"imported,omitempty"`
}

// seen brings the notes up to date with what was seen of the VM. Its own mark
// says whether it is finished, also where a run was killed before it could
// note anything. A VM without our mark was imported and says nothing.
func (n notes) seen(vm engine.VM) notes {
	if vm.Ours {
		n.Pending = !vm.Finished
	}
	return n
}

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// readNotes reads the notes; there are none before the first apply.
func readNotes(ctx context.Context, private privateReader, diags *diag.Diagnostics) notes {
	var n notes
	raw, ds := private.GetKey(ctx, notesKey)
	diags.Append(ds...)
	if len(raw) == 0 {
		return n
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		diags.AddError("Cannot read the private state of the VM",
			err.Error()+"\n\nIt was not written by this version of the provider. Remove the VM from the state and import it.")
	}
	return n
}

func writeNotes(ctx context.Context, private privateWriter, n notes, diags *diag.Diagnostics) {
	raw, err := json.Marshal(n)
	if err != nil {
		diags.AddError("Cannot write the private state of the VM", err.Error())
		return
	}
	diags.Append(private.SetKey(ctx, notesKey, raw)...)
}
