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

// MAAS's names of the states in which the installed system runs, or is about to run.
const (
	statusDeployed  = "Deployed"
	statusDeploying = "Deploying"
)

// statusMissing is the status of a VM that MAAS knows, but whose instance is in no LXD.
const statusMissing = "Instance missing"

// replaceIfInstanceMissing replaces a VM whose instance somebody deleted in LXD: MAAS can
// install nothing on the remaining machine.
func (p *vmPlan) replaceIfInstanceMissing() {
	switch {
	case p.state.Status.ValueString() != statusMissing:
		return
	case p.state.Protection.ValueBool() && !p.plan.Protection.ValueBool():
		p.diags.AddAttributeWarning(path.Root("status"), "The VM is unlocked first", fmt.Sprintf(
			"The instance of %s is no longer in any LXD. This plan takes deletion_protection off; the next one replaces the VM.", p.state.Name.ValueString()))
		return
	}
	p.plan.Status = types.StringUnknown()
	p.replace.Append(path.Root("status"))
	p.diags.AddAttributeWarning(path.Root("status"), "The VM will be replaced", fmt.Sprintf(
		"The instance of %s is no longer in any LXD. The plan deletes its machine in MAAS and makes a new VM.", p.state.Name.ValueString()))
}

// changesRedeployTriggers tells whether a plan changes redeploy_triggers, or may change them
// when all values are known. Setting them for the first time, or removing them, is no change.
func changesRedeployTriggers(state, plan vmModel) bool {
	return !state.Triggers.IsNull() && !plan.Triggers.IsNull() && !plan.Triggers.Equal(state.Triggers) && !plan.Deploy.IsNull()
}

// redeployment is the change of redeploy_triggers in a plan.
type redeployment struct{ *vmPlan }

// isCertain tells whether redeploy_triggers changes, whatever the unknown values are.
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

// warnRedeployment warns of what a change of redeploy_triggers costs.
func (p redeployment) warnRedeployment() {
	if !p.changesTriggers || len(p.replace) > 0 || p.state.Deploy.IsNull() {
		return
	}
	verb, why := "will be redeployed", "changes"
	if !p.isCertain() {
		verb, why = "may be redeployed", "is not known yet, and may change"
	}
	p.diags.AddAttributeWarning(path.Root("redeploy_triggers"), "The VM "+verb, fmt.Sprintf(
		"redeploy_triggers %s. MAAS then releases %s and deploys it again. All data on its disks are lost, also on data disks, unless it will run from "+
			"memory. The VM keeps its system id, MAC addresses and fixed addresses.", why, p.state.Name.ValueString()))
}

// warnInstallation warns that a VM is deployed that has data: somebody released it, or an import
// found it. MAAS keeps the disks until it deploys the VM.
func (p redeployment) warnInstallation() {
	if !p.state.Deploy.IsNull() || p.plan.Deploy.IsNull() || len(p.replace) > 0 || !p.private.Ran && !p.private.Imported {
		return
	}
	why := "was imported"
	if p.private.Ran {
		why = "ran before"
	}
	p.diags.AddAttributeWarning(path.Root("deploy"), "The VM will be deployed, and its data are lost", fmt.Sprintf(
		"%s %s, and is %s in MAAS. The plan deploys it: all data on its disks are lost, unless it will run from memory. To keep them, apply nothing, and "+
			"remove deploy from the configuration.", p.state.Name.ValueString(), why, p.state.Status.ValueString()))
}

// installationWord is the engine's name for the installation that a change of
// redeploy_triggers asks for. It depends on the former name, so that each one differs, also if
// values come back. A run may be killed before it saves the state. The next run computes the
// same name, and does not redeploy again.
func (m vmModel) installationWord(before string) string {
	of := sha256.New()
	fmt.Fprintf(of, "%q", before)
	for _, key := range slices.Sorted(maps.Keys(m.Triggers.Elements())) {
		fmt.Fprintf(of, " %q=%s", key, m.Triggers.Elements()[key])
	}
	return hex.EncodeToString(of.Sum(nil)[:6])
}

// replaceIfFailed replaces an unfinished VM that failed in MAAS: continuing it would only fail
// again. A VM that ran has something to lose, and stays.
func (p *vmPlan) replaceIfFailed() {
	status := p.state.Status.ValueString()
	if !p.private.Pending || p.private.Ran || !diagnostics.HasMAASGivenUp(status) {
		return
	}
	p.replace.Append(path.Root("status"))
	p.diags.AddAttributeWarning(path.Root("status"), "The VM will be replaced", fmt.Sprintf(
		"%s ended in the state %q before it was finished. It cannot be continued, so the plan replaces it.",
		p.state.Name.ValueString(), status))
}

