package vm

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/site"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// planCores counts the pinned cores if cores is not set. A VM keeps its number of cores; the
// default is for a new one.
func (p *vmPlan) planCores() {
	if !p.config.Cores.IsNull() {
		return
	}
	switch pinned := p.config.PinnedCores; {
	case pinned.IsUnknown():
		p.plan.Cores = types.Int64Unknown()
	case !pinned.IsNull():
		p.plan.Cores = types.Int64Value(int64(len(pinned.Elements())))
	case p.state != nil && values.IsSet(p.state.Cores):
		p.plan.Cores = p.state.Cores
	default:
		p.plan.Cores = types.Int64Value(defaultCores)
	}
}

// planMemory keeps memory and huge pages if they are not set.
func (p *vmPlan) planMemory() {
	if p.config.MemoryMiB.IsNull() {
		p.plan.MemoryMiB = types.Int64Value(defaultMemoryMiB)
		if p.state != nil && values.IsSet(p.state.MemoryMiB) {
			p.plan.MemoryMiB = p.state.MemoryMiB
		}
	}
	if p.config.HugePages.IsNull() {
		p.plan.HugePages = types.BoolValue(false)
		if p.state != nil && values.IsSet(p.state.HugePages) {
			p.plan.HugePages = p.state.HugePages
		}
	}
}

// planDisks keeps the disks if they are not set, and plans one root disk for a new VM.
func (p *vmPlan) planDisks(ctx context.Context) {
	switch {
	case !p.config.Disks.IsNull():
		p.keepStoragePools(ctx)
	case p.state != nil && values.IsSet(p.state.Disks):
		p.plan.Disks = p.state.Disks
	default:
		root := diskModel{SizeGB: types.Int64Value(defaultDiskGB), Pool: types.StringUnknown()}
		p.plan.Disks = values.EncodeMap(ctx, diskType, map[string]diskModel{rootDiskName: root}, p.diags)
	}
}

// keepStoragePools keeps the storage pools of disks that name none, also if MAAS does not
// report them. Terraform plans all computed values as unknown if anything changes.
func (p *vmPlan) keepStoragePools(ctx context.Context) {
	if p.state == nil || !values.IsSet(p.plan.Disks) {
		return
	}
	have, plan := p.state.disks(ctx, p.diags), p.plan.disks(ctx, p.diags)
	wished := p.config.disks(ctx, p.diags)
	for name, d := range plan {
		if had, ok := have[name]; ok && d.Pool.IsUnknown() && wished[name].Pool.IsNull() {
			d.Pool = had.Pool
			plan[name] = d
		}
	}
	p.plan.Disks = values.EncodeMap(ctx, diskType, plan, p.diags)
}

// makesVMsInLXD tells whether VMs are made in LXD itself, where sizes change in place.
func (r *vmResource) makesVMsInLXD(ctx context.Context) (bool, error) {
	b, err := r.client.Backend()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	chosen, err := b.ChosenComposer(ctx)
	return chosen == site.LXD, err
}

// canResizeInPlace tells whether a new size needs no new VM. It asks only if that matters.
// While the provider's configuration is not known, it is false. If it cannot be found out,
// that is an error, since a wrong answer may destroy a VM.
func (p *vmPlan) canResizeInPlace(ctx context.Context) bool {
	if p.plan.hasSameSize(ctx, *p.state, p.diags) || !p.plan.PinnedCores.Equal(p.state.PinnedCores) {
		return false
	}
	can, err := p.makesVMsInLXD(ctx)
	if err != nil && !errors.Is(err, client.ErrUnknownConfig) {
		p.diags.AddError("Cannot find out whether the size of VM "+p.state.Name.ValueString()+" changes in place", diagnostics.ExplainError(err)+diagnostics.Paragraph(
			"The plan stops here, because a VM whose size cannot change in place is replaced. Plan again when MAAS answers, or keep the former size. "+client.DestroyAllHint))
	}
	return err == nil && can
}

// refuseRunning refuses a new size that needs a stopped VM: a deployed VM runs, and the apply
// would refuse it later. A VM that is made anew may have any size.
func (p *vmPlan) refuseRunning(ctx context.Context) {
	attribute, what := changeNeedingStop(ctx, p)
	if len(p.replace) > 0 || attribute == "" || p.diags.HasError() {
		return
	}
	at := path.Root(attribute)
	if p.plan.PowerState.ValueString() == powerStopped {
		return // it is turned off anyway
	}
	if power, err := p.readPower(ctx, p.state.ID.ValueString()); err != nil || power != "on" {
		return // the LXD decides
	}
	name := p.state.Name.ValueString()
	if p.plan.AllowStopping.ValueBool() {
		p.diags.AddAttributeWarning(at, fmt.Sprintf("VM %s is stopped for a while", name), fmt.Sprintf(
			"%s runs, and must be stopped to change %s. MAAS turns it off at once, and on again afterwards.", name, what))
		return
	}
	p.diags.AddAttributeError(at, "Cannot update VM "+name, fmt.Sprintf(
		"%s runs, and must be stopped to change %s.\n\nSet allow_stopping_for_update = true, and the update turns it off and on again. Or set power_state = "+
			"\"stopped\", which turns it off and leaves it off. It keeps its disks. %s", name, what, client.DestroyAllHint))
}

