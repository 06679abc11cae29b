package vm

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// observedInterfaces are the interfaces of a VM whose configuration names none, with MAAS's
// names. Each has its subnet, and its address if that is fixed. The result is null if a
// configuration could not describe them, because an interface is in no subnet.
func observedInterfaces(ctx context.Context, machine engine.Machine, diags *diag.Diagnostics) types.Map {
	interfaces, found := map[string]interfaceModel{}, interfacesMadeWith(machine)
	for n, label := range interfaceLabels(found) {
		i := slices.IndexFunc(found[n].Links, func(l engine.InterfaceLink) bool { return l.Subnet != "" && l.Mode != engine.LinkUp })
		if i < 0 {
			i = slices.IndexFunc(found[n].Links, func(l engine.InterfaceLink) bool { return l.Subnet != "" })
		}
		if i < 0 {
			return types.MapNull(interfaceType)
		}
		link := found[n].Links[i]
		m := interfaceModel{
			Subnet: texttype.SubnetType.FromText(link.Subnet), MACAddress: types.StringValue(found[n].MAC), IPAddresses: values.StringList(values.LinkedIPs(found[n])),
		}
		m.Mode, m.IP = observedLink(link)
		m.Addresses = observedAddresses(ctx, slices.Delete(slices.Clone(found[n].Links), i, i+1), diags)
		interfaces[label] = m
	}
	if len(interfaces) == 0 {
		return types.MapNull(interfaceType)
	}
	mergeAddedNICs(interfaces, machine)
	return values.EncodeMap(ctx, interfaceType, interfaces, diags)
}

// interfaceLabels are MAAS's names if they sort in MAAS's order, else eth0, eth1, …: the
// labels give the order of the interfaces.
func interfaceLabels(found []engine.MachineInterface) []string {
	labels := make([]string, len(found))
	named := map[string]interfaceModel{}
	valid := true
	for n, i := range found {
		labels[n] = i.Name
		named[i.Name] = interfaceModel{}
		valid = valid && values.IsLabel(i.Name)
	}
	if valid && slices.Equal(labels, interfaceOrder(named)) {
		return labels
	}
	for n := range found {
		labels[n] = fmt.Sprintf("eth%d", n)
	}
	return labels
}

// observedLink is the mode of a link, if it is not the default, and its fixed address.
func observedLink(l engine.InterfaceLink) (mode types.String, ip texttype.IP) {
	switch l.Mode {
	case engine.LinkStatic:
		return types.StringNull(), texttype.IPType.FromText(l.IP)
	case engine.LinkDHCP, engine.LinkUp:
		return types.StringValue(l.Mode), texttype.IP{}
	}
	return types.StringNull(), texttype.IP{}
}

// observedAddresses are the addresses of an interface after its first one; null if there are
// none.
func observedAddresses(ctx context.Context, links []engine.InterfaceLink, diags *diag.Diagnostics) types.List {
	var seen []addressModel
	for _, l := range links {
		if l.Subnet == "" || l.Mode == engine.LinkUp {
			continue
		}
		a := addressModel{Subnet: texttype.SubnetType.FromText(l.Subnet)}
		a.Mode, a.IP = observedLink(l)
		seen = append(seen, a)
	}
	if len(seen) == 0 {
		return types.ListNull(addressType)
	}
	list, ds := types.ListValueFrom(ctx, addressType, seen)
	diags.Append(ds...)
	return list
}

// addresses decodes the additional addresses of an interface; nil if there are none or they
// are not known.
func (i interfaceModel) addresses(ctx context.Context) []addressModel {
	var list []addressModel
	if i.Addresses.IsNull() || i.Addresses.IsUnknown() || i.Addresses.ElementsAs(ctx, &list, false).HasError() {
		return nil
	}
	return list
}

// network is the choice of the subnet. It is empty as long as a part of it is not known.
func (i interfaceModel) network() engine.Network {
	if i.Subnet.IsUnknown() || i.VLAN.IsUnknown() || i.Fabric.IsUnknown() || i.Space.IsUnknown() {
		return engine.Network{}
	}
	n := engine.Network{Subnet: i.Subnet.Canonical(), Fabric: i.Fabric.ValueString(), Space: i.Space.ValueString()}
	if !i.VLAN.IsNull() {
		vid := int(i.VLAN.ValueInt64())
		n.VID = &vid
	}
	return n
}

// interfaceSpecs are the interfaces for the engine, in their order.
func interfaceSpecs(ctx context.Context, interfaces map[string]interfaceModel) []engine.Interface {
	var out []engine.Interface
	for _, label := range interfaceOrder(interfaces) {
		i := interfaces[label]
		n := i.network()
		spec := engine.Interface{Name: label, Subnet: n.Subnet, VID: n.VID, Fabric: n.Fabric, Space: n.Space, IP: parseIP(i.IP), Mode: i.Mode.ValueString(), Bridge: i.Bridge.ValueString(), MAC: i.MACAddress.ValueString()}
		for _, a := range i.addresses(ctx) {
			if values.IsSet(a.Subnet) {
				spec.Addresses = append(spec.Addresses, engine.InterfaceAddress{Subnet: a.Subnet.Canonical(), IP: parseIP(a.IP), Mode: a.Mode.ValueString()})
			}
		}
		out = append(out, spec)
	}
	return out
}

// parseIP is the zero Addr for null: the type has checked other values.
func parseIP(ip texttype.IP) netip.Addr {
	addr, _ := netip.ParseAddr(ip.ValueString())
	return addr
}

