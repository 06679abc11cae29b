package machine

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// fill completes a plan with what was seen of the machine. What the plan says stays: a
// later refresh shows any difference.
func (m *machineModel) fill(seen engine.BareMetal) {
	m.ID = types.StringValue(seen.SystemID)
	values.FillString(&m.Hostname, seen.Hostname)
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

// refresh makes the state say what was seen of the machine.
func (m *machineModel) refresh(seen engine.BareMetal) {
	m.ID = types.StringValue(seen.SystemID)
	m.Hostname = types.StringValue(seen.Hostname)
	m.FQDN = types.StringValue(seen.FQDN)
	m.Zone, m.Pool = types.StringValue(seen.Zone), types.StringValue(seen.Pool)
	m.Architecture = values.OptionalString(seen.Architecture)
	m.Cores, m.MemoryMiB = types.Int64Value(int64(seen.Cores)), types.Int64Value(seen.MemoryMiB)
	m.Status = types.StringValue(seen.StatusName)
	m.StatusMessage = values.OptionalString(seen.StatusMessage)
	m.IPAddresses = values.StringList(seen.IPAddresses)
}

// imported fills in what the configuration of an imported machine is likely to say. The name
// is that of the key, where the machine was made by a maaslxd_machine.
func (m *machineModel) imported(ctx context.Context, seen engine.BareMetal, key engine.Key, diags *diag.Diagnostics) {
	m.Name, m.Machine = types.StringValue(seen.Hostname), types.StringValue(seen.Hostname)
	if _, name, ok := strings.Cut(string(key), "/"+client.MachineKeyName("")); ok {
		m.Name = types.StringValue(name)
	}
	m.Deploy = values.InstalledDeployment(ctx, seen.Image, seen.Kernel, diags)
	m.Interfaces = seenAddresses(ctx, seen.Machine, diags)
}

// seenAddresses are the interfaces of a machine that have a fixed address in MAAS; null if
// none has.
func seenAddresses(ctx context.Context, m engine.Machine, diags *diag.Diagnostics) types.Map {
	interfaces := map[string]interfaceModel{}
	add := func(name string, links []engine.InterfaceLink) {
		for _, l := range links {
			if l.Mode == "static" && l.IP != "" && l.Subnet != "" {
				interfaces[labelFor(name, len(interfaces))] = interfaceModel{
					NIC: types.StringValue(name), Subnet: types.StringValue(l.Subnet), IP: types.StringValue(l.IP),
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

// labelFor is MAAS's name of an interface where that may be a label, else a number.
func labelFor(name string, n int) string {
	if values.IsLabel(name) {
		return name
	}
	return fmt.Sprintf("eth%d", n)
}