// replacementRule says whether an attribute replaces the VM.
type replacementRule struct {
	attribute  string
	unreadable bool // MAAS does not report it, so an import cannot know it
	replaces   bool
}

// isOfSize tells whether the attribute is a part of the VM's size.
func (r replacementRule) isOfSize() bool { return sizeWords[r.attribute] != "" }

// replacementRules are the attributes that cannot change in place.
func replacementRules(ctx context.Context, p *vmPlan) []replacementRule {
	return []replacementRule{
		{"vm_host", false, !p.isSameHost(ctx)},
		{"cores", false, !p.resizesInPlace && !p.plan.Cores.Equal(p.state.Cores)},
		{"pinned_cores", true, p.changesPinnedCores()},
		{"memory_mib", false, !p.resizesInPlace && !p.plan.MemoryMiB.Equal(p.state.MemoryMiB)},
		{"hugepages", true, !p.plan.HugePages.Equal(p.state.HugePages)},
		{"profile", false, p.changesProfile(ctx)},
		{"disks", false, !p.hasSameDisks(ctx, p.resizesInPlace)},
		{"interfaces", p.state.Interfaces.IsNull(), interfacePlan{p}.planInterfaces(ctx)},
	}
}

// planReplacement lists the attributes that replace the VM.
func (p *vmPlan) planReplacement(ctx context.Context) {
	p.resizesInPlace = p.canResizeInPlace(ctx)
	rules := replacementRules(ctx, p)
	replacesAnyway := slices.ContainsFunc(rules, func(r replacementRule) bool { return r.replaces && !r.isOfSize() })
	if !replacesAnyway && refuseOutdatedSize(ctx, p) {
		return
	}
	warnOutdatedSize(ctx, p)
	for _, rule := range rules {
		at := path.Root(rule.attribute)
		switch {
		case !rule.replaces:
		case rule.unreadable && p.private.Imported:
			p.diags.AddAttributeWarning(at, "Taken over unseen", fmt.Sprintf(
				"MAAS does not report %s of VM %s, so the provider takes the value of the configuration. The VM is not changed.",
				rule.attribute, p.state.Name.ValueString()))
		default:
			p.replace.Append(at)
			warnReplaced(ctx, p, rule.attribute)
		}
	}
	if why := p.reinstallReason(ctx); why != "" {
		at := path.Root("deploy")
		p.replace.Append(at)
		p.diags.AddAttributeWarning(at, "The VM will be replaced", fmt.Sprintf(
			"%s. Installing again destroys the data on the disks of %s, so the plan deletes the VM and makes a new one.", why, p.state.Name.ValueString()))
	}
}

// changesPinnedCores tells whether the plan wants other cores than those that the VM was made
// with. Removing the line changed nothing, and it may come back.
func (p *vmPlan) changesPinnedCores() bool {
	want, had := p.plan.PinnedCores, p.state.PinnedCores
	if p.config.PinnedCores.IsNull() || want.Equal(had) {
		return false
	}
	return !had.IsNull() || want.IsUnknown() || len(p.private.PinnedCores) == 0 || !slices.Equal(pinnedCores(want), p.private.PinnedCores)
}

// warnReplaced warns of what is lost when an attribute replaces the VM.
func warnReplaced(ctx context.Context, p *vmPlan, attribute string) {
	warnReplacedForHost(p, attribute)
	p.warnReplacedForSize(ctx, attribute)
	interfacePlan{p}.warnReplacement(attribute)
}

// warnReplacedForHost warns that another VM host destroys the existing disks. If the run makes the VM
// host, its id is not known yet.
func warnReplacedForHost(p *vmPlan, attribute string) {
	if attribute != "vm_host" || p.diags.HasError() {
		return
	}
	to := "another VM host"
	if values.IsSet(p.plan.VMHost) {
		to = "VM host " + p.plan.VMHost.ValueString()
	} else if host := p.state.VMHostName.ValueString(); p.isLostHost(host) {
		p.diags.AddAttributeError(path.Root(attribute), "Cannot replace VM "+p.state.Name.ValueString(), fmt.Sprintf(
			"%s is on VM host %s. MAAS has this VM host, and the state of this configuration lacks it. The plan stops here, because it would make %s again, "+
				"and delete %s with the data on its disks.\n\nImport the VM host first: terraform import ADDRESS %s. %s",
			p.state.Name.ValueString(), host, host, p.state.Name.ValueString(), host, client.DestroyAllHint))
		return
	}
	names := "and the configuration names " + to
	if _, replaced := p.destroysHost(p.private.HostMachine); replaced && !values.IsSet(p.plan.VMHost) {
		names = "which the plan replaces"
	}
	p.diags.AddAttributeWarning(path.Root(attribute), "The VM will be replaced, with all its disks", fmt.Sprintf(
		"%s is on VM host %s, %s. A VM cannot move with its disks, so the plan deletes %s with the data on them, and makes a new VM.",
		p.state.Name.ValueString(), p.state.VMHostName.ValueString(), names, p.state.Name.ValueString()))
}

