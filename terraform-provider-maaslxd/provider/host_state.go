package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
)

// statusWaiting is the status of a host whose machine is deployed, and whose
// LXD or inventory is not there.
const statusWaiting = "Waiting for LXD"

// hostStatus says how far a host has come.
func hostStatus(h engine.Host) string {
	if h.Machine.Status.Phase() == engine.PhaseDeployed && !inventoried(h.VMHost) {
		return statusWaiting
	}
	return h.Machine.StatusName
}

// inventoried tells whether the LXD was reached.
func inventoried(v engine.VMHost) bool {
	return v.HostKey != "" && v.Version != "" && v.Cores.Total > 0
}

// fill completes a plan with what was seen of the host. What the plan says
// stays: a later refresh shows any difference.
func (m *hostState) fill(ctx context.Context, h engine.Host, diags *diag.Diagnostics) {
	v := h.VMHost
	m.ID, m.SystemID = types.StringValue(h.Machine.SystemID), types.StringValue(h.Machine.SystemID)
	setString(&m.Hostname, h.Machine.Hostname)
	setString(&m.LXDAddress, h.Address)
	setString(&m.Zone, v.Zone)
	setString(&m.Pool, v.Pool)
	setString(&m.DefaultStoragePool, defaultPool(v))
	setString(&m.LXDVersion, v.Version)
	setString(&m.Fingerprint, h.Fingerprint)
	setString(&m.ServerFingerprint, h.ServerFingerprint)
	setString(&m.Status, hostStatus(h))
	setList(&m.IPAddresses, h.Machine.IPAddresses)
	setRatio(&m.CPUOvercommit, v.CPUOvercommit)
	setRatio(&m.MemoryOvercommit, v.MemoryOvercommit)
	if m.VMHostID.IsUnknown() {
		m.VMHostID = idOrNull(v.ID)
	}
	if m.TrustedFingerprints.IsUnknown() {
		m.TrustedFingerprints = fingerprintSet(nil)
	}
	m.fillInventory(ctx, v, diags)
}

func (m *hostState) fillInventory(ctx context.Context, v engine.VMHost, diags *diag.Diagnostics) {
	if m.Cores.IsUnknown() {
		m.Cores = amountOf(ctx, v, v.Cores, v.CPUOvercommit, diags)
	}
	if m.MemoryMiB.IsUnknown() {
		m.MemoryMiB = amountOf(ctx, v, v.MemoryMiB, v.MemoryOvercommit, diags)
	}
	if m.StoragePools.IsUnknown() {
		m.StoragePools = poolsOf(ctx, v, diags)
	}
}

// refresh makes the state say what was seen of the host, so that the next plan
// shows every difference from the configuration.
func (m *hostState) refresh(ctx context.Context, h engine.Host, diags *diag.Diagnostics) {
	v := h.VMHost
	m.ID, m.SystemID = types.StringValue(h.Machine.SystemID), types.StringValue(h.Machine.SystemID)
	m.Hostname = types.StringValue(h.Machine.Hostname)
	m.Status = types.StringValue(hostStatus(h))
	m.IPAddresses = stringList(h.Machine.IPAddresses)
	m.VMHostID = idOrNull(v.ID)
	m.LXDVersion = optionalString(v.Version)
	m.Cores = amountOf(ctx, v, v.Cores, v.CPUOvercommit, diags)
	m.MemoryMiB = amountOf(ctx, v, v.MemoryMiB, v.MemoryOvercommit, diags)
	m.StoragePools = poolsOf(ctx, v, diags)
	if h.Address != "" && !sameEndpoint(h.Address, m.LXDAddress.ValueString()) {
		m.LXDAddress = types.StringValue(h.Address)
	}
	if set(m.Address) && h.Address != "" && !sameEndpoint(h.Address, m.Address.ValueString()) {
		m.Address = types.StringValue(h.Address)
	}
	if h.Fingerprint != "" {
		m.Fingerprint = types.StringValue(h.Fingerprint)
	}
	if h.ServerFingerprint != "" {
		m.ServerFingerprint = types.StringValue(h.ServerFingerprint)
	}
	if v.HostKey == "" {
		return // what it was set to is told once it is registered
	}
	m.Name = types.StringValue(v.Name)
	m.Zone, m.Pool = types.StringValue(v.Zone), types.StringValue(v.Pool)
	m.CPUOvercommit, m.MemoryOvercommit = types.Float64Value(v.CPUOvercommit), types.Float64Value(v.MemoryOvercommit)
	if inventoried(v) {
		m.DefaultStoragePool = optionalString(defaultPool(v))
	}
	if kept := keptTags(m.tags(), v.Tags); !m.Tags.IsNull() {
		m.Tags = kept
	}
}

