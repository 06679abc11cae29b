package provider

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/maaslxd/maaslxd/engine"
)

// sameHost tells whether vm_host still names the host that the VM is on, by
// name, by id, or by the system id of its machine.
func (p *vmPlan) sameHost(ctx context.Context) bool {
	host := p.plan.VMHost
	switch {
	case host.Equal(p.state.VMHost):
		return true
	case host.IsUnknown():
		return false
	}
	named := host.ValueString()
	return named == p.state.VMHostName.ValueString() ||
		named == strconv.FormatInt(p.state.VMHostID.ValueInt64(), 10) || p.onMachine(ctx, named)
}

// onMachine tells whether the host that the VM is on runs on this machine. While
// the provider is not configured, it does not; what cannot be found out is an
// error, since the answer may cost the VM.
func (p *vmPlan) onMachine(ctx context.Context, systemID string) bool {
	hosts, err := p.listed(ctx)
	if err != nil && !errors.Is(err, errUnknownConfig) && !errors.Is(err, errMissingConfig) {
		report(p.diags, "tell whether VM "+p.state.Name.ValueString()+" is on "+systemID, err)
	}
	id := p.state.VMHostID.ValueInt64() // 0 for none
	return slices.ContainsFunc(hosts, func(h engine.VMHost) bool {
		if id != 0 && h.ID != 0 {
			return h.MachineID == systemID && int64(h.ID) == id
		}
		return h.MachineID == systemID && h.Name == p.state.VMHostName.ValueString()
	})
}

// listed lists the VM hosts.
func (r *vmResource) listed(ctx context.Context) ([]engine.VMHost, error) {
	b, err := r.client.use()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return b.composer.Hosts(ctx)
}
