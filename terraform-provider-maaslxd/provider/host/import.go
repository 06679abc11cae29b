package host

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
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

const hostImportUsage = "Import a VM host by the system id (\"4y3h7n\"), the hostname (\"node1\") or the FQDN of its machine, or by its own name in MAAS."

// ImportState finds the VM host. The Read that follows completes the state.
func (r *hostResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	diags := &resp.Diagnostics
	id, mark := r.client.ResolveImport(ctx, req, diags)
	if diags.HasError() {
		return
	}
	find, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	found, err := r.findVMHost(find, strings.TrimSpace(id))
	if err != nil {
		diagnostics.ReportError(diags, fmt.Sprintf("import %q", id), err)
		return
	}
	diags.Append(resp.State.SetAttribute(ctx, path.Root("id"), types.StringValue(found.MachineID))...)
	diags.Append(resp.State.SetAttribute(ctx, path.Root("vm_host_id"), values.OptionalID(found.ID))...)
	values.ReplaceIdentity(ctx, resp.Identity, values.Identity{SystemID: found.MachineID, MAAS: mark}, diags)
	writePrivateState(ctx, resp.Private, privateState{Imported: true}, diags)
}

// findVMHost finds a VM host by its name, or by its machine.
func (r *hostResource) findVMHost(ctx context.Context, id string) (engine.VMHost, error) {
	b, err := r.client.Backend()
	if err != nil {
		return engine.VMHost{}, err
	}
	if id == "" {
		return engine.VMHost{}, fmt.Errorf("the import names no VM host. %s", hostImportUsage)
	}
	all, err := b.Inventory.Hosts(ctx)
	if err != nil {
		return engine.VMHost{}, err
	}
	found, names := vmHostsWhere(all, func(v engine.VMHost) bool { return v.Name == id })
	if len(found) == 0 {
		m, err := b.MachineNamed(ctx, id)
		if errors.Is(err, client.ErrNoSuchMachine) {
			return engine.VMHost{}, fmt.Errorf("MAAS knows no such VM host, and no such machine. %s", hostImportUsage)
		}
		if err != nil {
			return engine.VMHost{}, err
		}
		found, names = vmHostsWhere(all, func(v engine.VMHost) bool { return v.MachineID == m.SystemID })
	}
	switch {
	case len(found) == 0:
		return engine.VMHost{}, fmt.Errorf("MAAS has no VM host on that machine. %s A MAAS after 3.8 finds a VM host by the tag %s of its machine: %s says how to tag it",
			hostImportUsage, engine.HostTag, diagnostics.GuideURL("moving-off-vm-hosts", "before-the-upgrade"))
	case len(found) > 1:
		return engine.VMHost{}, fmt.Errorf("%d VM hosts match: %s. Import by a name that only one has", len(found), strings.Join(names, ", "))
	case found[0].MachineID == "":
		return engine.VMHost{}, fmt.Errorf("MAAS has never reached the LXD of VM host %s, and so knows no machine of it", found[0].Name)
	}
	return found[0], nil
}

// vmHostsWhere returns the VM hosts that match, and their names.
func vmHostsWhere(all []engine.VMHost, matches func(engine.VMHost) bool) (found []engine.VMHost, names []string) {
	for _, v := range all {
		if matches(v) {
			found, names = append(found, v), append(names, v.Name)
		}
	}
	return found, names
}
