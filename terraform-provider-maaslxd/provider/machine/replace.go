package machine

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine/settle"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// planReplacement lists the attributes whose change cannot be made in place, and says in
// words what that means for the machine.
func (p *machinePlan) planReplacement(ctx context.Context) {
	if want := p.config.Machine; !want.IsNull() && !p.state.namedMachine().IsNamedBy(ctx, want, p.readMachine, p.diags) && !p.hadName(ctx, want) {
		p.replaceBecauseOf("machine", fmt.Sprintf("machine changes. %s is released, and the other machine is deployed", p.state.Hostname.ValueString()))
	}
	if p.changesAddresses(ctx) {
		p.replaceBecauseOf("interfaces", "interfaces changes, and addresses are given before a machine is deployed")
	}
	if why := p.reinstallReason(ctx); why != "" {
		p.replaceBecauseOf("deploy", why)
	}
}

// hadName tells whether that was the machine's name before this configuration renamed it.
func (p *machinePlan) hadName(ctx context.Context, want types.String) bool {
	if want.IsUnknown() || p.config.Hostname.IsNull() {
		return false
	}
	m, err := p.readMachine(ctx, p.state.ID.ValueString())
	return err == nil && settle.WasCalled(m, want.ValueString())
}

// reinstallReason says why what is installed has to be installed anew, "" if it has not.
func (p *machinePlan) reinstallReason(ctx context.Context) string {
	if p.config.Deploy.IsUnknown() {
		return "deploy is not known yet"
	}
	had, want := p.state.deployOrNothing(ctx, p.diags), p.config.deployOrNothing(ctx, p.diags)
	if why := p.private.installation().ReinstallReason(had.Deployment, want.Deployment); why != "" {
		return why
	}
	switch {
	case differsFromInstalled(want.Ephemeral, p.private.Ephemeral):
		return "deploy.ephemeral changes"
	case differsFromInstalled(want.HardwareSync, p.private.HardwareSync):
		return "deploy.enable_hw_sync changes, and MAAS puts its agent on a machine only when it deploys it"
	}
	return ""
}

// differsFromInstalled tells whether a value is wanted that is not so. None is wanted where nothing is
// said.
func differsFromInstalled(want types.Bool, is bool) bool {
	return want.IsUnknown() || !want.IsNull() && want.ValueBool() != is
}

// replaceBecauseOf replaces the machine because of an attribute.
func (p *machinePlan) replaceBecauseOf(attribute, why string) {
	at := path.Root(attribute)
	p.replace.Append(at)
	p.diags.AddAttributeWarning(at, "The machine will be replaced", fmt.Sprintf(
		"%s. Releasing machine %s gives up what is on its disks.", why, p.state.Hostname.ValueString()))
}

// changesAddresses tells whether other fixed addresses are wanted than those that the machine
// was made with. A line that was removed changes nothing, and what the labels are is the
// configuration's own affair.
func (p *machinePlan) changesAddresses(ctx context.Context) bool {
	switch {
	case p.config.Interfaces.IsNull():
		return false
	case !values.IsFullyKnown(ctx, p.plan.Interfaces):
		return true
	}
	had := map[string]interfaceModel{}
	for _, i := range p.state.interfaces(ctx, p.diags) {
		had[i.IP.Canonical()] = i
	}
	want := p.plan.interfaces(ctx, p.diags)
	for _, label := range sortedLabels(want) {
		before, found := had[want[label].IP.Canonical()]
		if !found || !p.isSameInterface(ctx, want[label], before) {
			return true
		}
	}
	return len(want) != len(had)
}

// isSameInterface tells whether two say the same of one address, as far as both say it.
func (p *machinePlan) isSameInterface(ctx context.Context, want, had interfaceModel) bool {
	return (want.NIC.IsNull() || had.NIC.IsNull() || want.NIC.Equal(had.NIC)) &&
		(want.Subnet.IsNull() || had.Subnet.IsNull() || client.IsSameSubnet(ctx, p.listSubnets, want.Subnet, had.Subnet))
}
