package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
)

const importUsage = "Import a VM by its system id (\"4y3h7n\"), its hostname (\"web-1\") or its FQDN (\"web-1.example.com\")."

// ImportState finds the VM; the Read that follows fills in the state.
func (r *vmResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	diags := &resp.Diagnostics
	id := importID(ctx, req, diags)
	if diags.HasError() {
		return
	}
	find, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	m, isVM, err := r.find(find, strings.TrimSpace(id))
	if err != nil {
		report(diags, fmt.Sprintf("import %q", id), err)
		return
	}
	if !isVM {
		diags.AddError(fmt.Sprintf("Cannot import %q", id),
			fmt.Sprintf("Machine %s (%s) is not a VM on a VM host of MAAS. %s", m.Hostname, m.SystemID, importUsage))
		return
	}
	diags.Append(resp.State.SetAttribute(ctx, path.Root("id"), types.StringValue(m.SystemID))...)
	saveIdentity(ctx, resp.Identity, m.SystemID, diags)
	writeNotes(ctx, resp.Private, notes{Imported: true}, diags)
}

// find looks for a machine by system id first, then by name, and tells whether
// it is a VM.
func (r *vmResource) find(ctx context.Context, id string) (m engine.Machine, isVM bool, err error) {
	b, err := r.client.use()
	if err != nil {
		return m, false, err
	}
	if id == "" {
		return m, false, fmt.Errorf("no VM is named. %s", importUsage)
	}
	if m, err = machineNamed(ctx, b, id); err != nil || m.HostID != 0 {
		return m, err == nil, err
	}
	_, err = b.composer.HostOf(ctx, m)
	if errors.Is(err, engine.ErrConflict) {
		return m, false, nil
	}
	return m, err == nil, err
}

// machineNamed finds a machine by system id, hostname or FQDN.
func machineNamed(ctx context.Context, b *backend, id string) (engine.Machine, error) {
	hostname, _, qualified := strings.Cut(id, ".")
	if !qualified {
		m, err := b.machines.Machine(ctx, id)
		if err == nil || !errors.Is(err, engine.ErrNotFound) {
			return m, err
		}
	}
	named, err := b.machines.MachinesNamed(ctx, hostname)
	if err != nil {
		return engine.Machine{}, err
	}
	return only(id, named)
}

// only returns the one machine that an import id can mean.
func only(id string, named []engine.Machine) (engine.Machine, error) {
	var found []engine.Machine
	var ids []string
	for _, m := range named {
		if !strings.Contains(id, ".") || m.FQDN == id {
			found = append(found, m)
			ids = append(ids, m.SystemID+" ("+m.FQDN+")")
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return engine.Machine{}, fmt.Errorf("MAAS knows no such machine: a system id, a hostname or an FQDN is wanted")
	default:
		return engine.Machine{}, fmt.Errorf("%d machines have that name: %s. Import by system id", len(ids), strings.Join(ids, ", "))
	}
}

// importID is what an import names: a text, or the system id of an identity.
func importID(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) string {
	if req.ID != "" || req.Identity == nil {
		return req.ID
	}
	var identity vmIdentity
	diags.Append(req.Identity.Get(ctx, &identity)...)
	return identity.SystemID.ValueString()
}
