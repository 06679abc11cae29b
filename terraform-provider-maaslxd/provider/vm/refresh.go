package vm

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/compose"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// fill completes a plan with the observed VM. Planned values stay: Terraform does not allow an
// apply to differ from its plan, and a later refresh shows any difference.
func (m *vmModel) fill(ctx context.Context, vm engine.VM, diags *diag.Diagnostics) {
	m.ID = types.StringValue(vm.SystemID)
	values.FillString(&m.VMHost, vm.HostName)
	values.FillString(&m.VMHostName, vm.HostName)
	if m.VMHostID.IsUnknown() {
		m.VMHostID = values.OptionalID(vm.HostID)
	}
	values.FillString(&m.Profile, firstOrEmpty(vm.Profiles))
	values.FillString(&m.Zone, vm.Zone)
	values.FillString(&m.Pool, vm.Pool)
	values.FillString(&m.Domain, vm.Domain)
	if m.Description.IsUnknown() {
		m.Description = types.StringValue(engine.DescriptionText(vm.Description)) // an import reads an empty description, too
	}
	values.FillString(&m.FQDN, vm.FQDN)
	values.FillString(&m.Status, vm.StatusName)
	values.FillList(&m.IPAddresses, vm.IPAddresses)
	m.fillDisks(ctx, vm, diags)
	m.fillInterfaces(ctx, vm, diags)
	if d := m.deploy(ctx, diags); d != nil {
		values.FillString(&d.Image.StringValue, vm.Image)
		values.FillString(&d.Kernel, vm.Kernel)
		m.Deploy = encodeDeploy(ctx, d, diags)
	}
}

// fillDisks records the storage pools that MAAS chose.
func (m *vmModel) fillDisks(ctx context.Context, vm engine.VM, diags *diag.Diagnostics) {
	disks := m.disks(ctx, diags)
	found := matchDisks(disks, vm.Disks)
	for name, d := range disks {
		values.FillString(&d.Pool, found[name].Pool)
		disks[name] = d
	}
	m.Disks = values.EncodeMap(ctx, diskType, disks, diags)
}

func (m *vmModel) fillInterfaces(ctx context.Context, vm engine.VM, diags *diag.Diagnostics) {
	if m.Interfaces.IsUnknown() {
		m.Interfaces = observedInterfaces(ctx, vm.Machine, diags)
		return
	}
	interfaces := m.interfaces(ctx, diags)
	if interfaces == nil {
		return
	}
	found := matchInterfaces(interfaces, vm.Machine)
	for label, i := range interfaces {
		values.FillString(&i.MACAddress, found[label].MAC)
		values.FillList(&i.IPAddresses, values.LinkedIPs(found[label]))
		interfaces[label] = i
	}
	m.Interfaces = values.EncodeMap(ctx, interfaceType, interfaces, diags)
}

// refresh updates the state with the observed VM, so that the next plan shows every difference
// from the configuration. Values that MAAS does not report, or does not know yet, stay.
func (m *vmModel) refresh(ctx context.Context, vm engine.VM, diags *diag.Diagnostics) {
	imported := m.Name.IsNull()
	m.refreshHost(vm)
	m.refreshSize(vm, imported)
	m.refreshProfile(vm)
	m.refreshDisks(ctx, vm, diags)
	m.refreshInterfaces(ctx, vm, diags)
	m.refreshDeploy(ctx, vm, imported, diags)
	m.Tags = values.RefreshTags(m.Tags, vm.Tags)
	m.Description = values.RefreshDescription(m.Description, vm.Description)
	m.Annotations = values.RefreshAnnotations(m.Annotations, vm.OwnerData)
	m.setSettings(m.settings().RefreshFrom(ctx, vm.Machine, diags))
	m.refreshPower(vm)
	if !m.Protection.IsNull() || imported && vm.Locked {
		m.Protection = types.BoolValue(vm.Locked)
	}
	m.ID = types.StringValue(vm.SystemID)
	m.Name = types.StringValue(vm.Hostname)
	m.Zone = types.StringValue(vm.Zone)
	m.Pool = types.StringValue(vm.Pool)
	m.Domain = types.StringValue(vm.Domain)
	m.FQDN = types.StringValue(vm.FQDN)
	m.Status = types.StringValue(vm.StatusName)
	m.IPAddresses = values.StringList(vm.IPAddresses)
}

// refreshUnfinished records in the state how far a failed update came. The state keeps a lock
// and a power that it or the plan sets. It keeps the tags of both, so that the provider still
// manages those on the VM. deploy is that of the plan if its deployment has begun. Otherwise
// it stays as it was, so that taking the change back replaces nothing. disks are those of the
// plan if the VM has got one of them.
func (m *vmModel) refreshUnfinished(ctx context.Context, plan vmModel, spec engine.VMSpec, added []string, vm engine.VM, diags *diag.Diagnostics) {
	m.Tags = values.UnionTags(plan.Tags, m.Tags)
	m.Annotations = values.UnionAnnotations(plan.Annotations, m.Annotations)
	m.setSettings(plan.settings().JoinedWith(m.settings()))
	if m.Protection.IsNull() {
		m.Protection = plan.Protection
	}
	if m.PowerState.IsNull() {
		m.PowerState = plan.PowerState
	}
	if spec.Installation == "" || vm.Status == engine.StatusDeployed && engine.InstallationIn(vm.Description) == spec.Installation {
		m.Deploy = plan.Deploy
	}
	if have := len(m.disks(ctx, diags)); len(vm.Disks) > have && len(plan.disks(ctx, diags)) > have {
		m.Disks = plan.Disks
	}
	m.dropLostInterfaces(ctx, added, vm, diags)
	m.refresh(ctx, vm, diags)
}

