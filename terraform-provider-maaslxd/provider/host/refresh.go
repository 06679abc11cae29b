package host

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// statusWaitingForLXD is the status of a host whose machine is deployed, but whose LXD or
// inventory is not there.
const statusWaitingForLXD = "Waiting for LXD"

// hostStatus is the status of a host: MAAS's name, or statusWaitingForLXD.
func hostStatus(h engine.Host) string {
	if h.Machine.Status.Phase() == engine.PhaseDeployed && !values.HasInventory(h.VMHost) {
		return statusWaitingForLXD
	}
	return h.Machine.StatusName
}

// fill completes a plan with the observed host. Planned values stay: a later refresh shows any
// difference.
func (m *hostModel) fill(ctx context.Context, h engine.Host, diags *diag.Diagnostics) {
	v := h.VMHost
	m.ID, m.SystemID = types.StringValue(h.Machine.SystemID), types.StringValue(h.Machine.SystemID)
	values.FillString(&m.Hostname, h.Machine.Hostname)
	values.FillString(&m.LXDAddress.StringValue, h.Address)
	values.FillString(&m.Zone, v.Zone)
	values.FillString(&m.Pool, v.Pool)
	values.FillString(&m.DefaultStoragePool, v.DefaultPool())
	values.FillString(&m.LXDVersion, v.Version)
	values.FillString(&m.Fingerprint, h.Fingerprint)
	values.FillString(&m.ServerFingerprint, h.ServerFingerprint)
	values.FillString(&m.Status, hostStatus(h))
	values.FillList(&m.IPAddresses, h.Machine.IPAddresses)
	fillRatio(&m.CPUOvercommit, v.CPUOvercommit)
	fillRatio(&m.MemoryOvercommit, v.MemoryOvercommit)
	if m.VMHostID.IsUnknown() {
		m.VMHostID = values.OptionalID(v.ID)
	}
	if m.TrustedFingerprints.IsUnknown() {
		m.TrustedFingerprints = fingerprintSet(nil)
	}
	if d := values.DecodeObject[values.Deployment](ctx, m.Deploy, diags); d != nil {
		d.Fill(h.Machine.Image, h.Machine.Kernel)
		m.Deploy = values.EncodeObject(ctx, values.DeploymentType, d, diags)
	}
	m.fillInventory(ctx, v, diags)
}

