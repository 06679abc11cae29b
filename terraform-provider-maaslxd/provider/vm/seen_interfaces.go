package vm

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// seenInterfaces are the interfaces of a VM whose configuration names none, as
// MAAS shows them: by MAAS's names, with the subnet of each, and the address
// where it is a fixed one. Null where that could not be configured so, because
// an interface is in no subnet.
func seenInterfaces(ctx context.Context, found []engine.MachineInterface, diags *diag.Diagnostics) types.Map {
	interfaces := map[string]interfaceModel{}
	for n, label := range interfaceLabels(found) {
		i := slices.IndexFunc(found[n].Links, func(l engine.InterfaceLink) bool { return l.Subnet != "" })
		if i < 0 {
			return types.MapNull(interfaceType)
		}
		link := found[n].Links[i]
		m := interfaceModel{
			Subnet: types.StringValue(link.Subnet), MACAddress: types.StringValue(found[n].MAC), IPAddresses: values.StringList(values.LinkedIPs(found[n])),
		}
		if link.Mode == "static" {
			m.IP = values.OptionalString(link.IP)
		}
		interfaces[label] = m
	}
	if len(interfaces) == 0 {
		return types.MapNull(interfaceType)
	}
	return values.EncodeMap(ctx, interfaceType, interfaces, diags)
}

// interfaceLabels are MAAS's names where they sort as MAAS does, else eth0, eth1,
// …: the order of the labels is that of the interfaces.
func interfaceLabels(found []engine.MachineInterface) []string {
	labels := make([]string, len(found))
	named := map[string]interfaceModel{}
	valid := true
	for n, i := range found {
		labels[n] = i.Name
		named[i.Name] = interfaceModel{}
		valid = valid && mapKeyLabel.MatchString(i.Name)
	}
	if valid && slices.Equal(labels, interfaceOrder(named)) {
		return labels
	}
	for n := range found {
		labels[n] = fmt.Sprintf("eth%d", n)
	}
	return labels
}
