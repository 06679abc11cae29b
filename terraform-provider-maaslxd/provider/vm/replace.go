package vm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// The states of a machine in which it runs, or is about to run, what was
// installed, as MAAS names them.
const (
	statusDeployed  = "Deployed"
	statusDeploying = "Deploying"
)

// statusMissing is the status of a VM that MAAS knows, and whose instance no LXD
// has any more.
const statusMissing = "Instance missing"

// replaceIfInstanceMissing replaces a VM whose instance somebody deleted in LXD: what is left is
// a machine of MAAS's that nothing can be installed on.
func (p *vmPlan) replaceIfInstanceMissing() {
	switch {
	case p.state.Status.ValueString() != statusMissing:
		return
	case p.state.Protection.ValueBool() && !p.plan.Protection.ValueBool():
		p.diags.AddAttributeWarning(path.Root("status"), "The VM is unlocked first", fmt.Sprintf(
			"The instance of %s is in no LXD any more. This plan takes deletion_protection off; the next one makes the VM anew.", p.state.Name.ValueString()))
		return
	}
	p.plan.Status = types.StringUnknown()
	p.replace.Append(path.Root("status"))
	p.diags.AddAttributeWarning(path.Root("status"), "The VM will be replaced", fmt.Sprintf(
		"The instance of %s is in no LXD any more. Its machine in MAAS is deleted, and the VM is made anew.", p.state.Name.ValueString()))
}

// changesRedeployTriggers tells whether a plan changes redeploy_triggers, or may change them once all
// is known. To set them first, or to remove them, is no change.
func changesRedeployTriggers(state, plan vmModel) bool {
	return !state.Triggers.IsNull() && !plan.Triggers.IsNull() && !plan.Triggers.Equal(state.Triggers) && !plan.Deploy.IsNull()
}

// redeployment is what a plan makes of redeploy_triggers.
type redeployment struct{ *vmPlan }

// isCertain tells whether redeploy_triggers changes, whatever else is not known yet.
func (p redeployment) isCertain() bool {
	if !p.changesTriggers || p.plan.Triggers.IsUnknown() {
		return false
	}
	have, want := p.state.Triggers.Elements(), p.plan.Triggers.Elements()
	for key, value := range want {
		if had, has := have[key]; !has || !value.IsUnknown() && !value.Equal(had) {
			return true
		}
	}
	return len(want) != len(have)
}

// warnRedeployment says aloud what a change of redeploy_triggers costs.
func (p redeployment) warnRedeployment() {
	if !p.changesTriggers || len(p.replace) > 0 || p.state.Deploy.IsNull() {
		return
	}
	verb, why := "will be redeployed", "changes"
	if !p.isCertain() {
		verb, why = "may be redeployed", "is not known yet, and may change"
	}
	p.diags.AddAttributeWarning(path.Root("redeploy_triggers"), "The VM "+verb, fmt.Sprintf(
		"redeploy_triggers %s. MAAS then releases %s and deploys it again. What is on its disks is lost, also on data disks, unless it is to run from memory. "+
			"The VM keeps its system id, MAC addresses and fixed addresses.", why, p.state.Name.ValueString()))
}

// installationWord is the word by which the engine knows the installation that a change of
// redeploy_triggers asks for. The word of the installation before makes each one another, also
// where values come back. A run that ended before it could save the state does not redeploy
// again, because the next run finds the same word.
func (m vmModel) installationWord(before string) string {
	of := sha256.New()
	fmt.Fprintf(of, "%q", before)
	for _, key := range slices.Sorted(maps.Keys(m.Triggers.Elements())) {
		fmt.Fprintf(of, " %q=%s", key, m.Triggers.Elements()[key])
	}
	return hex.EncodeToString(of.Sum(nil)[:6])
}

// replaceIfFailed replaces a VM that MAAS gave up before it was finished: to go on
// with it would only fail again. One that ran has something to lose, and stays.
func (p *vmPlan) replaceIfFailed() {
	status := p.state.Status.ValueString()
	if !p.private.Pending || p.private.Ran || !diagnostics.HasMAASGivenUp(status) {
		return
	}
	p.replace.Append(path.Root("status"))
	p.diags.AddAttributeWarning(path.Root("status"), "The VM will be replaced", fmt.Sprintf(
		"%s ended in the state %q before it was finished. There is nothing to go on with, so it is made anew.",
		p.state.Name.ValueString(), status))
}

