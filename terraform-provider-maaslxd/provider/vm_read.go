package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
)

// Read makes the state say what MAAS says. A VM that is gone leaves the state,
// so that the plan makes it again.
func (r *vmResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state vmModel
	diags := &resp.Diagnostics
	diags.Append(req.State.Get(ctx, &state)...)
	saveIdentity(ctx, resp.Identity, state.ID.ValueString(), diags) // the framework wants one of a VM that is gone, too
	look, cancel := within(ctx, state.Timeouts.Read, readTimeout, diags)
	defer cancel()
	if diags.HasError() {
		return
	}
	b, err := r.client.use()
	if errors.Is(err, errUnknownConfig) {
		diags.AddWarning(fmt.Sprintf("VM %s was not looked at", state.Name.ValueString()),
			"The provider's configuration depends on something that is not made yet, so the plan is based on the last known state.")
		return
	}
	doing := fmt.Sprintf("read VM %s (%s)", state.Name.ValueString(), state.ID.ValueString())
	if err != nil {
		report(diags, doing, err)
		return
	}
	r.client.run.reads()
	n := readNotes(ctx, req.Private, diags)
	b.named(look, r.ref(state, n).Key)
	imported := state.Name.IsNull()
	if n.MAAS, err = b.knownMAAS(look, n.MAAS, imported); err != nil {
		report(diags, doing, err)
		return
	}
	vm, err := b.vms.Observe(look, r.ref(state, n))
	switch {
	case vanished(err):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		report(diags, doing, err)
		return
	}
	if imported && vm.HostID == 0 && vm.Cores == 0 {
		diags.AddError(fmt.Sprintf("Cannot import VM %s", vm.Hostname), fmt.Sprintf(
			"Only the LXD of VM host %s tells its size, and does not answer. Bring it back, and import again.", vm.HostName))
		return
	}
	r.client.run.holds(vm.Hostname, vm.SystemID)
	n = n.seen(vm)
	if n.HostMachine == "" || !state.stays(vm) {
		at := r.hostMachine(look, vm)
		if at != "" && at == n.HostMachine {
			state.VMHostName = optionalString(vm.HostName) // the same host, by another name
		}
		n.HostMachine = cmp.Or(at, n.HostMachine)
	}
	state.refresh(ctx, vm, diags)
	if imported {
		state.Tags = tagSet(importedTags(look, b, vm, diags))
	}
	if vm.InstanceMissing {
		state.Status = types.StringValue(statusMissing)
	}
	warnFailed(vm, n, diags)
	warnLostAddresses(vm, state.interfaces(ctx, diags), diags)
	save(ctx, &resp.State, resp.Identity, state, diags)
	writeNotes(ctx, resp.Private, n, diags)
}

// tagsOfMAAS are tags that MAAS gives to VMs by itself.
var tagsOfMAAS = []string{"virtual", "pod-console-logging"}

// importedTags lists the tags of a VM that neither MAAS nor its host gave it:
// those that a configuration is likely to declare.
func importedTags(ctx context.Context, b *backend, vm engine.VM, diags *diag.Diagnostics) []string {
	hosts, err := b.composer.Hosts(ctx)
	if err != nil {
		report(diags, "tell the tags of "+vm.Hostname+" from those of its VM host", err)
		return nil
	}
	inherited := slices.Clone(tagsOfMAAS)
	on, err := b.composer.HostOf(ctx, vm.Machine)
	if err != nil {
		report(diags, "tell the VM host of "+vm.Hostname, err)
		return nil
	}
	for _, h := range hosts {
		if h.HostKey == on.HostKey {
			inherited = append(inherited, h.Tags...)
		}
	}
	return removedTags(vm.Tags, inherited)
}

// warnFailed passes on what MAAS says of a VM that it gave up.
func warnFailed(vm engine.VM, n notes, diags *diag.Diagnostics) {
	if vm.Status.Phase() != engine.PhaseFailed {
		return
	}
	detail := "It is left alone. Look at it in MAAS; `terraform apply -replace=ADDRESS` makes it anew."
	if n.Pending && givenUp(vm.StatusName) {
		detail = "It never was finished, so the plan makes it anew."
	}
	if vm.StatusMessage != "" {
		detail = fmt.Sprintf("MAAS says: %s.\n\n%s", vm.StatusMessage, detail)
	}
	diags.AddWarning(fmt.Sprintf("VM %s is in state %q", vm.Hostname, vm.StatusName), detail)
}

// warnLostAddresses tells of fixed addresses that a running VM no longer has in
// MAAS. They are no drift: planning them would replace the VM.
func warnLostAddresses(vm engine.VM, interfaces map[string]interfaceModel, diags *diag.Diagnostics) {
	if vm.Status.Phase() != engine.PhaseDeployed {
		return
	}
	found := matchInterfaces(interfaces, vm.Interfaces)
	for _, label := range interfaceOrder(interfaces) {
		ip := interfaces[label].IP.ValueString()
		if ip == "" || slices.Contains(linkedIPs(found[label]), ip) {
			continue
		}
		diags.AddAttributeWarning(path.Root("interfaces").AtMapKey(label).AtName("ip"),
			fmt.Sprintf("VM %s no longer has the address %s", vm.Hostname, ip),
			"Someone changed its interface in MAAS. It is left alone. Put it right there; `terraform apply -replace=ADDRESS` makes the VM anew.")
	}
}
