package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

const importUsage = "Import a machine by its system id (\"4y3h7n\"), its hostname (\"node1\") or its FQDN (\"node1.example.com\")."

// ImportState finds the machine. The Read that follows completes the state.
func (r *machineResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	diags := &resp.Diagnostics
	id, mark := r.client.ResolveImport(ctx, req, diags)
	if diags.HasError() {
		return
	}
	find, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	m, err := r.findMachine(find, strings.TrimSpace(id))
	if err != nil {
		diagnostics.ReportError(diags, fmt.Sprintf("import %q", id), err)
		return
	}
	if why := importRefusal(m); why != "" {
		diags.AddError(fmt.Sprintf("Cannot import %q", id), fmt.Sprintf("Machine %s (%s) %s", m.Hostname, m.SystemID, why))
		return
	}
	diags.Append(resp.State.SetAttribute(ctx, path.Root("id"), types.StringValue(m.SystemID))...)
	values.ReplaceIdentity(ctx, resp.Identity, values.Identity{SystemID: m.SystemID, MAAS: mark}, diags)
	writePrivateState(ctx, resp.Private, privateState{Imported: true}, diags)
}

// findMachine finds a machine by its system id first, then by name.
func (r *machineResource) findMachine(ctx context.Context, id string) (engine.Machine, error) {
	b, err := r.client.Backend()
	if err != nil {
		return engine.Machine{}, err
	}
	if id == "" {
		return engine.Machine{}, fmt.Errorf("the import names no machine. %s", importUsage)
	}
	return b.MachineNamed(ctx, id)
}

// importRefusal says why a machine cannot be a maaslxd_machine; empty: it can.
func importRefusal(m engine.Machine) string {
	marked := strings.Contains(string(m.MarkedBy()), "/"+client.MachineKeyName(""))
	switch {
	case m.HasVMHostInMAAS():
		return "is a VM. Import it as a maaslxd_vm."
	case slices.Contains(m.Tags, engine.HostTag):
		return "is an LXD host. Import it as a maaslxd_vm_host."
	case !marked && !isInstalled(m):
		return fmt.Sprintf("is %s, and nothing is installed on it. A maaslxd_machine that names it deploys it without an import.", m.StatusName)
	}
	return ""
}
