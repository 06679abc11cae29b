package vm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/client"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values/texttype"
)

// interfaceDiff is the difference between the interfaces of a plan and those of the VM.
type interfaceDiff struct {
	replaces bool   // the VM is replaced
	reason   string // why it is replaced; empty: the plan itself shows it
	hint     string // a way out, as a sentence; empty: there is none
	// added are the labels of interfaces that are added in place, or were added in place and
	// change. removed are those that were added in place, and go.
	added, removed []string
}

// isInPlace tells whether interfaces are added or removed without a new VM.
func (d interfaceDiff) isInPlace() bool { return !d.replaces && len(d.added)+len(d.removed) > 0 }

// interfacePlan is the part of a plan with the interfaces.
type interfacePlan struct{ *vmPlan }

// compareInterfaces compares the interfaces of a plan with those of the state. Those that the
// VM was made with have an order, and may get other labels. Those that were added later are
// known by their labels.
func (p interfacePlan) compareInterfaces(ctx context.Context) (d interfaceDiff) {
	switch {
	case p.config.Interfaces.IsNull():
		return d
	case p.plan.Interfaces.IsUnknown() || p.state.Interfaces.IsNull():
		return interfaceDiff{replaces: true}
	}
	have, want := p.state.interfaces(ctx, p.diags), p.plan.interfaces(ctx, p.diags)
	wished := p.config.interfaces(ctx, p.diags)
	present := sync.OnceValue(func() map[string]engine.MachineInterface { return presentInterfaces(ctx, p.vmPlan, have) })
	same := func(label, had string) bool {
		now := func() engine.MachineInterface { return present()[had] }
		return p.isSameSubnet(ctx, want[label], have[had], now) && p.hasSameAddresses(ctx, want[label], have[had], now) && hasSameNICSettings(wished[label], have[had], now)
	}
	isAdded := func(label string) bool {
		_, has := have[label]
		return has && slices.Contains(p.private.AddedInterfaces, label)
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
	return d.withAddedInterfaces(made, rest, same)
}

// withAddedInterfaces adds the interfaces that the VM does not have, if all that it was made
// with stay.
func (d interfaceDiff) withAddedInterfaces(made, rest []string, same func(label, had string) bool) interfaceDiff {
	for _, label := range made {
		switch {
		case !slices.Contains(rest, label):
			return interfaceDiff{replaces: true, reason: fmt.Sprintf("interfaces.%s was made with the VM, and is removed", label)}
		case !same(label, label):
			return interfaceDiff{replaces: true, reason: fmt.Sprintf("interfaces.%s was made with the VM, and changes", label)}
		}
	}
	for n, label := range rest {
		switch {
		case slices.Contains(made, label):
		case n == 0:
			return interfaceDiff{replaces: true, reason: fmt.Sprintf("The VM boots from its first interface, and interfaces.%s comes before the others", label)}
		default:
			d.added = append(d.added, label)
		}
	}
	return d
}

// splitAddedInterfaces takes the interfaces that were added in place, and that MAAS does not
// know, out of a spec. It names those that are added or removed in place. If they do not
// compare as in the plan, that is an error. Otherwise nothing would be added, and the state
// would say that it was.
func (p interfacePlan) splitAddedInterfaces(ctx context.Context, spec *engine.VMSpec) {
	d := p.compareInterfaces(ctx)
	if d.replaces {
		if !p.state.Interfaces.IsNull() {
			p.diags.AddAttributeError(path.Root("interfaces"), "The interfaces do not compare as they did in the plan",
				"MAAS did not list its subnets, or they have changed since. Nothing was changed. Plan and apply again.")
		}
		return
	}
	var made []engine.Interface
	for _, i := range spec.Interfaces {
		switch {
		case slices.Contains(d.added, i.Name):
			spec.AddedInterfaces = append(spec.AddedInterfaces, i)
		case !slices.Contains(p.private.AddedInterfaces, i.Name):
			made = append(made, i)
		}
	}
	spec.Interfaces, spec.RemovedInterfaces = made, d.removed
}

// planInterfaces tells whether the change of the interfaces needs a new VM.
func (p interfacePlan) planInterfaces(ctx context.Context) (replaces bool) {
	p.interfaceDiff = p.compareInterfaces(ctx)
	if !p.interfaceDiff.isInPlace() {
		return p.interfaceDiff.replaces
	}
	if why, wayOut := p.whyNotInPlace(ctx); why != "" {
		p.interfaceDiff.replaces, p.interfaceDiff.reason, p.interfaceDiff.hint = true, why, wayOut
		return true
	}
	interfaces := p.plan.interfaces(ctx, p.diags)
	for _, label := range p.interfaceDiff.added {
		i := interfaces[label]
		i.IPAddresses = types.ListUnknown(types.StringType)
		interfaces[label] = i
	}
	p.plan.Interfaces = values.EncodeMap(ctx, interfaceType, interfaces, p.diags)
	return false
}

// whyNotInPlace says why interfaces are not added or removed in place, with a way out; empty:
// they are.
func (p interfacePlan) whyNotInPlace(ctx context.Context) (why, wayOut string) {
	d := p.interfaceDiff
	inLXD, err := p.makesVMsInLXD(ctx)
	switch {
	case errors.Is(err, client.ErrUnknownConfig):
		return "The provider's configuration is not known yet, and decides whether interfaces are added and removed in place", ""
	case err != nil:
		diagnostics.ReportError(p.diags, "find out whether the interfaces of VM "+p.state.Name.ValueString()+" change in place", err)
		return "", ""
	case !inLXD:
		return fmt.Sprintf("MAAS can neither add an interface to a VM that it composed, nor remove one: interfaces.%s", slices.Concat(d.added, d.removed)[0]), ""
	case p.private.Pending && !p.private.Ran:
		return "The VM is not finished, and interfaces are added and removed in place only on a finished VM", "First apply without this change."
	}
	interfaces := p.config.interfaces(ctx, p.diags)
	for _, label := range d.added {
		switch i := interfaces[label]; {
		case i.Mode.IsUnknown() || i.IP.IsUnknown() || !values.IsFullyKnown(ctx, i.Addresses):
			return fmt.Sprintf("It is not known yet whether MAAS would give interfaces.%s an address, which it does only for a new VM", label), engine.AddedModeHint
		case interfaceSpecs(ctx, map[string]interfaceModel{label: i})[0].NeedsAddressOfMAAS():
			return fmt.Sprintf("MAAS would give interfaces.%s an address, which it does only for a new VM", label), engine.AddedModeHint
		}
	}
	return "", ""
}

// warnReplacement explains why interfaces are not added or removed in place.
func (p interfacePlan) warnReplacement(attribute string) {
	if attribute != "interfaces" {
		return
	}
	d := p.interfaceDiff
	if d.reason == "" {
		d.reason = "An interface that the VM was made with is removed or changed, which cannot be done in place"
		d.hint = "If you want to keep the VM, keep its interfaces in the configuration, by the labels that terraform state show prints."
	}
	p.diags.AddAttributeWarning(path.Root(attribute), "The VM will be replaced, with all its disks", strings.TrimSpace(fmt.Sprintf(
		"%s. So the plan deletes %s with the data on its disks, and makes a new VM. %s", d.reason, p.state.Name.ValueString(), d.hint)))
}

// dropLostInterfaces removes added interfaces from the state that the VM's LXD no longer has,
// or has with another MAC. Somebody detached them, or a run was killed before it could save
// the state. The next plan adds them again in place, or mergeAddedNICs adds those that LXD
// has.
func (m *vmModel) dropLostInterfaces(ctx context.Context, added []string, vm engine.VM, diags *diag.Diagnostics) {
	interfaces := m.interfaces(ctx, diags)
	if vm.AddedNICs == nil || interfaces == nil {
		return
	}
	for _, label := range added {
		if nic, has := vm.AddedNICs[label]; !has || nic.MAC != interfaces[label].MACAddress.ValueString() {
			delete(interfaces, label)
		}
	}
	m.Interfaces = values.EncodeMap(ctx, interfaceType, interfaces, diags)
}

// mergeAddedNICs adds interfaces that were added to the VM in LXD, but are not in the state. A
// run was killed before it could save the state, or the VM was imported.
func mergeAddedNICs(interfaces map[string]interfaceModel, m engine.Machine) {
	for label, nic := range m.AddedNICs {
		if _, known := interfaces[label]; known {
			continue
		}
		i := interfaceModel{
			Subnet: texttype.SubnetType.FromText(nic.Subnet), Mode: types.StringValue(nic.Mode), Bridge: values.OptionalString(nic.Bridge), MACAddress: types.StringValue(nic.MAC),
			Addresses: types.ListNull(addressType), IPAddresses: values.StringList(values.LinkedIPs(interfaceOfMAC(m, nic.MAC))),
		}
		interfaces[label] = i
	}
}

// interfaceOfMAC is MAAS's interface with that MAC, or the part of one that LXD reports.
func interfaceOfMAC(m engine.Machine, mac string) engine.MachineInterface {
	n := slices.IndexFunc(m.Interfaces, func(i engine.MachineInterface) bool { return i.MAC == mac })
	if n < 0 || mac == "" {
		return engine.MachineInterface{MAC: mac}
	}
	return m.Interfaces[n]
}

// interfacesMadeWith are the interfaces that the VM was made with, as MAAS knows them. After
// somebody has commissioned the machine, MAAS also knows the added ones.
func interfacesMadeWith(m engine.Machine) []engine.MachineInterface {
	return slices.DeleteFunc(slices.Clone(m.Interfaces), func(i engine.MachineInterface) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(m.AddedNICs)), func(nic engine.AddedNIC) bool { return nic.MAC == i.MAC })
	})
}

// addedInterfaceLabels are the labels of a state's interfaces that were added to the VM. If
// LXD does not answer, they are those that were known before.
func (m vmModel) addedInterfaceLabels(ctx context.Context, known []string, vm engine.VM, diags *diag.Diagnostics) []string {
	if vm.AddedNICs == nil {
		return known
	}
	var labels []string
	for label, i := range m.interfaces(ctx, diags) {
		if nic, added := vm.AddedNICs[label]; added && (nic.MAC == i.MACAddress.ValueString() || slices.Contains(known, label)) {
			labels = append(labels, label)
		}
	}
	slices.Sort(labels)
	return labels
}
