package vm

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// changeInterfaces gives a VM the interfaces that come in place, and takes those away that go: first
// in LXD, and then in MAAS, where MAAS lets one change interfaces of the machine. Each step looks
// before it acts. It returns the machine as it is then.
func (v *network) changeInterfaces(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine) (engine.Machine, error) {
	if len(want.AddedInterfaces)+len(want.RemovedInterfaces) == 0 {
		return m, nil
	}
	on, err := v.maker.HostOf(ctx, m)
	if err != nil {
		return m, err
	}
	have := v.Composer.Complete(ctx, m).AddedNICs
	change, comes, err := v.interfaceChange(ctx, key, want, m, have)
	if err != nil {
		return m, err
	}
	if err := v.forgetInterfaces(ctx, m, change, have); err != nil {
		return m, err
	}
	if err := v.Composer.ChangeInterfaces(ctx, on, m.SystemID, change); err != nil {
		return m, fmt.Errorf("cannot change the interfaces of %s: %w", m.Hostname, err)
	}
	if !m.MayChangeInterfaces() {
		return m, nil
	}
	if m, err = v.Machines.Machine(ctx, m.SystemID); err != nil {
		return m, err
	}
	want.Interfaces = comes
	if err := v.link(ctx, want, m); err != nil {
		return m, err
	}
	return v.Machines.Machine(ctx, m.SystemID)
}

// interfaceChange is what the LXD of a VM is to change, and the interfaces that come of it.
func (v *network) interfaceChange(
	ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine, have map[string]engine.AddedNIC,
) (change engine.InterfaceChange, comes []engine.Interface, err error) {
	change = engine.InterfaceChange{Key: key, Removed: want.RemovedInterfaces}
	for _, i := range want.Interfaces {
		if !slices.Contains(want.AddedInterfaces, i.Name) {
			continue
		}
		nic, isThere, err := v.addedNIC(ctx, i, m, have)
		if err != nil {
			return change, nil, err
		}
		if !isThere {
			change.Added, comes = append(change.Added, nic), append(comes, i)
		}
	}
	return change, comes, nil
}

// addedNIC is the NIC of an interface that comes. It is there already where MAAS knows it as it is
// wanted, and the machine is deployed with it.
func (v *network) addedNIC(ctx context.Context, i engine.Interface, m engine.Machine, have map[string]engine.AddedNIC) (nic engine.NIC, isThere bool, err error) {
	links, err := v.findLinks(ctx, i)
	if err != nil {
		return nic, false, err
	}
	nic = engine.NIC{Subnet: links[0].subnet, Label: i.Name, Bridge: i.Bridge, MAC: i.MAC, Mode: links[0].Mode}
	if i.IP.IsValid() {
		nic.IP = i.IP.String()
	}
	was := have[i.Name]
	same := was.Subnet == nic.CIDR && was.Mode == nic.Mode && was.IP == nic.IP && (i.MAC == "" || i.MAC == was.MAC) && (i.Bridge == "" || i.Bridge == was.Bridge)
	switch _, known := interfaceWith(m, was.MAC); {
	case m.MayChangeInterfaces():
		return nic, false, nil
	case known && same:
		return nic, true, nil
	case i.NeedsAddressOfMAAS():
		return nic, false, engine.AddressOfDeployedError(i, m)
	}
	return nic, false, nil
}

// forgetInterfaces takes out of MAAS what goes, and what gets another MAC.
func (v *network) forgetInterfaces(ctx context.Context, m engine.Machine, change engine.InterfaceChange, have map[string]engine.AddedNIC) error {
	goes := slices.Clone(change.Removed)
	for _, nic := range change.Added {
		if nic.MAC != "" && nic.MAC != have[nic.Label].MAC || !m.MayChangeInterfaces() {
			goes = append(goes, nic.Label)
		}
	}
	for _, label := range goes {
		known, ok := interfaceWith(m, have[label].MAC)
		switch {
		case !ok:
			continue
		case !m.MayChangeInterfaces():
			return engine.KnownInterfaceError(label, m)
		}
		if err := v.Metal.DeleteInterface(ctx, m.SystemID, known.ID); err != nil {
			return fmt.Errorf("cannot take interface %s of %s out of MAAS: %w", label, m.Hostname, v.JudgeRefusal(ctx, m, err))
		}
	}
	return nil
}