// checkInterfaces refuses interfaces with contradictory attributes. If a value is not known
// yet, the check comes later.
func checkInterfaces(ctx context.Context, config vmModel, diags *diag.Diagnostics) {
	interfaces := config.interfaces(ctx, diags)
	checkAddresses(interfaces, diags)
	if diags.HasError() || !values.IsFullyKnown(ctx, config.Interfaces) {
		return
	}
	for _, i := range interfaces {
		if i.hasInvalidValue(ctx) {
			return // its validator reports it
		}
	}
	err := engine.ValidateInterfaces(interfaceSpecs(ctx, interfaces), !config.Deploy.IsNull() && !config.Deploy.IsUnknown())
	if err != nil {
		diagnostics.ReportError(diags, "make interfaces of "+values.ObjectTitle("VM", config.Name), err)
	}
}

// hasInvalidValue tells whether the validator of an attribute refuses it.
func (i interfaceModel) hasInvalidValue(ctx context.Context) bool {
	texts, modes := []types.String{i.Fabric, i.Space, i.Bridge}, []types.String{i.Mode}
	if !i.MACAddress.IsNull() && engine.MACProblem(i.MACAddress.ValueString()) != "" {
		return true
	}
	for _, a := range i.addresses(ctx) {
		modes = append(modes, a.Mode)
		if a.Mode.ValueString() == engine.LinkUp {
			return true
		}
	}
	return slices.ContainsFunc(texts, func(s types.String) bool { return !s.IsNull() && strings.TrimSpace(s.ValueString()) == "" }) ||
		slices.ContainsFunc(modes, func(s types.String) bool { return !s.IsNull() && !slices.Contains(engine.LinkModes, s.ValueString()) })
}

// presentInterfaces are the VM's interfaces as MAAS and LXD list them now, by their labels in the
// state. A plan that cannot ask has none.
func presentInterfaces(ctx context.Context, p *vmPlan, have map[string]interfaceModel) map[string]engine.MachineInterface {
	vm, err := p.observeVM(ctx, p.state.ID.ValueString())
	if err != nil {
		return nil
	}
	found := matchInterfaces(have, vm.Machine)
	for label, nic := range vm.AddedNICs {
		if i, has := found[label]; has { // MAAS does not know it
			i.Bridge, i.Links = nic.Bridge, []engine.InterfaceLink{{Mode: nic.Mode, Subnet: nic.Subnet}}
			found[label] = i
		}
	}
	return found
}

// isSameSubnet tells whether an interface stays in its subnet. If MAAS cannot be asked, only
// equal texts are the same.
func (p *vmPlan) isSameSubnet(ctx context.Context, want, had interfaceModel, now func() engine.MachineInterface) bool {
	if want.Subnet.MeansSame(had.Subnet) && want.VLAN.Equal(had.VLAN) && want.Fabric.Equal(had.Fabric) && want.Space.Equal(had.Space) {
		return true
	}
	return client.IsSameNetwork(ctx, p.listSubnets, want.network(), had.network(), placeOfAddress(now, client.WhichAddress{IP: had.IP.Canonical()}))
}

// placeOfAddress is the place of an address of an interface.
func placeOfAddress(now func() engine.MachineInterface, which client.WhichAddress) func() client.Place {
	return func() client.Place {
		i := now()
		return client.PlaceOf(i.Links, i.VLAN, which)
	}
}

// hasSameAddresses compares the addresses of an interface. Removing the line of the mode or of
// the additional addresses changes nothing.
func (p *vmPlan) hasSameAddresses(ctx context.Context, want, had interfaceModel, now func() engine.MachineInterface) bool {
	switch {
	case !want.IP.MeansSame(had.IP), !isSameMode(want.Mode, had.Mode, had.IP), want.Addresses.IsUnknown():
		return false
	case want.Addresses.IsNull():
		return true
	}
	wanted, before := want.addresses(ctx), had.addresses(ctx)
	if len(wanted) != len(before) {
		return false
	}
	for n, w := range wanted {
		b := before[n]
		if !client.IsSameSubnet(ctx, p.listSubnets, w.Subnet, b.Subnet, placeOfAddress(now, client.WhichAddress{Index: n + 1, Count: len(before) + 1, IP: b.IP.Canonical()})) || !w.IP.MeansSame(b.IP) || !isSameMode(w.Mode, b.Mode, b.IP) {
			return false
		}
	}
	return true
}

// hasSameNICSettings compares bridge and MAC. A removed line changes nothing. Nor does a line that
// names the bridge where the interface is already.
func hasSameNICSettings(want, had interfaceModel, now func() engine.MachineInterface) bool {
	isSameBridge := want.Bridge.IsNull() || want.Bridge.Equal(had.Bridge) || values.IsSet(want.Bridge) && want.Bridge.ValueString() == now().Bridge
	return isSameBridge && (want.MACAddress.IsNull() || want.MACAddress.Equal(had.MACAddress))
}

// isSameMode tells whether a mode means the same as the former mode of an address, which may
// be null.
func isSameMode(want, had types.String, ip texttype.IP) bool {
	switch {
	case want.IsNull() || want.Equal(had):
		return true
	case !had.IsNull():
		return false
	case ip.IsNull():
		return want.ValueString() == engine.LinkAuto
	}
	return want.ValueString() == engine.LinkStatic
}