// planReplacement lists the attributes whose change cannot be made in place.
func (p *vmPlan) planReplacement(ctx context.Context) {
	p.resizesInPlace = p.canResizeInPlace(ctx)
	rules := []struct {
		attribute  string
		unreadable bool // MAAS does not tell it, so an import cannot know it
		replaces   bool
	}{
		{"vm_host", false, !p.isSameHost(ctx)},
		{"cores", false, !p.resizesInPlace && !p.plan.Cores.Equal(p.state.Cores)},
		{"pinned_cores", true, p.changesPinnedCores()},
		{"memory_mib", false, !p.resizesInPlace && !p.plan.MemoryMiB.Equal(p.state.MemoryMiB)},
		{"hugepages", true, !p.plan.HugePages.Equal(p.state.HugePages)},
		{"profile", false, p.changesProfile(ctx)},
		{"disks", false, !p.hasSameDisks(ctx, p.resizesInPlace)},
		{"interfaces", p.state.Interfaces.IsNull(), interfacePlan{p}.planInterfaces(ctx)},
	}
	for _, rule := range rules {
		at := path.Root(rule.attribute)
		switch {
		case !rule.replaces:
		case rule.unreadable && p.private.Imported:
			p.diags.AddAttributeWarning(at, "Taken over unseen", fmt.Sprintf(
				"MAAS does not tell %s of the imported VM %s, so the configuration is believed. The VM is not changed.",
				rule.attribute, p.state.Name.ValueString()))
		default:
			p.replace.Append(at)
			p.warnDisksLost(rule.attribute)
			interfacePlan{p}.warnReplacement(rule.attribute)
		}
	}
	if why := p.reinstallReason(ctx); why != "" {
		at := path.Root("deploy")
		p.replace.Append(at)
		p.diags.AddAttributeWarning(at, "The VM will be replaced", fmt.Sprintf(
			"%s. Installing again destroys what is on the disks of %s, so the VM is made anew.", why, p.state.Name.ValueString()))
	}
}

// changesPinnedCores tells whether other cores are wanted than those that the VM was made
// with. A line that was removed changed nothing, and may come back.
func (p *vmPlan) changesPinnedCores() bool {
	want, had := p.plan.PinnedCores, p.state.PinnedCores
	if p.config.PinnedCores.IsNull() || want.Equal(had) {
		return false
	}
	return !had.IsNull() || want.IsUnknown() || len(p.private.PinnedCores) == 0 || !slices.Equal(pinnedCores(want), p.private.PinnedCores)
}

// warnDisksLost says aloud that a change of the disks destroys those that are
// there: who adds an empty one may not expect that.
func (p *vmPlan) warnDisksLost(attribute string) {
	if attribute != "disks" {
		return
	}
	p.diags.AddAttributeWarning(path.Root("disks"), "The VM will be replaced, with all its disks", fmt.Sprintf(
		"This change of the disks cannot be made in place, so %s is made anew and what is on its disks is lost. "+
			"A disk goes, shrinks or changes its storage pool with a new VM only. Where VMs are made in LXD itself, a disk grows in place, and one comes "+
			"in place whose name follows those of the others.", p.state.Name.ValueString()))
}

// changesProfile tells whether the VM is to have another profile. Where MAAS makes
// VMs it cannot, and no VM is destroyed to find that out.
func (p *vmPlan) changesProfile(ctx context.Context) bool {
	want := p.plan.Profile
	if want.Equal(p.state.Profile) {
		return false
	}
	inLXD, err := p.makesVMsInLXD(ctx)
	unknown := errors.Is(err, client.ErrUnknownConfig)
	if err == nil && !inLXD && !want.IsUnknown() {
		if err = engine.CheckProfileOfMAAS(want.ValueString()); err == nil {
			return false
		}
	}
	if err != nil && !unknown {
		diagnostics.ReportError(p.diags, "change the profile of VM "+p.state.Name.ValueString(), err)
		return false
	}
	return true
}