// warnReplacedForSize warns that a change of the size destroys the existing disks: you may not
// expect that when you add memory or an empty disk, or allow to stop the VM.
func (p *vmPlan) warnReplacedForSize(ctx context.Context, attribute string) {
	if !slices.Contains([]string{"cores", "memory_mib", "disks"}, attribute) || p.diags.HasError() {
		return
	}
	inLXD, err := p.makesVMsInLXD(ctx)
	var why string
	switch {
	case errors.Is(err, client.ErrUnknownConfig):
		why = "The configuration of the provider is not known yet, and so not whether " + attribute + " changes in place."
	case err != nil:
		return // the plan says that MAAS does not answer
	case !inLXD:
		why = "MAAS makes the VMs here, and changes no " + sizeWords[attribute] + " of an existing VM, not even with allow_stopping_for_update. " +
			"Where the provider makes the VMs in LXD, a VM can become larger in place: " + diagnostics.GuideURL("day-two", "change-the-size")
	case attribute == "disks":
		why = "A disk that is removed or shrunk, or changes its storage pool, needs a new VM. So does a new disk whose name does not follow those of the others."
	default:
		return // another attribute replaces it, and is in the plan
	}
	p.diags.AddAttributeWarning(path.Root(attribute), "The VM will be replaced, with all its disks", fmt.Sprintf(
		"This change of %s cannot be made in place. So the plan deletes %s with the data on its disks, and makes a new VM.\n\n%s",
		attribute, p.state.Name.ValueString(), why))
}

// sizeWords are the words for the attributes of a size.
var sizeWords = map[string]string{"cores": "cores", "memory_mib": "memory", "disks": "disk"}

// changesProfile tells whether the VM gets another profile. Where MAAS makes VMs that is
// impossible, and the plan destroys no VM for it.
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

// hasSameDisks compares sizes and storage pools in the order in which the VM has its disks.
// Their names exist only in the configuration. An unknown pool counts as the same, and so does
// a larger size where disks may grow. There a new disk may follow the others if those keep
// their names: otherwise the disks could be confused.
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

// reinstallReason says why the machine must be installed anew, or "" if it need not.
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
		return "" // this is done in place
	case values.IsOtherImage(want.Image, had.Image, p.private.Image):
		return "deploy.image changes"
	case !want.Kernel.IsNull() && isChanged(want.Kernel, had.Kernel, p.private.Imported && had.Kernel.IsNull()):
		return "deploy.kernel changes"
	case isChanged(p.plannedEphemeral(ctx), had.Ephemeral, p.private.Imported):
		return "deploy.ephemeral changes"
	case p.private.UserData.NeedsReinstall(want.UserDataWOVersion, had.UserDataWOVersion, p.private.Imported):
		return "deploy.user_data_wo_version changes, and user-data runs only at the first boot"
	default:
		return ""
	}
}

// warnDeployForgotten warns that an import found a deployed VM, but the configuration has no
// deploy. A forgotten block must not destroy the VM.
func warnDeployForgotten(name, image string, diags *diag.Diagnostics) {
	diags.AddAttributeWarning(path.Root("deploy"), "Taken over as it is installed", fmt.Sprintf(
		"VM %s is deployed, and the configuration has no deploy. The VM is not changed. From then on the provider does not manage its "+
			"installation, and adding deploy later replaces the VM. To manage it, write deploy with the image %q.", name, image))
}

// plannedEphemeral is the planned value, with the default filled in.
func (p *vmPlan) plannedEphemeral(ctx context.Context) types.Bool {
	if d := p.plan.deploy(ctx, p.diags); d != nil {
		return d.Ephemeral
	}
	return types.BoolNull()
}

// isChanged compares two values, unless the configuration counts.
func isChanged(want, had attr.Value, believed bool) bool { return !believed && !want.Equal(had) }
