package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
)

// planDestroy checks that a VM host can be destroyed, before the run destroys anything else.
func (r *hostResource) planDestroy(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	r.client.WarnLeftBehind(ctx, &resp.Diagnostics)
	var state hostModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if r.client != nil {
		r.client.NotePlannedName(&r.client.Run.HostNames, "VM host "+state.Name.ValueString(), state.ID, types.StringNull(), &resp.Diagnostics)
	}
	n := readPrivateStateForPlan(ctx, req.Private, &resp.Diagnostics)
	r.client.CheckPlannedMAAS(ctx, n.MAAS, "destroy VM host "+state.Name.ValueString(), &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.client.CanCheckPlan() {
		return
	}
	r.checkHostDestroy(ctx, state.ID.ValueString(), hostDestroy{
		name: state.Name.ValueString(), isForced: state.ForceDestroy.ValueBool(), keepsMachine: !state.deploysMachine(), key: n.Key, diags: &resp.Diagnostics,
	})
}

// hostDestroy is a VM host that a plan destroys or replaces.
type hostDestroy struct {
	name         string
	isReplaced   bool
	isForced     bool // the VMs on it are destroyed, too
	keepsMachine bool // its machine stays, with all that runs there
	key          engine.Key
	because      path.Paths // the attributes that replace it
	diags        *diag.Diagnostics
}

func (l hostDestroy) verb() string {
	if l.isReplaced {
		return "replace"
	}
	return "delete"
}

// checkHostDestroy tells the VMs of the run that their host goes. It refuses if VMs would stay
// on it: those of others, and those that the plan leaves there. A refusal by the apply would
// come after everything else is destroyed.
func (r *hostResource) checkHostDestroy(ctx context.Context, machine string, l hostDestroy) {
	run := &r.client.Run
	run.NoteHostDestroy(machine, l.isReplaced)
	b, err := r.client.Backend()
	if err != nil || machine == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, client.PlanCheckTimeout)
	defer cancel()
	residents, err := listResidents(ctx, b, machine)
	if err != nil {
		l.reportUnread(run, err)
		return
	}
	marked, others := splitByMark(residents)
	stay := slices.DeleteFunc(run.VMsStayingOn(machine), func(name string) bool {
		return !slices.ContainsFunc(marked, func(vm engine.Resident) bool { return vm.Hostname == name })
	})
	summary := fmt.Sprintf("Cannot %s VM host %s", l.verb(), l.name)
	switch {
	case len(stay) > 0:
		l.diags.AddError(summary, fmt.Sprintf("%s would stay on it: %s. The plan stops here, before anything is destroyed.\n\n%sLet the plan remove "+
			"them, too: name the host by its id in vm_host of each VM, or, with placement, give each VM lifecycle { replace_triggered_by = "+
			"[maaslxd_vm_host.NAME.id] } and depends_on. Or remove them from the configuration first. %s",
			pluralize(len(stay), "VM"), strings.Join(stay, ", "), l.replacedText(), client.DestroyAllHint))
	case len(others) > 0 && !l.isForced:
		hint := l.hintForOthers()
		if begun := r.client.ListBegunVMs(ctx, b, others); len(begun) > 0 {
			hint = fmt.Sprintf("An apply of this configuration began %s, and was killed. Apply first: that takes them over. Then destroy. ", strings.Join(begun, ", ")) + hint
		}
		l.diags.AddError(summary, fmt.Sprintf("cannot remove VM host %s, which has VMs of others: %s. The plan stops here, before anything is destroyed.\n\n%s",
			l.name, strings.Join(others, ", "), l.replacedText()+hint))
	case len(others) > 0 && !l.keepsMachine:
		l.diags.AddWarning("VMs are lost with VM host "+l.name, fmt.Sprintf(
			"force_destroy is set, and this configuration does not own these VMs on the host: %s.", strings.Join(others, ", ")))
	}
	if len(stay) == 0 {
		l.warnOtherOwners(ctx, r.client, marked)
	}
}

// hintForOthers says what to do with VMs of others.
func (l hostDestroy) hintForOthers() string {
	fate := "they are lost with the host"
	if l.keepsMachine {
		fate = "they run on in LXD, and MAAS forgets them"
	}
	return "Delete or move them first. Or apply force_destroy = true before: then " + fate + "."
}

// replacedText says what replaces a VM host that has VMs. Often an attribute is mistyped.
func (l hostDestroy) replacedText() string {
	var names []string
	for _, p := range l.because {
		if name := p.String(); name != "status" { // the host has failed
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("The plan replaces it for a change of %s. If you want no new VM host, correct the configuration. ", strings.Join(names, ", "))
}

// reportUnread reports that nobody knows which VMs are on the host. A VM host is not replaced then.
func (l hostDestroy) reportUnread(run *client.Run, err error) {
	switch {
	case errors.Is(err, engine.ErrGone): // MAAS has no VM hosts
	case l.isReplaced:
		l.diags.AddError(fmt.Sprintf("Cannot %s VM host %s", l.verb(), l.name), diagnostics.ExplainError(err)+diagnostics.Paragraph(
			"So it is not known which VMs are on it. The plan stops here, before anything is destroyed. "+client.DestroyAllHint))
	default:
		run.WarnPlanUnchecked(err, l.diags)
	}
}

// splitByMark lists the VMs with a mark of this program, and the others.
func splitByMark(residents []engine.Resident) (marked []engine.Resident, others []string) {
	for _, vm := range residents {
		if vm.MarkedBy() == "" {
			others = append(others, vm.Hostname)
		} else {
			marked = append(marked, vm)
		}
	}
	return marked, others
}

// warnOtherOwners warns of VMs that were made for other owners than this configuration and the VM
// host. It is no error, because the runners of one state may have different owners: if runner r1 made
// kvm-1 and runner r2 made web-1, runner r3 may destroy both. A plan of the run may know such a VM.
func (l hostDestroy) warnOtherOwners(ctx context.Context, c *client.Client, marked []engine.Resident) {
	var of []string
	for _, vm := range marked {
		made := vm.MarkedBy()
		if !c.Owner.Owns(made) && made.Owner() != l.key.Owner() && !c.Run.VMNames.IsPlanned(ctx, vm.SystemID) {
			of = append(of, fmt.Sprintf("%s (made for %q)", vm.Hostname, made))
		}
	}
	if len(of) > 0 {
		l.diags.AddWarning("Other owners have VMs on VM host "+l.name, fmt.Sprintf(
			"%s. If this plan does not destroy them, the apply stops at the VM host, and has destroyed other objects by then. Ask their owners first.",
			strings.Join(of, ", ")))
	}
}

func pluralize(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// listResidents lists the VMs on the VM hosts of a machine.
func listResidents(ctx context.Context, b *client.Backend, machine string) ([]engine.Resident, error) {
	hosts, err := b.Inventory.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	hosts = slices.DeleteFunc(slices.Clone(hosts), func(h engine.VMHost) bool { return h.MachineID != machine })
	if len(hosts) == 0 {
		return nil, nil
	}
	return b.Inventory.VMsOn(ctx, hosts)
}
