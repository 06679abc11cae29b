package machine

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// planReplacement lists the attributes whose change cannot be made in place, and says in
// words what that means for the machine.
func (p *machinePlan) planReplacement(ctx context.Context) {
	if want := p.config.Machine; !want.IsNull() && !p.state.named().IsCalled(ctx, want, p.machine, p.diags) {
		p.replaceBy("machine", fmt.Sprintf("machine changes. %s is released, and the other machine is deployed", p.state.Hostname.ValueString()))
	}
	if p.otherAddresses(ctx) {
		p.replaceBy("interfaces", "interfaces changes, and addresses are given before a machine is deployed")
	}
	if why := p.notes.installed().ReinstallReason(ctx, p.state.Deploy, p.config.Deploy, p.diags); why != "" {
		p.replaceBy("deploy", why)
	}
}

// replaceBy replaces the machine because of an attribute.
func (p *machinePlan) replaceBy(attribute, why string) {
	at := path.Root(attribute)
	p.replace.Append(at)
	p.diags.AddAttributeWarning(at, "The machine will be replaced", fmt.Sprintf(
		"%s. Releasing machine %s gives up what is on its disks.", why, p.state.Hostname.ValueString()))
}

// otherAddresses tells whether other fixed addresses are wanted than those that the machine
// was made with. A line that was removed changes nothing, and what the labels are is the
// configuration's own affair.
func (p *machinePlan) otherAddresses(ctx context.Context) bool {
	switch {
	case p.config.Interfaces.IsNull():
		return false
	case !values.KnownThroughout(ctx, p.plan.Interfaces):
		return true
	}
	had := map[string]interfaceModel{}
	for _, i := range p.state.interfaces(ctx, p.diags) {
		had[i.IP.ValueString()] = i
	}
	want := p.plan.interfaces(ctx, p.diags)
	for _, label := range labels(want) {
		before, found := had[want[label].IP.ValueString()]
		if !found || !p.sameInterface(ctx, want[label], before) {
			return true
		}
	}
	return len(want) != len(had)
}

// sameInterface tells whether two say the same of one address, as far as both say it.
func (p *machinePlan) sameInterface(ctx context.Context, want, had interfaceModel) bool {
	return (want.NIC.IsNull() || had.NIC.IsNull() || want.NIC.Equal(had.NIC)) &&
		(want.Subnet.IsNull() || had.Subnet.IsNull() || client.SameSubnet(ctx, p.subnets, want.Subnet, had.Subnet))
}
