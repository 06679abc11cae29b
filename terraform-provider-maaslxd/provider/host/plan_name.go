package host

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// checkPlannedName looks for another VM host with the name that the plan gives this one. MAAS allows
// that. Two VM hosts of one owner would have the same key, so the name of one is an error. The name of
// any other is a warning: no VM can name its VM host by it.
func (r *hostResource) checkPlannedName(ctx context.Context, b *client.Backend, p hostPlan) {
	if !values.IsSet(p.plan.Name) || p.state != nil && p.state.Name.Equal(p.plan.Name) || p.isReplacement {
		return
	}
	name, own := p.plan.Name.ValueString(), ""
	if p.state != nil {
		own = p.state.ID.ValueString()
	}
	hosts, err := b.Inventory.Hosts(ctx)
	if err != nil {
		return // other checks say that MAAS does not answer
	}
	for _, h := range hosts {
		if h.Name != name || h.MachineID == own || h.MachineID == "" || r.client.Run.HostNames.IsFreed(ctx, h.MachineID, name) {
			continue
		}
		m, err := b.Machines.Machine(ctx, h.MachineID)
		if err != nil {
			return
		}
		switch isOwn := r.client.Owner.HostKey(name) == engine.Key(m.OwnerData[engine.KeyData]); {
		case isOwn && p.state == nil: // it is an obstacle of its own
		case isOwn:
			p.diags.AddAttributeError(path.Root("name"), "Cannot rename VM host "+p.state.Name.ValueString(), fmt.Sprintf(
				"Another VM host of this owner has the name %s, on machine %s (system id %s). Nothing is changed. Give one of them another name. %s",
				name, m.Hostname, m.SystemID, client.DestroyAllHint))
		default:
			p.diags.AddAttributeWarning(path.Root("name"), "MAAS has another VM host "+name, fmt.Sprintf(
				"It is on machine %s (system id %s). MAAS allows two VM hosts of one name, but a VM cannot name its VM host by %q then: only by its id. "+
					"If you can, choose another name.", m.Hostname, m.SystemID, name))
		}
		return
	}
}
