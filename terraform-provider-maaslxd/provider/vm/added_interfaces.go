package vm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// interfaceDiff is what a plan makes of the interfaces of a VM.
type interfaceDiff struct {
	replaces bool
	why      string // in words, where it replaces; empty: the plan itself shows it
	// added are the labels of those that come in place, or were added so and are to be other ones.
	// removed are those that were added so, and go.
	added, removed []string
}

// inPlace tells whether interfaces come or go without a new VM.
func (d interfaceDiff) inPlace() bool { return !d.replaces && len(d.added)+len(d.removed) > 0 }

// wiring is what a plan makes of interfaces.
type wiring struct{ *vmPlan }

// diff compares the interfaces of a plan with those of the state. Those that the VM was
// made with have an order, and may get other labels. Those that were added since are known by
// their labels.
func (p wiring) diff(ctx context.Context) (d interfaceDiff) {
	switch {
	case p.config.Interfaces.IsNull():
		return d
	case p.plan.Interfaces.IsUnknown() || p.state.Interfaces.IsNull():
		return interfaceDiff{replaces: true}
	}
	have, want := p.state.interfaces(ctx, p.diags), p.plan.interfaces(ctx, p.diags)
	wished := p.config.interfaces(ctx, p.diags)
	same := func(label, had string) bool {
		return p.sameNetwork(ctx, want[label], have[had]) && p.sameAddresses(ctx, want[label], have[had]) && sameCard(wished[label], have[had])
	}
	isAdded := func(label string) bool {
		_, has := have[label]
		return has && slices.Contains(p.notes.AddedInterfaces, label)
	}
	for _, label := range interfaceOrder(have) {
		_, stays := want[label]
		switch {
		case isAdded(label) && !stays:
			d.removed = append(d.removed, label)
		case isAdded(label) && !same(label, label):
			d.added = append(d.added, label)
		}
	}
	made, rest := slices.DeleteFunc(interfaceOrder(have), isAdded), slices.DeleteFunc(interfaceOrder(want), isAdded)
	if len(rest) == len(made) {
		for n, label := range rest {
			d.replaces = d.replaces || !same(label, made[n])
		}
		return d
	}
	return d.withNew(made, rest, same)
}

// withNew adds the interfaces that the VM does not have, where all that it was made with stay.
func (d interfaceDiff) withNew(made, rest []string, same func(label, had string) bool) interfaceDiff {
	for _, label := range made {
		switch {
		case !slices.Contains(rest, label):
			return interfaceDiff{replaces: true, why: fmt.Sprintf("interfaces.%s was made with the VM, and goes", label)}
		case !same(label, label):
			return interfaceDiff{replaces: true, why: fmt.Sprintf("interfaces.%s was made with the VM, and changes", label)}
		}
	}
	for n, label := range rest {
		switch {
		case slices.Contains(made, label):
		case n == 0:
			return interfaceDiff{replaces: true, why: fmt.Sprintf("The VM boots from its first interface, and interfaces.%s comes before the others", label)}
		default:
			d.added = append(d.added, label)
		}
	}
	return d
}

// changed are the labels of the interfaces that come and go with an update.
func (p wiring) changed(ctx context.Context) (added, removed []string) {
	d := p.diff(ctx)
	if !d.inPlace() {
		return nil, nil
	}
	return d.added, d.removed
}

// decide settles how the interfaces change, and tells whether that takes a new VM.
func (p wiring) decide(ctx context.Context) (replaces bool) {
	p.wired = p.diff(ctx)
	if !p.wired.inPlace() {
		return p.wired.replaces
	}
	if p.wired.why = p.whyNotInPlace(ctx); p.wired.why != "" {
		p.wired.replaces = true
		return true
	}
	interfaces := p.plan.interfaces(ctx, p.diags)
	for _, label := range p.wired.added {
		i := interfaces[label]
		i.IPAddresses = types.ListUnknown(types.StringType)
		interfaces[label] = i
	}
	p.plan.Interfaces = values.EncodeMap(ctx, interfaceType, interfaces, p.diags)
	if p.mayChangeInMAAS() {
		p.plan.IPAddresses = types.ListUnknown(types.StringType)
	}
	return false
}

// whyNotInPlace says why interfaces do not come or go in place; empty: they do.
func (p wiring) whyNotInPlace(ctx context.Context) string {
	d := p.wired
	inLXD, err := p.resizes(ctx)
	switch {
	case errors.Is(err, client.ErrUnknownConfig):
		return "The provider's configuration is not known yet, and decides whether interfaces come and go in place"
	case err != nil:
		diagnostics.Report(p.diags, "tell whether the interfaces of VM "+p.state.Name.ValueString()+" change in place", err)
		return ""
	case !inLXD:
		return fmt.Sprintf("MAAS can neither add an interface to a VM that it composed, nor take one away: interfaces.%s", slices.Concat(d.added, d.removed)[0])
	case p.mayChangeInMAAS():
		return ""
	}
	interfaces := p.config.interfaces(ctx, p.diags)
	for _, label := range d.added {
		switch i := interfaces[label]; {
		case i.Mode.IsUnknown() || i.IP.IsUnknown() || i.Addresses.IsUnknown():
			return fmt.Sprintf("It is not known yet whether interfaces.%s needs an address of MAAS's, which gives them only to machines that are not deployed", label)
		case interfaceSpecs(ctx, map[string]interfaceModel{label: i})[0].NeedsAddressOfMAAS():
			return fmt.Sprintf("MAAS gives addresses only to machines that are not deployed: interfaces.%s has mode %s", label, modeOf(i))
		}
	}
	return p.whyMAASKeeps(ctx)
}

