package host

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/host/network"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// planReplacement lists the attributes whose change cannot be made in place.
func (p *hostPlan) planReplacement(ctx context.Context) {
	installed := p.config.deploys()
	rules := []struct {
		attribute  string
		unreadable bool // nothing tells it of an imported host
		replaces   bool
	}{
		{"machine", false, !p.config.Machine.IsNull() && !p.sameMachine(ctx)},
		{"address", false, p.config.registers() && !texttype.AddressType.Same(p.config.Address.ValueString(), p.state.endpoint())},
		{"lxd", false, p.otherProject(ctx)},
		{"lxd", true, installed && !p.sameLXD(ctx)},
		{"bridge", true, installed && !p.sameBridge(ctx)},
		{"network", true, installed && !p.sameNetwork(ctx)},
	}
	for _, rule := range rules {
		at := path.Root(rule.attribute)
		switch {
		case !rule.replaces:
		case rule.unreadable && p.notes.Imported:
			p.diags.AddAttributeWarning(at, "Taken over unseen", fmt.Sprintf(
				"Nothing tells how the imported host %s was set up, so %s is believed. The host is not changed.", p.state.Name.ValueString(), rule.attribute))
		default:
			p.replace.Append(at)
		}
	}
	if why := p.reinstall(ctx); why != "" && installed {
		at := path.Root("deploy")
		p.replace.Append(at)
		p.diags.AddAttributeWarning(at, "The host will be replaced", fmt.Sprintf(
			"%s. Installing again destroys what is on the disks of machine %s, so the host is made anew.", why, p.state.Hostname.ValueString()))
	}
	p.planTrust(ctx)
}

// otherProject tells whether the project differs. MAAS would delete the VMs of
// the former one.
func (p *hostPlan) otherProject(ctx context.Context) bool {
	return p.plan.LXD.IsUnknown() || p.plan.project(ctx, p.diags) != p.state.project(ctx, p.diags)
}

// sameLXD tells whether both describe one first boot, whatever they leave to
// the defaults. What is not known yet may be anything.
func (p *hostPlan) sameLXD(ctx context.Context) bool {
	if !values.KnownThroughout(ctx, p.plan.LXD) || !values.KnownThroughout(ctx, p.plan.Bridge) || !values.KnownThroughout(ctx, p.plan.Network) {
		return false
	}
	if p.plan.LXD.Equal(p.state.LXD) && p.plan.Bridge.Equal(p.state.Bridge) && p.plan.Network.Equal(p.state.Network) {
		return true
	}
	had, want := p.state.firstBoot(ctx, p.diags), p.plan.firstBoot(ctx, p.diags)
	return sameFirstBoot(had, want)
}

func (p *hostPlan) sameBridge(ctx context.Context) bool {
	if !values.KnownThroughout(ctx, p.plan.Bridge) {
		return false
	}
	had, want := p.state.bridge(ctx, p.diags), p.plan.bridge(ctx, p.diags)
	return had == want || had != nil && want != nil && *had == *want
}

// sameNetwork tells whether both describe the same interfaces. A network in the place of a
// bridge is another one, even where both come to the same.
func (p *hostPlan) sameNetwork(ctx context.Context) bool {
	if !values.KnownThroughout(ctx, p.plan.Network) {
		return false
	}
	return reflect.DeepEqual(network.Spec(ctx, p.state.Network, p.diags), network.Spec(ctx, p.plan.Network, p.diags))
}

// reinstall says why what is installed has to be installed anew, "" if it has
// not.
func (p *hostPlan) reinstall(ctx context.Context) string {
	if p.config.Deploy.IsUnknown() {
		return "deploy is not known yet"
	}
	return p.installed().ReinstallReason(values.DeploymentOf(ctx, p.state.Deploy, p.diags), values.DeploymentOf(ctx, p.config.Deploy, p.diags))
}

// installed tells what the machine was installed with.
func (p *hostPlan) installed() values.InstallNotes {
	return values.InstallNotes{UserData: p.notes.UserData, Image: p.notes.Image, Kernel: p.notes.Kernel, Imported: p.notes.Imported}
}

// planTrust notes further certificates on a host that runs already, which only
// its operator can let it trust.
func (p *hostPlan) planTrust(ctx context.Context) {
	had, want := p.state.trusted(ctx, p.diags), p.plan.trusted(ctx, p.diags)
	if strings.Join(had, "\n") == strings.Join(want, "\n") {
		return
	}
	p.plan.TrustedFingerprints = types.SetUnknown(types.StringType)
	if len(values.Difference(want, had)) > 0 && len(p.replace) == 0 {
		p.diags.AddAttributeWarning(path.Root("lxd").AtName("trusted_certificates"), "The host must be told itself", fmt.Sprintf(
			"%s runs already, and the certificate that it trusts may not add others. On the host, run `lxc config trust add FILE --restricted --projects %s` "+
				"for each new one. This apply only notes that it trusts them.", p.state.Name.ValueString(), p.plan.project(ctx, p.diags)))
	}
}
