package host

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
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
		{"address", false, p.config.registers() && !sameEndpoint(p.config.Address.ValueString(), p.state.endpoint())},
		{"lxd", false, p.otherProject(ctx)},
		{"lxd", true, installed && !p.sameLXD(ctx)},
		{"bridge", true, installed && !p.sameBridge(ctx)},
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
	if !values.KnownThroughout(ctx, p.plan.LXD) || !values.KnownThroughout(ctx, p.plan.Bridge) {
		return false
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

// reinstall says why what is installed has to be installed anew, "" if it has
// not.
func (p *hostPlan) reinstall(ctx context.Context) string {
	had, want := p.deployOf(ctx, p.state.Deploy), p.deployOf(ctx, p.config.Deploy)
	// What the configuration named neither then nor now is still installed.
	image, kernel := cmp.Or(had.Image.ValueString(), p.notes.Image), cmp.Or(had.Kernel.ValueString(), p.notes.Kernel)
	switch {
	case p.config.Deploy.IsUnknown():
		return "deploy is not known yet"
	case want.Image.IsUnknown() || values.IsSet(want.Image) && !values.SameImage(want.Image.ValueString(), image):
		return "deploy.image changes"
	case want.Kernel.IsUnknown() || values.IsSet(want.Kernel) && want.Kernel.ValueString() != kernel && !(p.notes.Imported && had.Kernel.IsNull()):
		return "deploy.kernel changes"
	case p.notes.UserData.WantsNew(want.UserDataWOVersion, had.UserDataWOVersion, p.notes.Imported):
		return "deploy.user_data_wo_version changes, and user-data runs at the first boot only"
	}
	return ""
}

// deployOf is what is to be installed; nothing said is all nulls.
func (p *hostPlan) deployOf(ctx context.Context, o types.Object) hostDeployModel {
	if d := values.Decode[hostDeployModel](ctx, o, p.diags); d != nil {
		return *d
	}
	return hostDeployModel{}
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
