package machine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/inplace"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// planReplacement lists the attributes that cannot change in place, and explains what that
// means for the machine.
func (p *machinePlan) planReplacement(ctx context.Context) {
	if want := p.config.Machine; !want.IsNull() && !p.state.namedMachine().IsNamedBy(ctx, want, p.readMachine, p.diags) && !p.hadName(ctx, want) {
		p.replaceBecauseOf("machine", fmt.Sprintf("machine changes. MAAS releases %s and deploys the other machine", p.state.Hostname.ValueString()))
	}
	if p.changesAddresses(ctx) {
		p.replaceBecauseOf("interfaces", "interfaces changes, and MAAS sets addresses only before it deploys a machine")
	}
	if why := p.reinstallReason(ctx); why != "" {
		p.replaceBecauseOf("deploy", why)
	}
}

// hadName tells whether the machine had that name before a configuration renamed it. Without the line
// hostname, the name means this machine only if no other machine has it now.
func (p *machinePlan) hadName(ctx context.Context, want types.String) bool {
	if want.IsUnknown() {
		return false
	}
	m, err := p.readMachine(ctx, p.state.ID.ValueString())
	if err != nil || !inplace.WasCalled(m, want.ValueString()) {
		return false
	}
	if !p.config.Hostname.IsNull() {
		return true
	}
	_, err = client.FindMachineNamed(ctx, p.client, want.ValueString())
	return errors.Is(err, client.ErrNoSuchMachine)
}

// reinstallReason says why the machine must be installed anew, or "" if it need not.
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

// differsFromInstalled tells whether the configuration wants another value than the installed
// one. A null value wants none.
func differsFromInstalled(want types.Bool, is bool) bool {
	return want.IsUnknown() || !want.IsNull() && want.ValueBool() != is
}

// replaceBecauseOf makes an attribute replace the machine.
func (p *machinePlan) replaceBecauseOf(attribute, why string) {
	at := path.Root(attribute)
	p.replace.Append(at)
	p.diags.AddAttributeWarning(at, "The machine will be replaced", fmt.Sprintf(
		"%s. Releasing machine %s destroys the data on its disks.", why, p.state.Hostname.ValueString()))
}

// changesAddresses tells whether the plan wants other fixed addresses than those that the
// machine was deployed with. A removed line changes nothing, and labels exist only in the
// configuration.
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
	present := sync.OnceValue(func() engine.Machine {
		m, _ := p.readMachine(ctx, p.state.ID.ValueString()) // without an answer, only equal texts are the same
		return m
	})
	want := p.plan.interfaces(ctx, p.diags)
	for _, label := range sortedLabels(want) {
		before, found := had[want[label].IP.Canonical()]
		if !found || !p.isSameInterface(ctx, want[label], before, present) {
			return true
		}
	}
	return len(want) != len(had)
}

// isSameInterface tells whether two values of one address mean the same, if both are set.
// present is the machine now.
func (p *machinePlan) isSameInterface(ctx context.Context, want, had interfaceModel, present func() engine.Machine) bool {
	isSameNIC := want.NIC.IsNull() || had.NIC.IsNull() || want.NIC.Equal(had.NIC) ||
		client.NICName(present(), want.NIC.ValueString()) == client.NICName(present(), had.NIC.ValueString())
	place := func() client.Place { return placeOfAddress(present(), had.IP.Canonical()) }
	return isSameNIC && (want.Subnet.IsNull() || had.Subnet.IsNull() || client.IsSameSubnet(ctx, p.listSubnets, want.Subnet, had.Subnet, place))
}

// placeOfAddress is the place of an address of the machine.
func placeOfAddress(m engine.Machine, ip string) client.Place {
	var links []engine.InterfaceLink
	for _, i := range m.Interfaces {
		links = append(links, i.Links...)
	}
	for _, c := range m.Children {
		links = append(links, c.Links...)
	}
	return client.PlaceOf(links, 0, client.WhichAddress{IP: ip})
}
