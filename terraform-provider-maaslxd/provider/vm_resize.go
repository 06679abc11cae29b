package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/maaslxd/maaslxd/engine/site"
)

// resizes tells whether VMs are made in LXD itself, which changes their sizes in
// place.
func (r *vmResource) resizes(ctx context.Context) (bool, error) {
	b, err := r.client.use()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	chosen, err := b.chosen(ctx)
	return chosen == site.LXD, err
}

// changesInPlace tells whether a new size takes no new VM. It asks only where
// that matters. While the provider's configuration is not known, it does; what
// cannot be found out is an error, since the answer may cost a VM.
func (p *vmPlan) changesInPlace(ctx context.Context) bool {
	if p.plan.sameSize(ctx, *p.state, p.diags) || !p.plan.PinnedCores.Equal(p.state.PinnedCores) {
		return false
	}
	can, err := p.resizes(ctx)
	if err != nil && !errors.Is(err, errUnknownConfig) {
		report(p.diags, "tell whether the size of VM "+p.state.Name.ValueString()+" changes in place", err)
	}
	return err == nil && can
}

// refuseRunning refuses a size that only a stopped VM can be given: a deployed one
// runs, and the apply would only say so. A VM that is made anew may have any size.
func (p *vmPlan) refuseRunning(ctx context.Context) {
	if len(p.replace) > 0 || !p.inPlace {
		return
	}
	var at path.Path
	var what string
	switch {
	case !p.plan.MemoryMiB.Equal(p.state.MemoryMiB):
		at, what = path.Root("memory_mib"), fmt.Sprintf("limits.memory (memory_mib from %d to %s)", p.state.MemoryMiB.ValueInt64(), p.plan.MemoryMiB)
	case !p.plan.Disks.Equal(p.state.Disks) && !p.sameDisks(ctx, false):
		at, what = path.Root("disks"), "the size of a disk"
	default:
		return
	}
	if power, err := p.power(ctx, p.state.ID.ValueString()); err != nil || power != "on" {
		return // the LXD has the last word
	}
	name := p.state.Name.ValueString()
	p.diags.AddAttributeError(at, "Cannot update VM "+name, fmt.Sprintf(
		"%s runs, and must be stopped to change %s.\n\nTurn the machine off first, in MAAS, and plan again; its disks are kept. Turn it on again afterwards. %s", name, what, destroyAll))
}

// power asks whether a VM is on.
func (r *vmResource) power(ctx context.Context, systemID string) (string, error) {
	b, err := r.client.use()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return b.machines.Power(ctx, systemID)
}

// sameSize tells whether both have as many cores, as much memory, and disks of
// the same sizes in the order in which the VM has them.
func (m vmModel) sameSize(ctx context.Context, other vmModel, diags *diag.Diagnostics) bool {
	if !m.Cores.Equal(other.Cores) || !m.MemoryMiB.Equal(other.MemoryMiB) || m.Disks.IsUnknown() {
		return false
	}
	have, want := other.disks(ctx, diags), m.disks(ctx, diags)
	haveOrder, wantOrder := diskOrder(have), diskOrder(want)
	if len(haveOrder) != len(wantOrder) {
		return false
	}
	for n, name := range wantOrder {
		if !want[name].SizeGB.Equal(have[haveOrder[n]].SizeGB) {
			return false
		}
	}
	return true
}