// hasSameDisks compares sizes and storage pools in the order in which the VM has
// its disks; the names are the configuration's own affair. A pool that one of
// both does not tell is the same, and so is a larger size where disks may grow. There a
// disk may come, too, after the others, which keep their names: else they would be taken
// for each other.
func (p *vmPlan) hasSameDisks(ctx context.Context, mayGrow bool) bool {
	switch {
	case p.config.Disks.IsNull():
		return true
	case p.plan.Disks.IsUnknown():
		return false
	}
	have, want := p.state.disks(ctx, p.diags), p.plan.disks(ctx, p.diags)
	wished := p.config.disks(ctx, p.diags)
	haveOrder, wantOrder := diskOrder(have), diskOrder(want)
	comes := len(wantOrder) > len(haveOrder) && slices.Equal(wantOrder[:len(haveOrder)], haveOrder)
	if len(haveOrder) != len(wantOrder) && (!mayGrow || !comes) {
		return false
	}
	for i, name := range wantOrder[:len(haveOrder)] {
		had, pool := have[haveOrder[i]], wished[name].Pool
		samePool := pool.IsNull() || had.Pool.IsNull() || pool.Equal(had.Pool)
		grows := mayGrow && values.IsSet(want[name].SizeGB) && want[name].SizeGB.ValueInt64() > had.SizeGB.ValueInt64()
		if !samePool || !grows && !want[name].SizeGB.Equal(had.SizeGB) {
			return false
		}
	}
	return true
}

// reinstallReason says why what is installed has to be installed anew, "" if it
// has not.
func (p *vmPlan) reinstallReason(ctx context.Context) string {
	had, want := p.state.deploy(ctx, p.diags), p.config.deploy(ctx, p.diags)
	status := p.state.Status.ValueString()
	switch {
	case p.config.Deploy.IsUnknown():
		return "deploy is not known yet"
	case had == nil && want == nil:
		return ""
	case had == nil && !p.private.Pending && (status == statusDeployed || status == statusDeploying):
		return "deploy is added to a VM that was deployed outside of this configuration"
	case had == nil:
		return ""
	case want == nil && p.private.Imported:
		warnDeployForgotten(p.state.Name.ValueString(), had.Image.ValueString(), p.diags)
		return ""
	case want == nil:
		return "deploy is removed"
	case redeployment{p}.isCertain():
		return "" // in place
	case values.IsOtherImage(want.Image, had.Image, p.private.Image):
		return "deploy.image changes"
	case !want.Kernel.IsNull() && isChanged(want.Kernel, had.Kernel, p.private.Imported && had.Kernel.IsNull()):
		return "deploy.kernel changes"
	case isChanged(p.plannedEphemeral(ctx), had.Ephemeral, p.private.Imported):
		return "deploy.ephemeral changes"
	case p.private.UserData.NeedsReinstall(want.UserDataWOVersion, had.UserDataWOVersion, p.private.Imported):
		return "deploy.user_data_wo_version changes, and user-data runs at the first boot only"
	default:
		return ""
	}
}

// warnDeployForgotten tells that an import found an installed VM, and that the configuration says
// nothing of it. A block that is forgotten must not cost the VM.
func warnDeployForgotten(name, image string, diags *diag.Diagnostics) {
	diags.AddAttributeWarning(path.Root("deploy"), "Taken over as it is installed", fmt.Sprintf(
		"The imported VM %s is deployed, and the configuration has no deploy. The VM is not changed, and nobody looks after what is installed from then on: "+
			"deploy that is added later replaces the VM. To look after it, write deploy with the image %q.", name, image))
}

// plannedEphemeral is the planned value, in which the default is filled in.
func (p *vmPlan) plannedEphemeral(ctx context.Context) types.Bool {
	if d := p.plan.deploy(ctx, p.diags); d != nil {
		return d.Ephemeral
	}
	return types.BoolNull()
}

// isChanged compares two values unless the wish is to be believed.
func isChanged(want, had attr.Value, believed bool) bool { return !believed && !want.Equal(had) }