// modeOf is the mode of an interface whose mode is known, also where it is left out.
func modeOf(i interfaceModel) string {
	return engine.Interface{Mode: i.Mode.ValueString(), IP: addressOf(i.IP)}.Links()[0].Mode
}

// whyMAASKeeps says that MAAS deployed the VM with an interface that was added, and is to go or to
// be another one; empty: it did not.
func (p wiring) whyMAASKeeps(ctx context.Context) string {
	have := p.state.interfaces(ctx, p.diags)
	were := slices.DeleteFunc(slices.Concat(p.wired.added, p.wired.removed), func(label string) bool { _, had := have[label]; return !had })
	if len(were) == 0 {
		return ""
	}
	vm, err := p.shown(ctx, p.state.ID.ValueString())
	if err != nil {
		diagnostics.Report(p.diags, "tell whether the interfaces of VM "+p.state.Name.ValueString()+" change in place", err)
		return ""
	}
	for _, label := range were {
		mac := have[label].MACAddress.ValueString()
		if slices.ContainsFunc(vm.Interfaces, func(i engine.MachineInterface) bool { return i.MAC == mac }) {
			return fmt.Sprintf("MAAS deployed the VM with interfaces.%s, and changes no interface of a deployed machine", label)
		}
	}
	return ""
}

// mayChangeInMAAS tells whether MAAS lets one change interfaces of the VM as it is, or as it will be
// when it is deployed again.
func (p wiring) mayChangeInMAAS() bool {
	switch p.state.Status.ValueString() {
	case "New", "Ready", "Allocated", "Broken", "Failed testing":
		return true
	}
	return redeployment{p.vmPlan}.isSure()
}

// warn says in words why interfaces do not come or go in place.
func (p wiring) warn(attribute string) {
	if attribute != "interfaces" || p.wired.why == "" {
		return
	}
	p.diags.AddAttributeWarning(path.Root(attribute), "The VM will be replaced, with all its disks", fmt.Sprintf(
		"%s. So %s is made anew, and what is on its disks is lost.", p.wired.why, p.state.Name.ValueString()))
}

// forgetLost takes out of the state the interfaces that were added to the VM, and that its LXD does
// not have any more. The next plan adds them again.
func (m *vmModel) forgetLost(ctx context.Context, added []string, vm engine.VM, diags *diag.Diagnostics) {
	interfaces := m.interfaces(ctx, diags)
	if vm.AddedNICs == nil || interfaces == nil {
		return
	}
	for _, label := range added {
		if _, has := vm.AddedNICs[label]; !has {
			delete(interfaces, label)
		}
	}
	m.Interfaces = values.EncodeMap(ctx, interfaceType, interfaces, diags)
}

// takeAdded puts into interfaces those that the VM's LXD tells were added to it, and that nobody
// knows: a run ended before it could save the state, or the VM was imported.
func takeAdded(interfaces map[string]interfaceModel, m engine.Machine) {
	for label, nic := range m.AddedNICs {
		if _, known := interfaces[label]; known {
			continue
		}
		i := interfaceModel{
			Subnet: types.StringValue(nic.Subnet), Bridge: values.OptionalString(nic.Bridge), MACAddress: types.StringValue(nic.MAC),
			Addresses: types.ListNull(addressType), IPAddresses: values.StringList(values.LinkedIPs(interfaceWith(m, nic.MAC))),
		}
		i.Mode, i.IP = seenLink(engine.InterfaceLink{Mode: nic.Mode, IP: nic.IP})
		if nic.Mode == engine.LinkStatic && nic.IP == "" {
			i.Mode = types.StringValue(nic.Mode)
		}
		interfaces[label] = i
	}
}

// interfaceWith is MAAS's interface of that MAC, or as much of one as LXD tells.
func interfaceWith(m engine.Machine, mac string) engine.MachineInterface {
	n := slices.IndexFunc(m.Interfaces, func(i engine.MachineInterface) bool { return i.MAC == mac })
	if n < 0 {
		return engine.MachineInterface{MAC: mac}
	}
	return m.Interfaces[n]
}

// madeWith are the interfaces that MAAS knows, and that the VM was made with.
func madeWith(m engine.Machine) []engine.MachineInterface {
	return slices.DeleteFunc(slices.Clone(m.Interfaces), func(i engine.MachineInterface) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(m.AddedNICs)), func(nic engine.AddedNIC) bool { return nic.MAC == i.MAC })
	})
}

// addedLabels are the labels of the interfaces of a state that the VM got after it was made; those
// that were known before where nobody tells.
func (m vmModel) addedLabels(ctx context.Context, known []string, vm engine.VM, diags *diag.Diagnostics) []string {
	if vm.AddedNICs == nil {
		return known
	}
	var labels []string
	for label, i := range m.interfaces(ctx, diags) {
		if nic, added := vm.AddedNICs[label]; added && nic.MAC == i.MACAddress.ValueString() {
			labels = append(labels, label)
		}
	}
	slices.Sort(labels)
	return labels
}
