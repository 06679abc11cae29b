package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// isSameHost tells whether vm_host still names the VM's host: by name, by id, or by the system
// id of its machine.
func (p *vmPlan) isSameHost(ctx context.Context) bool {
	host := p.plan.VMHost
	switch {
	case host.Equal(p.state.VMHost):
		return true
	case host.IsUnknown():
		return false
	}
	named := host.ValueString()
	if p.newHostName != nil && p.newHostName(p.private.HostMachine) == named {
		p.plan.VMHostName = types.StringUnknown()
		return true
	}
	return named == p.state.VMHostName.ValueString() ||
		named == strconv.FormatInt(p.state.VMHostID.ValueInt64(), 10) || p.isOnMachine(ctx, named)
}

// followHostPlan replaces a VM whose host the run replaces. It refuses the plan if the run
// destroys the host, because the VM would be lost with it.
func (p *vmPlan) followHostPlan() {
	if p.destroysHost == nil || len(p.replace) > 0 {
		return
	}
	leaves, replaced := p.destroysHost(p.private.HostMachine)
	name, host := p.state.Name.ValueString(), p.state.VMHostName.ValueString()
	switch {
	case replaced:
		p.plan.VMHostName = types.StringUnknown()
		p.replace.Append(path.Root("vm_host_name"))
		p.diags.AddWarning(fmt.Sprintf("VM %s is replaced with VM host %s", name, host), fmt.Sprintf(
			"%s is on VM host %s, which this run replaces, and is replaced with it. To say so in the configuration, set vm_host = "+
				"maaslxd_vm_host.NAME.id; with placement, give it lifecycle { replace_triggered_by = [maaslxd_vm_host.NAME.id] }.", name, host))
	case leaves:
		refuseHostDestroy(p, "delete")
	}
}

// refuseHostDestroy refuses a plan that destroys the VM host and leaves the VM on it.
func refuseHostDestroy(p *vmPlan, verb string) {
	p.diags.AddError(fmt.Sprintf("Cannot %s VM host %s", verb, p.state.VMHostName.ValueString()), fmt.Sprintf(
		"1 VM would stay on it: %s. The plan stops here, before anything is destroyed.\n\nTake the VM out of the configuration, too, "+
			"or replace it on another VM host first. %s says how. %s", p.state.Name.ValueString(), diagnostics.GuideURL("day-two", "emptying-a-vm-host"), client.DestroyAllHint))
}

// refuseStayingOnDestroyedHost refuses a plan in which the VM host was planned after
// followHostPlan had looked, and before the VM was noted as staying. Then neither plan has seen
// the other one.
func refuseStayingOnDestroyedHost(p *vmPlan) {
	switch leaves, replaced := p.destroysHost(p.private.HostMachine); {
	case replaced:
		refuseHostDestroy(p, "replace")
	case leaves && !p.diags.HasError(): // else followHostPlan has said so
		refuseHostDestroy(p, "delete")
	}
}

// isOnMachine tells whether the VM's host runs on this machine. If the provider is not
// configured, it is false. If it cannot be found out, that is an error, since a wrong answer
// may destroy the VM.
func (p *vmPlan) isOnMachine(ctx context.Context, systemID string) bool {
	hosts, err := p.listHosts(ctx)
	if err != nil && !errors.Is(err, client.ErrUnknownConfig) && !errors.Is(err, client.ErrMissingConfig) {
		diagnostics.ReportError(p.diags, "find out whether VM "+p.state.Name.ValueString()+" is on "+systemID, err)
	}
	id := p.state.VMHostID.ValueInt64() // 0 if there is none
	return slices.ContainsFunc(hosts, func(h engine.VMHost) bool {
		if h.MachineID != "" && h.MachineID == p.private.HostMachine && h.MatchesName(systemID) {
			return true // this run renames it
		}
		if id != 0 && h.ID != 0 {
			return h.MachineID == systemID && int64(h.ID) == id
		}
		return h.MachineID == systemID && h.Name == p.state.VMHostName.ValueString()
	})
}

// listHosts lists the VM hosts.
func (r *vmResource) listHosts(ctx context.Context) ([]engine.VMHost, error) {
	b, err := r.client.Backend()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	return b.Inventory.Hosts(ctx)
}

// readHostMachine is the system id of the machine of a VM's host; empty if nobody knows it.
func (r *vmResource) readHostMachine(ctx context.Context, vm engine.VM) string {
	b, err := r.client.Backend()
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), client.PlanCheckTimeout)
	defer cancel()
	host, err := b.Inventory.HostOf(ctx, vm.Machine)
	if err != nil {
		return ""
	}
	return host.MachineID
}
