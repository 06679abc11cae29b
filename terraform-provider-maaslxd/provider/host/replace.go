package host

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/host/network"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// planReplacement lists the attributes that cannot change in place.
func (p *hostPlan) planReplacement(ctx context.Context) {
	installed := p.config.deploysMachine()
	rules := []struct {
		attribute  string
		unreadable bool // nobody knows it of an imported host
		replaces   bool
	}{
		{"machine", false, !p.config.Machine.IsNull() && !p.isSameMachine(ctx)},
		{"address", false, p.config.registersRunningLXD() && !texttype.AddressType.MeansSame(p.config.Address.ValueString(), p.state.lxdEndpoint())},
		{"lxd", false, p.changesProject(ctx)},
		{"lxd", true, installed && !p.hasSameLXD(ctx)},
		{"bridge", true, installed && !p.hasSameBridge(ctx)},
		{"network", true, installed && !p.hasSameNetwork(ctx)},
	}
	for _, rule := range rules {
		at := path.Root(rule.attribute)
		switch {
		case !rule.replaces:
		case rule.unreadable && p.private.Imported:
			p.diags.AddAttributeWarning(at, "Taken over unseen", fmt.Sprintf(
				"Nothing tells how VM host %s was set up, so the provider takes %s from the configuration. The VM host is not changed.", p.state.Name.ValueString(), rule.attribute))
		default:
			p.replace.Append(at)
		}
	}
	if why := p.reinstallReason(ctx); why != "" && installed {
		at := path.Root("deploy")
		p.replace.Append(at)
		p.diags.AddAttributeWarning(at, "The host will be replaced", fmt.Sprintf(
			"%s. Installing again destroys the data on the disks of machine %s, so the plan replaces the host.", why, p.state.Hostname.ValueString()))
	}
	p.planTrustedCertificates(ctx)
}

// changesProject tells whether the project changes. MAAS would delete the VMs of the former
// one.
func (p *hostPlan) changesProject(ctx context.Context) bool {
	return p.plan.LXD.IsUnknown() || p.plan.projectName(ctx, p.diags) != p.state.projectName(ctx, p.diags)
}

// hasSameLXD tells whether both describe the same first boot, defaults included. A value that
// is not known yet may be the same.
func (p *hostPlan) hasSameLXD(ctx context.Context) bool {
	if !values.IsFullyKnown(ctx, p.plan.LXD) || !values.IsFullyKnown(ctx, p.plan.Bridge) || !values.IsFullyKnown(ctx, p.plan.Network) {
		return false
	}
	if p.plan.LXD.Equal(p.state.LXD) && p.plan.Bridge.Equal(p.state.Bridge) && p.plan.Network.Equal(p.state.Network) {
		return true
	}
	had, want := p.state.firstBoot(ctx, p.diags), p.plan.firstBoot(ctx, p.diags)
	return isSameFirstBoot(had, want)
}

func (p *hostPlan) hasSameBridge(ctx context.Context) bool {
	if !values.IsFullyKnown(ctx, p.plan.Bridge) {
		return false
	}
	return p.presentNetwork(ctx).IsSameBridge(ctx, p.plan.bridgeSpec(ctx, p.diags), p.state.bridgeSpec(ctx, p.diags))
}

// presentNetwork is the network of the machine now. MAAS is asked only if texts differ.
func (p *hostPlan) presentNetwork(ctx context.Context) network.MachineNetwork {
	return network.MachineNetwork{Subnets: p.listSubnets, Machine: sync.OnceValue(func() engine.Machine {
		m, _ := p.readMachine(ctx, p.state.ID.ValueString()) // without an answer, only equal texts are the same
		return m
	})}
}

// hasSameNetwork tells whether both describe the same interfaces. Replacing a bridge by a
// network is a change, even if both result in the same.
func (p *hostPlan) hasSameNetwork(ctx context.Context) bool {
	if !values.IsFullyKnown(ctx, p.plan.Network) {
		return false
	}
	return p.presentNetwork(ctx).IsSameNetwork(ctx, network.Spec(ctx, p.plan.Network, p.diags), network.Spec(ctx, p.state.Network, p.diags))
}

// reinstallReason says why the machine must be installed anew, or "" if it need not.
func (p *hostPlan) reinstallReason(ctx context.Context) string {
	if p.config.Deploy.IsUnknown() {
		return "deploy is not known yet"
	}
	return p.installation().ReinstallReason(values.DecodeDeployment(ctx, p.state.Deploy, p.diags), values.DecodeDeployment(ctx, p.config.Deploy, p.diags))
}

// installation is what the machine was installed with.
func (p *hostPlan) installation() values.Installation {
	return values.Installation{UserData: p.private.UserData, Image: p.private.Image, Kernel: p.private.Kernel, Imported: p.private.Imported}
}

// planTrustedCertificates records further certificates on a running host. Only its operator
// can make it trust them.
func (p *hostPlan) planTrustedCertificates(ctx context.Context) {
	had, want := p.state.trustedCertificates(ctx, p.diags), p.plan.trustedCertificates(ctx, p.diags)
	if strings.Join(had, "\n") == strings.Join(want, "\n") {
		return
	}
	p.plan.TrustedFingerprints = types.SetUnknown(types.StringType)
	if len(values.Difference(want, had)) > 0 && len(p.replace) == 0 {
		p.diags.AddAttributeWarning(path.Root("lxd").AtName("trusted_certificates"), fmt.Sprintf("You must tell VM host %s itself", p.state.Name.ValueString()), fmt.Sprintf(
			"The host runs already, and the certificate that it trusts may not add others. On the host, run `lxc config trust add FILE --restricted "+
				"--projects %s` for each new one. This apply only records that the host trusts them.", p.plan.projectName(ctx, p.diags)))
	}
}
