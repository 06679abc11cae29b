package vm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/moved"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

const importUsage = moved.ImportUsage

// ImportState finds the VM. The Read that follows completes the state.
func (r *vmResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	diags := &resp.Diagnostics
	id, mark := r.client.ResolveImport(ctx, req, diags)
	if diags.HasError() {
		return
	}
	find, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	m, isVM, err := r.findVM(find, strings.TrimSpace(id))
	if err != nil {
		diagnostics.ReportError(diags, fmt.Sprintf("import %q", id), err)
		return
	}
	if !isVM {
		diags.AddError(fmt.Sprintf("Cannot import %q", id),
			fmt.Sprintf("Machine %s (%s) is not a VM on a VM host of MAAS. %s", m.Hostname, m.SystemID, importUsage))
		return
	}
	diags.Append(resp.State.SetAttribute(ctx, path.Root("id"), types.StringValue(m.SystemID))...)
	values.ReplaceIdentity(ctx, resp.Identity, values.Identity{SystemID: m.SystemID, MAAS: mark}, diags)
	writePrivateState(ctx, resp.Private, privateState{Imported: true}, diags)
}

// findVM finds a machine by its system id first, then by name, and tells whether it is a VM.
func (r *vmResource) findVM(ctx context.Context, id string) (m engine.Machine, isVM bool, err error) {
	b, err := r.client.Backend()
	if err != nil {
		return m, false, err
	}
	if id == "" {
		return m, false, fmt.Errorf("the import names no VM. %s", importUsage)
	}
	if m, err = b.MachineNamed(ctx, id); err != nil || m.HostID != 0 {
		return m, err == nil, err
	}
	_, err = b.Inventory.HostOf(ctx, m)
	if errors.Is(err, engine.ErrConflict) {
		return m, false, nil
	}
	return m, err == nil, err
}

// MoveState takes over VMs of Canonical's provider for MAAS, and of the provider for LXD. The
// CLI moves states before it configures a provider, so it makes no call. The Read that follows
// finds the VM, and the rest.
func (r *vmResource) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: moveVMState}}
}

// moveVMState makes a state with the values of an import.
func moveVMState(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
	m := moved.ReadVM(req, &resp.Diagnostics)
	if m == nil {
		return
	}
	resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("id"), types.StringValue(m.PlaceholderID()))...)
	writePrivateState(ctx, resp.TargetPrivate, privateState{Imported: true, Moved: m}, &resp.Diagnostics)
}