func (m *hostModel) fillInventory(ctx context.Context, v engine.VMHost, diags *diag.Diagnostics) {
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

// refresh updates the state with the observed host, so that the next plan shows every
// difference from the configuration.
func (m *hostModel) refresh(ctx context.Context, h engine.Host, diags *diag.Diagnostics) {
	v := h.VMHost
	if d := values.DecodeObject[values.Deployment](ctx, m.Deploy, diags); d != nil {
		d.FillNulls(h.Machine.Image, h.Machine.Kernel)
		m.Deploy = values.EncodeObject(ctx, values.DeploymentType, d, diags)
	}
	m.ID, m.SystemID = types.StringValue(h.Machine.SystemID), types.StringValue(h.Machine.SystemID)
	m.Hostname = types.StringValue(h.Machine.Hostname)
	m.Status = types.StringValue(hostStatus(h))
	m.IPAddresses = values.StringList(h.Machine.IPAddresses)
	m.VMHostID = values.OptionalID(v.ID)
	m.LXDVersion = values.OptionalString(v.Version)
	m.Cores = amountOf(ctx, v, v.Cores, v.CPUOvercommit, diags)
	m.MemoryMiB = amountOf(ctx, v, v.MemoryMiB, v.MemoryOvercommit, diags)
	m.StoragePools = poolsOf(ctx, v, diags)
	if h.Address != "" { // if the address is the same, the type keeps the spelling
		m.LXDAddress = texttype.AddressType.FromText(h.Address)
		if values.IsSet(m.Address) {
			m.Address = m.LXDAddress
		}
	}
	if h.Fingerprint != "" {
		m.Fingerprint = types.StringValue(h.Fingerprint)
	}
	if h.ServerFingerprint != "" {
		m.ServerFingerprint = types.StringValue(h.ServerFingerprint)
	}
	if v.HostKey == "" {
		return // MAAS has these values only after it is registered
	}
	m.Name = types.StringValue(v.Name)
	m.Zone, m.Pool = types.StringValue(v.Zone), types.StringValue(v.Pool)
	m.CPUOvercommit, m.MemoryOvercommit = types.Float64Value(v.CPUOvercommit), types.Float64Value(v.MemoryOvercommit)
	if values.HasInventory(v) {
		m.DefaultStoragePool = values.OptionalString(v.DefaultPool())
	}
	if kept := refreshTags(m.tags(), v.Tags); !m.Tags.IsNull() {
		m.Tags = kept
	}
}

// refreshTags are the declared tags that the host still has, as a set that is not null.
func refreshTags(declared, there []string) types.Set {
	kept := values.TagSet(slices.DeleteFunc(slices.Clone(declared), func(t string) bool { return !slices.Contains(there, t) }))
	if kept.IsNull() {
		return types.SetValueMust(types.StringType, nil)
	}
	return kept
}

// fillImported fills in what the configuration of an imported host is likely to have, as far
// as it is known.
func (m *hostModel) fillImported(ctx context.Context, h engine.Host, e engine.Endpoint, n privateState, diags *diag.Diagnostics) {
	if m.Name.IsNull() {
		m.Name = types.StringValue(h.Machine.Hostname)
	}
	// If an LXD was registered by its address, MAAS made the machine's record itself. Nobody
	// deployed the image that it shows there.
	byAddress := !n.Foreign && h.Machine.PowerType == "" && e.Address != ""
	if byAddress {
		m.Address = texttype.AddressType.FromText(e.Address)
	} else {
		m.Machine = types.StringValue(h.Machine.Hostname)
	}
	m.Adopt = types.BoolValue(n.Foreign)
	m.AdoptExistingVMs, m.ForceDestroy = types.BoolValue(false), types.BoolValue(false)
	m.OnCreateFailure = types.StringValue(failureKeep)
	m.TrustedFingerprints = fingerprintSet(nil)
	if h.Fingerprint != "" {
		m.TrustedFingerprints = fingerprintSet([]string{h.Fingerprint})
	}
	if e.Address != "" {
		m.LXDAddress = texttype.AddressType.FromText(e.Address)
	}
	if e.Project != "" && e.Project != cloudinit.DefaultProject {
		m.LXD = values.EncodeObject(ctx, lxdType, lxdModelOfProject(e.Project), diags)
	}
	if !n.Foreign && !byAddress && h.Machine.Image != "" {
		m.Deploy = values.EncodeInstalledDeployment(ctx, h.Machine.Image, h.Machine.Kernel, diags)
	}
	if !n.Moved { // the configuration may leave the tags to others
		m.Tags = values.TagSet(values.Difference(h.VMHost.Tags, values.TagsOfMAAS))
	}
}

func fillRatio(v *types.Float64, seen float64) {
	switch {
	case !v.IsUnknown():
	case seen == 0:
		*v = types.Float64Null()
	default:
		*v = types.Float64Value(seen)
	}
}

// amountOf is null until MAAS has an inventory.
func amountOf(ctx context.Context, v engine.VMHost, a engine.Amount, ratio float64, diags *diag.Diagnostics) types.Object {
	if !values.HasInventory(v) {
		return types.ObjectNull(amountType.AttrTypes)
	}
	return values.EncodeObject(ctx, amountType, values.Amount{Total: a.Total, Used: a.Used, Free: a.FreeAtRatio(ratio)}, diags)
}

func poolsOf(ctx context.Context, v engine.VMHost, diags *diag.Diagnostics) types.Map {
	if !values.HasInventory(v) {
		return types.MapNull(storagePoolType)
	}
	pools := map[string]values.StoragePool{}
	for _, p := range v.StoragePools {
		pools[p.Name] = values.NewStoragePool(p)
	}
	return values.EncodeMap(ctx, storagePoolType, pools, diags)
}

// fingerprintSet is a known set.
func fingerprintSet(values []string) types.Set {
	elems := make([]attr.Value, 0, len(values))
	for _, v := range values {
		elems = append(elems, types.StringValue(v))
	}
	return types.SetValueMust(types.StringType, elems)
}
