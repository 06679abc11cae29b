package provider

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"

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