// changeNeedingStop names the attribute, and the part of it, that changes in place and needs a
// stopped VM; empty: none does.
func changeNeedingStop(ctx context.Context, p *vmPlan) (attribute, what string) {
	switch {
	case p.resizesInPlace && !p.plan.MemoryMiB.Equal(p.state.MemoryMiB):
		return "memory_mib", fmt.Sprintf("limits.memory (memory_mib from %d to %s)", p.state.MemoryMiB.ValueInt64(), p.plan.MemoryMiB)
	case p.resizesInPlace && p.growsDisk(ctx):
		return "disks", "the size of a disk"
	}
	want, have := p.plan.settings(), p.state.settings()
	if attribute, _ = want.ChangeNeedingStop(have); attribute == "" {
		return "", ""
	}
	// An import takes no settings over, so the VM may have them already.
	if vm, err := p.observeVM(ctx, p.state.ID.ValueString()); err == nil {
		have = have.JoinedWith(want.RefreshFrom(ctx, vm.Machine, p.diags))
	}
	return want.ChangeNeedingStop(have)
}

// observeVM reads a VM from MAAS and LXD.
func (r *vmResource) observeVM(ctx context.Context, systemID string) (engine.VM, error) {
	b, err := r.client.Backend()
	if err != nil {
		return engine.VM{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, client.ReadTimeout)
	defer cancel()
	return b.VMs.Observe(ctx, engine.Ref{SystemID: systemID, Finished: true})
}

// warnLostTPMKeys warns of a TPM that is removed: LXD deletes its keys with the device.
func (p *vmPlan) warnLostTPMKeys() {
	if lost := p.plan.settings().LostTPMs(p.state.settings()); len(lost) > 0 && len(p.replace) == 0 {
		p.diags.AddAttributeWarning(path.Root("devices"), fmt.Sprintf("VM %s loses the keys of its TPM", p.state.Name.ValueString()), fmt.Sprintf(
			"LXD deletes the keys of a TPM with the device, and the device %s is removed. The guest can then no longer open what it sealed with them, "+
				"such as an encrypted disk. A device of another name is a new TPM. Keep the name, or first save a recovery key in the guest.", strings.Join(lost, ", ")))
	}
}

// refuseSettings refuses options and devices of LXD where MAAS composes VMs: MAAS sets none,
// and cannot change an existing VM.
func refuseSettings(ctx context.Context, p *vmPlan) {
	want := p.plan.settings()
	if want.IsNull() || p.state != nil && want.Equal(p.state.settings()) {
		return
	}
	inLXD, err := p.makesVMsInLXD(ctx)
	if err != nil || inLXD {
		return // the engine asks again before it makes anything
	}
	verb := "create"
	if p.state != nil {
		verb = "change"
	}
	if err := engine.CheckInstanceOfMAAS(len(want.Config.Elements()), len(want.Devices.Elements())); err != nil {
		diagnostics.ReportError(p.diags, verb+" VM "+p.plan.Name.ValueString(), err)
	}
}

// growsDisk tells whether an existing disk grows. LXD adds a new disk to a running VM.
func (p *vmPlan) growsDisk(ctx context.Context) bool {
	have, want := p.state.disks(ctx, p.diags), p.plan.disks(ctx, p.diags)
	wantOrder := diskOrder(want)
	for i, name := range diskOrder(have) {
		if i < len(wantOrder) && !want[wantOrder[i]].SizeGB.Equal(have[name].SizeGB) {
			return true
		}
	}
	return false
}

// vmSize is the size of a VM. It has the sizes of the disks in the order in which the VM has them.
type vmSize struct {
	Cores     int64   `json:"cores"`
	MemoryMiB int64   `json:"memory_mib"`
	DisksGB   []int64 `json:"disks_gb"`
}

// size is the size of the VM. The disks must be known.
func (m vmModel) size(ctx context.Context, diags *diag.Diagnostics) *vmSize {
	s := &vmSize{Cores: m.Cores.ValueInt64(), MemoryMiB: m.MemoryMiB.ValueInt64()}
	disks := m.disks(ctx, diags)
	for _, name := range diskOrder(disks) {
		s.DisksGB = append(s.DisksGB, disks[name].SizeGB.ValueInt64())
	}
	return s
}

// hasSameSize tells whether both have the same size, as far as it is known.
func (m vmModel) hasSameSize(ctx context.Context, other vmModel, diags *diag.Diagnostics) bool {
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

// sizeGivenInLXD is the size that LXD last gave the VM, after an update. Only LXD changes a size.
func sizeGivenInLXD(ctx context.Context, m vmModel, spec engine.VMSpec, n privateState, diags *diag.Diagnostics) *vmSize {
	if !spec.Resize {
		return n.ResizedInLXD
	}
	return m.size(ctx, diags)
}

// forgetKnownSize drops the note of a size that LXD gave the VM, once MAAS shows it where MAAS makes
// the VMs.
func (n privateState) forgetKnownSize(ctx context.Context, b *client.Backend, seen *vmSize) privateState {
	if n.ResizedInLXD == nil || !reflect.DeepEqual(seen, n.ResizedInLXD) {
		return n
	}
	if chosen, err := b.ChosenComposer(ctx); err == nil && chosen == site.MAAS {
		n.ResizedInLXD = nil
	}
	return n
}

// refreshKeepingDisks updates the state with the observed VM, and the notes. If LXD gave the VM its
// disks, and MAAS makes the VMs now, the state keeps these disks: MAAS shows the former ones until it
// commissions the VM again. A refresh of its VM host corrects only cores and memory.
func (n privateState) refreshKeepingDisks(ctx context.Context, b *client.Backend, m *vmModel, vm engine.VM, diags *diag.Diagnostics) privateState {
	before := *m
	m.refresh(ctx, vm, diags)
	n = n.forgetKnownSize(ctx, b, m.size(ctx, diags))
	given := n.ResizedInLXD
	if given == nil || !slices.Equal(before.size(ctx, diags).DisksGB, given.DisksGB) {
		return n
	}
	if chosen, err := b.ChosenComposer(ctx); err == nil && chosen == site.MAAS {
		m.Disks = before.Disks
	}
	return n
}

// warnOutdatedSize warns that MAAS shows the size of the configuration, and that the VM has another one:
// a former apply gave it that size in LXD, and MAAS does not know it yet.
func warnOutdatedSize(ctx context.Context, p *vmPlan) {
	given := p.private.ResizedInLXD
	if given == nil || p.diags.HasError() || !p.plan.hasSameSize(ctx, *p.state, p.diags) || reflect.DeepEqual(p.plan.size(ctx, p.diags), given) {
		return
	}
	if inLXD, err := p.makesVMsInLXD(ctx); err != nil || inLXD {
		return
	}
	name := p.state.Name.ValueString()
	p.diags.AddWarning("MAAS shows a former size of VM "+name, fmt.Sprintf(
		"A former apply gave %s another size in LXD, which it still has: cores = %d, memory_mib = %d, disks of %v GB. The configuration has the former size, as MAAS shows it.\n\n"+
			"Write the size that the VM has, or set composer = \"lxd\" in the provider block again. Once MAAS refreshes VM host %s, the former size replaces the VM, and its disks are lost.",
		name, given.Cores, given.MemoryMiB, given.DisksGB, p.state.VMHostName.ValueString()))
}

// refuseOutdatedSize refuses a plan that would replace a VM for a size that it has: a former apply
// gave it the size in LXD, and now MAAS makes the VMs, which still shows the former size.
func refuseOutdatedSize(ctx context.Context, p *vmPlan) (refused bool) {
	given := p.private.ResizedInLXD
	if given == nil || p.resizesInPlace || p.plan.hasSameSize(ctx, *p.state, p.diags) || p.diags.HasError() {
		return false
	}
	if p.plan.Disks.IsUnknown() || !reflect.DeepEqual(p.plan.size(ctx, p.diags), given) {
		return false
	}
	if inLXD, err := p.makesVMsInLXD(ctx); err != nil || inLXD {
		return false
	}
	name := p.state.Name.ValueString()
	p.diags.AddError("MAAS does not know the size of VM "+name+" yet", fmt.Sprintf(
		"A former apply gave %s the size of the configuration in LXD, and MAAS still shows another size. The plan stops here, because it would replace "+
			"the VM, and delete the data on its disks, for a size that it has.\n\nRefresh VM host %s in MAAS, and plan again. The action "+
			"maaslxd_vm_host_refresh does that, too. Or set composer = \"lxd\" in the provider block again. %s",
		name, p.state.VMHostName.ValueString(), client.DestroyAllHint))
	return true
}
