package vm

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/planmodifiers"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// Read updates the state from MAAS. A VM that is gone leaves the state, so that the plan makes
// it again.
func (r *vmResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state vmModel
	diags := &resp.Diagnostics
	values.DecodeState(ctx, req.State, &state, diags)
	before := state
	n := readPrivateState(ctx, req.Private, diags)
	defer values.SaveSeenIdentity(ctx, resp.Identity, &state.ID, &n.MAAS, diags) // the framework wants an identity of a VM that is gone, too
	look, cancel := values.WithTimeout(ctx, state.Timeouts.Read, client.ReadTimeout, diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	object, withID := values.ObjectText("VM", state.Name, state.ID)
	doing := "read " + withID
	b := r.client.BackendForRead(object, doing, diags)
	if b == nil {
		return
	}
	r.client.Run.NoteStateRead()
	vm, err := r.observe(look, b, state, &n, diags)
	switch {
	case err != nil:
		diagnostics.ReportReadOrRemove(ctx, look, resp, privateStateKey, doing, err)
		return
	case state.Name.IsNull() && vm.HostID == 0 && vm.Cores == 0:
		diags.AddError(fmt.Sprintf("Cannot import VM %s", vm.Hostname), fmt.Sprintf(
			"Only the LXD of VM host %s knows its size. It does not answer, or does not trust the fleet's key pair. "+
				"Start it, or give the pair that it trusts (lxd_client_cert and lxd_client_key), and import again.", vm.HostName))
		return
	}
	r.refreshRead(look, b, &state, &n, vm, diags)
	r.client.Run.NoteVMInState(vm.Hostname, vm.Hostname, state.inState(n))
	if !reflect.DeepEqual(before, state) { // the response has the former state already
		diags.Append(resp.State.Set(ctx, &state)...)
	}
	writePrivateState(ctx, resp.Private, n, diags)
}

// observe observes the VM of a state, and records its MAAS.
func (r *vmResource) observe(ctx context.Context, b *client.Backend, state vmModel, n *privateState, diags *diag.Diagnostics) (engine.VM, error) {
	if n.Moved != nil {
		id, err := n.Moved.Find(ctx, b, diags)
		if err != nil {
			return engine.VM{}, err
		}
		state.ID = types.StringValue(id)
	}
	ref := r.ref(state, *n)
	b.NoteNamedInState(ctx, n.MAAS, ref.Key)
	ref.Finished = n.Key != "" && !n.Pending // then the ledger knows no other key
	vm, err := b.VMs.Observe(ctx, ref)
	if err != nil && !diagnostics.IsObjectGone(err) {
		return vm, err
	}
	var otherMAAS error
	if n.MAAS, otherMAAS = b.MAASForState(ctx, n.MAAS, state.Name.IsNull(), err == nil && vm.Ours); otherMAAS != nil {
		return vm, otherMAAS
	}
	return vm, err
}

// refreshRead updates state and notes with the observed VM, and warns of problems that no plan
// repairs.
func (r *vmResource) refreshRead(ctx context.Context, b *client.Backend, state *vmModel, n *privateState, vm engine.VM, diags *diag.Diagnostics) {
	imported := state.Name.IsNull()
	n.TakenOverBy = ""
	if n.Key != "" && vm.TakenOver {
		n.TakenOverBy = vm.MarkedBy()
		summary, detail := takenOverMessage(vm.Hostname, *n)
		diags.AddWarning(summary, detail)
	}
	n.Ran = n.Ran || state.Status.ValueString() == statusDeployed
	if imported {
		n.Installation = engine.InstallationIn(vm.Description)
		n.Unclaimed = planmodifiers.Unclaimed{"tags", "deletion_protection"}
	}
	*n = n.withObserved(vm)
	if imported {
		r.client.Owner.WarnOtherOwner("VM "+vm.Hostname, n.Key, diags)
	}
	if n.HostMachine == "" || !state.isOnHostOfState(vm) {
		at := r.readHostMachine(ctx, vm)
		if at != "" && at == n.HostMachine {
			state.VMHostName = values.OptionalString(vm.HostName) // the same host by another name
		}
		n.HostMachine = cmp.Or(at, n.HostMachine)
	}
	r.fillUnknownPower(ctx, *state, &vm)
	state.dropLostInterfaces(ctx, n.AddedInterfaces, vm, diags)
	*n = n.refreshKeepingDisks(ctx, b, state, vm, diags)
	n.AddedInterfaces = state.addedInterfaceLabels(ctx, n.AddedInterfaces, vm, diags)
	if imported && n.Moved == nil { // a moved configuration may leave the tags to others
		state.Tags = values.TagSet(importedTags(ctx, b, vm, diags))
	}
	n.Moved, n.Protected, n.ProtectionApplied = nil, state.Protection.ValueBool(), n.ProtectionApplied && !state.Protection.IsNull()
	if vm.InstanceMissing {
		state.Status = types.StringValue(statusMissing)
	}
	warnFailed(vm, *n, diags)
	warnLostAddresses(vm, state.interfaces(ctx, diags), diags)
}

// importedTags lists the tags of a VM that come neither from MAAS nor from its host: a
// configuration is likely to declare them.
func importedTags(ctx context.Context, b *client.Backend, vm engine.VM, diags *diag.Diagnostics) []string {
	hosts, err := b.Inventory.Hosts(ctx)
	if err != nil {
		diagnostics.ReportError(diags, "tell the tags of "+vm.Hostname+" from those of its VM host", err)
		return nil
	}
	inherited := slices.Clone(values.TagsOfMAAS)
	on, err := b.Inventory.HostOf(ctx, vm.Machine)
	if err != nil {
		diagnostics.ReportError(diags, "find the VM host of "+vm.Hostname, err)
		return nil
	}
	for _, h := range hosts {
		if h.HostKey == on.HostKey {
			inherited = append(inherited, h.Tags...)
		}
	}
	return values.Difference(vm.Tags, inherited)
}

// warnFailed warns of a VM that failed in MAAS, with MAAS's message.
func warnFailed(vm engine.VM, n privateState, diags *diag.Diagnostics) {
	if vm.Status.Phase() != engine.PhaseFailed {
		return
	}
	detail := "The plan leaves it alone. Look at it in MAAS; `terraform apply -replace=ADDRESS` replaces it."
	switch {
	case n.Ran && (vm.Status == engine.StatusFailedDeployment || diagnostics.HasReleaseFailed(vm.StatusName)):
		detail = "It ran before, so the plan does not replace it. A change of redeploy_triggers deploys it again. So does an apply after somebody has " +
			"released it in MAAS. `terraform apply -replace=ADDRESS` replaces it."
	case n.Pending && !n.Ran && diagnostics.HasMAASGivenUp(vm.StatusName):
		detail = "It was never finished, so the plan replaces it."
	}
	if vm.StatusMessage != "" {
		detail = fmt.Sprintf("MAAS says: %s.\n\n%s", vm.StatusMessage, detail)
	}
	diags.AddWarning(fmt.Sprintf("VM %s is in state %q", vm.Hostname, vm.StatusName), detail)
}

// takenOverMessage explains why a change or a destroy of the VM is refused.
func takenOverMessage(name string, n privateState) (summary, detail string) {
	return fmt.Sprintf("VM %s belongs to another owner", name), fmt.Sprintf(
		"It was made for %s, but its mark in MAAS now says that it was made for %s. This configuration neither changes nor destroys it. Remove it from "+
			"this state with `terraform state rm ADDRESS`, or import it again to keep it.", n.Key, n.TakenOverBy)
}

// warnLostAddresses warns of fixed addresses that a running VM no longer has in MAAS. They are
// no drift: planning them would replace the VM.
func warnLostAddresses(vm engine.VM, interfaces map[string]interfaceModel, diags *diag.Diagnostics) {
	if vm.Status.Phase() != engine.PhaseDeployed {
		return
	}
	found := matchInterfaces(interfaces, vm.Machine)
	for _, label := range interfaceOrder(interfaces) {
		ip := interfaces[label].IP.Canonical()
		if ip == "" || slices.ContainsFunc(values.LinkedIPs(found[label]), func(has string) bool { return texttype.IPType.MeansSame(has, ip) }) {
			continue
		}
		diags.AddAttributeWarning(path.Root("interfaces").AtMapKey(label).AtName("ip"),
			fmt.Sprintf("VM %s no longer has the address %s", vm.Hostname, ip),
			"Someone changed its interface in MAAS. The plan leaves it alone. Correct it there, or replace the VM: `terraform apply -replace=ADDRESS`.")
	}
}