// refreshHost keeps the user's name of the host as long as the VM is on the same host.
func (m *vmModel) refreshHost(vm engine.VM) {
	if vm.HostName == "" {
		return
	}
	if m.VMHost.IsNull() || !m.isOnHostOfState(vm) {
		m.VMHost = types.StringValue(vm.HostName)
	}
	m.VMHostID = values.OptionalID(vm.HostID)
	m.VMHostName = types.StringValue(vm.HostName)
}

// isOnHostOfState tells whether the VM is on the host that the state names. The id decides, or
// the name if MAAS no longer has ids of hosts.
func (m *vmModel) isOnHostOfState(vm engine.VM) bool {
	if vm.HostID != 0 && !m.VMHostID.IsNull() {
		return m.VMHostID.ValueInt64() == int64(vm.HostID)
	}
	return m.VMHostName.ValueString() == vm.HostName
}

func (m *vmModel) refreshSize(vm engine.VM, imported bool) {
	if vm.Cores > 0 {
		m.Cores = types.Int64Value(int64(vm.Cores))
	}
	// A difference within a memory block is no drift: drift would replace the VM.
	if off := vm.MemoryMiB - m.MemoryMiB.ValueInt64(); vm.MemoryMiB > 0 && (off >= compose.MemoryBlockMiB || off <= -compose.MemoryBlockMiB) {
		m.MemoryMiB = types.Int64Value(vm.MemoryMiB)
	}
	if imported {
		m.HugePages = types.BoolValue(false)
	}
}

// refreshProfile records the profile that LXD reports. It stays if somebody has added other
// profiles, or if LXD does not answer.
func (m *vmModel) refreshProfile(vm engine.VM) {
	if vm.Profiles != nil && !slices.Contains(vm.Profiles, m.Profile.ValueString()) {
		m.Profile = values.OptionalString(firstOrEmpty(vm.Profiles))
	}
}

// firstOrEmpty is "" for an empty list.
func firstOrEmpty(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// refreshDisks records sizes. A disk that is gone leaves the state. A disk that nobody
// declared does not enter it.
func (m *vmModel) refreshDisks(ctx context.Context, vm engine.VM, diags *diag.Diagnostics) {
	if len(vm.Disks) == 0 {
		return
	}
	have := m.disks(ctx, diags)
	if have == nil {
		have = importedDisks(vm.Disks)
	}
	disks := map[string]diskModel{}
	for name, found := range matchDisks(have, vm.Disks) {
		d := have[name]
		d.SizeGB = types.Int64Value(found.SizeGB)
		if d.Pool.IsUnknown() || d.Pool.ValueString() == "" && found.Pool != "" {
			d.Pool = values.OptionalString(found.Pool)
		}
		disks[name] = d
	}
	m.Disks = values.EncodeMap(ctx, diskType, disks, diags)
}

// importedDisks gives names to the disks of an imported VM: root, disk1, disk2, ….
func importedDisks(found []engine.MachineDisk) map[string]diskModel {
	disks := map[string]diskModel{}
	for i, d := range found {
		name := rootDiskName
		if i > 0 {
			name = fmt.Sprintf("disk%d", i)
		}
		disks[name] = diskModel{SizeGB: types.Int64Value(d.SizeGB), Pool: types.StringNull()}
	}
	return disks
}

func (m *vmModel) refreshInterfaces(ctx context.Context, vm engine.VM, diags *diag.Diagnostics) {
	interfaces := m.interfaces(ctx, diags)
	switch {
	case interfaces == nil && vm.AddedNICs == nil && vm.Cores == 0:
		return // its LXD does not answer, and an added interface would seem to be one that the VM was made with
	case interfaces == nil:
		m.Interfaces = observedInterfaces(ctx, vm.Machine, diags)
		return
	}
	mergeAddedNICs(interfaces, vm.Machine)
	for label, found := range matchInterfaces(interfaces, vm.Machine) {
		i := interfaces[label]
		i.MACAddress = types.StringValue(found.MAC)
		i.IPAddresses = values.StringList(values.LinkedIPs(found))
		interfaces[label] = i
	}
	m.Interfaces = values.EncodeMap(ctx, interfaceType, interfaces, diags)
}

// refreshDeploy removes deploy from the state of a VM on which nothing is installed. So the
// next plan installs it again, in place.
func (m *vmModel) refreshDeploy(ctx context.Context, vm engine.VM, imported bool, diags *diag.Diagnostics) {
	d := m.deploy(ctx, diags)
	switch vm.Status.Phase() {
	case engine.PhaseDeployed, engine.PhaseDeploying:
		if d == nil && imported {
			d = &deployModel{Ephemeral: types.BoolValue(false)}
		}
	case engine.PhaseReady, engine.PhaseAllocated, engine.PhaseCommissioning, engine.PhaseReleasing:
		d = nil
	case engine.PhaseFailed, engine.PhaseOther:
	}
	if d != nil && d.Kernel.IsUnknown() {
		d.Kernel = values.OptionalString(vm.Kernel)
	}
	failed := vm.Status == engine.StatusFailedDeployment && d != nil && d.Image.ValueString() != ""
	if d != nil && !failed && (vm.Image != "" || d.Image.IsUnknown()) { // if the image is the same, the type keeps the spelling
		d.Image = texttype.ImageType.FromText(vm.Image)
	}
	if d != nil && imported {
		d.Kernel = values.OptionalString(vm.Kernel)
	}
	m.Deploy = encodeDeploy(ctx, d, diags)
}