// interfaceWith finds the interface of a machine that has the MAC.
func interfaceWith(m engine.Machine, mac string) (engine.MachineInterface, bool) {
	n := slices.IndexFunc(m.Interfaces, func(i engine.MachineInterface) bool { return i.MAC == mac })
	if n < 0 {
		return engine.MachineInterface{}, false
	}
	return m.Interfaces[n], true
}

// interfacesOf finds the interfaces of a machine that are wanted, by their labels. Those that the VM
// was made with have MAAS's order. Those that it got since have the MAC that its LXD tells, and are
// made in MAAS where it does not know them yet: no commissioning has seen them.
func (v *network) interfacesOf(ctx context.Context, want engine.VMSpec, m engine.Machine) (map[string]engine.MachineInterface, error) {
	var added map[string]engine.AddedNIC
	if len(want.AddedInterfaces) > 0 || engine.FinishedOnce(m) { // none come before
		added = v.Composer.Complete(ctx, m).AddedNICs
	}
	m, err := v.introduce(ctx, want.Interfaces, m, added)
	if err != nil {
		return nil, err
	}
	found, made := map[string]engine.MachineInterface{}, slices.Clone(m.Interfaces)
	for _, nic := range added {
		made = slices.DeleteFunc(made, func(i engine.MachineInterface) bool { return i.MAC == nic.MAC })
	}
	for _, i := range want.Interfaces {
		nic, isAdded := added[i.Name]
		have, ok := interfaceWith(m, nic.MAC)
		if !isAdded {
			if ok = len(made) > 0; ok {
				have, made = made[0], made[1:]
			}
		}
		if !ok {
			return nil, &engine.SpecError{Field: fieldpath.Of("interfaces").Key(i.Name), Message: fmt.Sprintf("MAAS sees only %d interfaces on %s", len(m.Interfaces), m.Hostname), Err: engine.ErrConflict}
		}
		found[i.Name] = have
	}
	return found, nil
}

// introduce makes in MAAS the interfaces that a VM got since it was commissioned.
func (v *network) introduce(ctx context.Context, wanted []engine.Interface, m engine.Machine, added map[string]engine.AddedNIC) (engine.Machine, error) {
	changed := false
	for _, i := range wanted {
		nic, isAdded := added[i.Name]
		if _, known := interfaceWith(m, nic.MAC); !isAdded || known {
			continue
		}
		network, err := v.FindNetwork(ctx, fieldpath.Of("interfaces").Key(i.Name), i.Network())
		if err != nil {
			return m, err
		}
		name := freeInterfaceName(m, nic.Device)
		if err := v.Metal.CreatePhysical(ctx, m.SystemID, engine.NewPhysical{Name: name, MAC: nic.MAC, VLAN: network.VLAN}); err != nil {
			return m, fmt.Errorf("cannot tell MAAS of interface %s of %s: %w", i.Name, m.Hostname, v.JudgeRefusal(ctx, m, err))
		}
		m.Interfaces = append(slices.Clone(m.Interfaces), engine.MachineInterface{Name: name, MAC: nic.MAC})
		changed = true
	}
	if !changed {
		return m, nil
	}
	return v.Machines.Machine(ctx, m.SystemID) // with their ids
}

// freeInterfaceName is the name of a device, or one like it that no interface of the machine has.
func freeInterfaceName(m engine.Machine, device string) string {
	taken := map[string]bool{}
	for _, i := range m.Interfaces {
		taken[i.Name] = true
	}
	for _, c := range m.Children {
		taken[c.Name] = true
	}
	name := device
	for n := 0; taken[name]; n++ {
		name = "nic" + strconv.Itoa(n)
	}
	return name
}