// keptTags are those of the declared tags that are still there, as a set that
// is not null.
func keptTags(declared, there []string) types.Set {
	kept := tagSet(slices.DeleteFunc(slices.Clone(declared), func(t string) bool { return !slices.Contains(there, t) }))
	if kept.IsNull() {
		return types.SetValueMust(types.StringType, nil)
	}
	return kept
}

// imported fills in what the configuration of an imported host is likely to
// say, as far as it can be known.
func (m *hostState) imported(ctx context.Context, h engine.Host, e engine.Endpoint, foreign bool, diags *diag.Diagnostics) {
	if m.Name.IsNull() {
		m.Name = types.StringValue(h.Machine.Hostname)
	}
	m.Machine = types.StringValue(h.Machine.Hostname)
	m.Adopt = types.BoolValue(foreign)
	m.AdoptExistingVMs, m.ForceDestroy = types.BoolValue(false), types.BoolValue(false)
	m.OnCreateFailure = types.StringValue(failureKeep)
	m.TrustedFingerprints = fingerprintSet(nil)
	if h.Fingerprint != "" {
		m.TrustedFingerprints = fingerprintSet([]string{h.Fingerprint})
	}
	if e.Address != "" {
		m.LXDAddress = types.StringValue(e.Address)
	}
	if e.Project != "" && e.Project != cloudinit.DefaultProject {
		m.LXD = encoded(ctx, lxdType, noLXD(e.Project), diags)
	}
	if !foreign && h.Machine.Image != "" {
		m.Deploy = encoded(ctx, hostDeployType, hostDeployModel{Image: types.StringValue(h.Machine.Image), Kernel: optionalString(h.Machine.Kernel)}, diags)
	}
	m.Tags = tagSet(removedTags(h.VMHost.Tags, tagsOfMAAS))
}

func setRatio(v *types.Float64, seen float64) {
	switch {
	case !v.IsUnknown():
	case seen == 0:
		*v = types.Float64Null()
	default:
		*v = types.Float64Value(seen)
	}
}

func idOrNull(id int) types.Int64 {
	if id == 0 {
		return types.Int64Null()
	}
	return types.Int64Value(int64(id))
}

func defaultPool(v engine.VMHost) string {
	for _, p := range v.StoragePools {
		if p.Default {
			return p.Name
		}
	}
	return ""
}

// amountOf is null as long as MAAS has no inventory.
func amountOf(ctx context.Context, v engine.VMHost, a engine.Amount, ratio float64, diags *diag.Diagnostics) types.Object {
	if !inventoried(v) {
		return types.ObjectNull(amountType.AttrTypes)
	}
	free := max(0, int64(float64(a.Total)*ratio)-a.Used)
	return encoded(ctx, amountType, amountModel{Total: a.Total, Used: a.Used, Free: free}, diags)
}

func poolsOf(ctx context.Context, v engine.VMHost, diags *diag.Diagnostics) types.Map {
	if !inventoried(v) {
		return types.MapNull(hostPoolSeenType)
	}
	pools := map[string]storagePoolModel{}
	for _, p := range v.StoragePools {
		pools[p.Name] = newStoragePoolModel(p)
	}
	return toMap(ctx, hostPoolSeenType, pools, diags)
}

// fingerprintSet is a known set.
func fingerprintSet(values []string) types.Set {
	elems := make([]attr.Value, 0, len(values))
	for _, v := range values {
		elems = append(elems, types.StringValue(v))
	}
	return types.SetValueMust(types.StringType, elems)
}
