package machine

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/inplace"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// fill completes a plan with the observed machine. Planned values stay: a later refresh shows
// any difference.
func (m *machineModel) fill(ctx context.Context, seen engine.BareMetal, diags *diag.Diagnostics) {
	if d := m.deploy(ctx, diags); d != nil {
		d.Fill(seen.Image, seen.Kernel)
		m.Deploy = values.EncodeObject(ctx, deployType, d, diags)
	}
	m.ID = types.StringValue(seen.SystemID)
	values.FillString(&m.Hostname, seen.Hostname)
	values.FillString(&m.Domain, seen.Domain)
	if m.Description.IsUnknown() {
		m.Description = types.StringValue(engine.DescriptionText(seen.Description)) // an import reads an empty description, too
	}
	values.FillString(&m.FQDN, seen.FQDN)
	values.FillString(&m.Zone, seen.Zone)
	values.FillString(&m.Pool, seen.Pool)
	values.FillString(&m.Architecture, seen.Architecture)
	values.FillString(&m.Status, seen.StatusName)
	values.FillString(&m.StatusMessage, seen.StatusMessage)
	values.FillList(&m.IPAddresses, seen.IPAddresses)
	if m.Interfaces.IsUnknown() {
		m.Interfaces = types.MapNull(interfaceType)
	}
	if m.Cores.IsUnknown() {
		m.Cores = types.Int64Value(int64(seen.Cores))
	}
	if m.MemoryMiB.IsUnknown() {
		m.MemoryMiB = types.Int64Value(seen.MemoryMiB)
	}
}

// refresh updates the state with the observed machine.
func (m *machineModel) refresh(ctx context.Context, seen engine.BareMetal, diags *diag.Diagnostics) {
	if d := m.deploy(ctx, diags); d != nil {
		d.FillNulls(seen.Image, seen.Kernel)
		m.Deploy = values.EncodeObject(ctx, deployType, d, diags)
	}
	m.ID = types.StringValue(seen.SystemID)
	m.Hostname, m.Domain = types.StringValue(seen.Hostname), types.StringValue(seen.Domain)
	m.Tags = values.RefreshTags(m.Tags, seen.Tags)
	m.Description = values.RefreshDescription(m.Description, seen.Description)
	m.Annotations = values.RefreshAnnotations(m.Annotations, seen.OwnerData)
	if !m.Protection.IsNull() {
		m.Protection = types.BoolValue(seen.Locked)
	}
	m.FQDN = types.StringValue(seen.FQDN)
	m.Zone, m.Pool = types.StringValue(seen.Zone), types.StringValue(seen.Pool)
	m.Architecture = values.OptionalString(seen.Architecture)
	m.Cores, m.MemoryMiB = types.Int64Value(int64(seen.Cores)), types.Int64Value(seen.MemoryMiB)
	m.Status = types.StringValue(seen.StatusName)
	m.StatusMessage = values.OptionalString(seen.StatusMessage)
	m.IPAddresses = values.StringList(seen.IPAddresses)
}

// refreshUnfinished records in the state how far a failed update came. The state keeps the
// tags and annotations that it or the plan declares, so that the provider still manages them.
func (m *machineModel) refreshUnfinished(ctx context.Context, plan machineModel, seen engine.BareMetal, diags *diag.Diagnostics) {
	m.Tags = values.UnionTags(plan.Tags, m.Tags)
	m.Annotations = values.UnionAnnotations(plan.Annotations, m.Annotations)
	if m.Protection.IsNull() {
		m.Protection = plan.Protection
	}
	m.refresh(ctx, seen, diags)
}

// fillImported fills in what the configuration of an imported machine is likely to have. If a
// maaslxd_machine made it, the name comes from its key. Its notes have the tags that were put
// on, and the former names.
func (m *machineModel) fillImported(ctx context.Context, seen engine.BareMetal, key engine.Key, diags *diag.Diagnostics) {
	before := inplace.FormerSettingsOf(seen.Machine)
	m.Name, m.Machine = types.StringValue(seen.Hostname), types.StringValue(cmp.Or(before.FormerHostname(), seen.Hostname))
	m.Tags = values.TagSet(before.AddedTags)
	if seen.Locked {
		m.Protection = types.BoolValue(true)
	}
	if _, name, ok := strings.Cut(string(key), "/"+client.MachineKeyName("")); ok {
		m.Name = types.StringValue(name)
	}
	m.Deploy = installedDeployment(ctx, seen, diags)
	m.Interfaces = importedAddresses(ctx, seen.Machine, diags)
}

// installedDeployment is the attribute deploy of a machine that somebody deployed; null if
// MAAS reports no image.
func installedDeployment(ctx context.Context, seen engine.BareMetal, diags *diag.Diagnostics) types.Object {
	if seen.Image == "" {
		return types.ObjectNull(deployType.AttrTypes)
	}
	d := deployModel{Deployment: values.DeploymentFromMAAS(seen.Image, seen.Kernel)}
	if seen.Ephemeral {
		d.Ephemeral = types.BoolValue(true)
	}
	if seen.HardwareSync {
		d.HardwareSync = types.BoolValue(true)
	}
	return values.EncodeObject(ctx, deployType, d, diags)
}

// importedAddresses are the interfaces of a machine with a fixed address in MAAS; null if
// there are none.
func importedAddresses(ctx context.Context, m engine.Machine, diags *diag.Diagnostics) types.Map {
	interfaces := map[string]interfaceModel{}
	add := func(name string, links []engine.InterfaceLink) {
		for _, l := range links {
			if l.Mode == "static" && l.IP != "" && l.Subnet != "" {
				interfaces[labelFor(name, len(interfaces))] = interfaceModel{
					NIC: types.StringValue(name), Subnet: texttype.SubnetType.FromText(l.Subnet), IP: texttype.IPType.FromText(l.IP),
				}
			}
		}
	}
	for _, i := range m.Interfaces {
		add(i.Name, i.Links)
	}
	if len(interfaces) == 0 {
		return types.MapNull(interfaceType)
	}
	return values.EncodeMap(ctx, interfaceType, interfaces, diags)
}

// labelFor is MAAS's name of an interface if that can be a label, else a number.
func labelFor(name string, n int) string {
	if values.IsLabel(name) {
		return name
	}
	return fmt.Sprintf("eth%d", n)
}
