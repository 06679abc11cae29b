package vm

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/maaslxd/maaslxd/engine"
)

// changeInterfaces adds interfaces to a finished VM in place, and removes added ones. This
// happens between LXD and the guest: MAAS does not learn of it. It returns the machine with its
// added NICs.
func (v *interfaceSteps) changeInterfaces(ctx context.Context, key engine.Key, want engine.VMSpec, m engine.Machine) (engine.Machine, error) {
	if len(want.AddedInterfaces)+len(want.RemovedInterfaces) == 0 {
		return m, nil
	}
	if err := checkLock(want, m); err != nil && v.wantsNICChange(ctx, want, m) {
		return m, err
	}
	change := engine.InterfaceChange{Key: key, Removed: want.RemovedInterfaces}
	for _, i := range want.AddedInterfaces {
		nic, err := v.addedNIC(ctx, i)
		if err != nil {
			return m, err
		}
		change.Added = append(change.Added, nic)
	}
	on, err := v.maker.HostOf(ctx, m)
	if err != nil {
		return m, err
	}
	if err := v.Composer.ChangeInterfaces(ctx, on, m.SystemID, change); err != nil {
		return m, fmt.Errorf("cannot change the interfaces of %s: %w", m.Hostname, err)
	}
	if m.AddedNICs = v.Composer.CompleteMachine(ctx, m).AddedNICs; m.AddedNICs == nil {
		return m, v.addedNICsUnknownError(ctx, m)
	}
	return m, nil
}

// wantsNICChange reports whether a VM lacks a wanted NIC, or has one to remove.
func (v *interfaceSteps) wantsNICChange(ctx context.Context, want engine.VMSpec, m engine.Machine) bool {
	have := v.Composer.CompleteMachine(ctx, m).AddedNICs
	isMissing := func(i engine.Interface) bool { _, has := have[i.Name]; return !has }
	return len(want.RemovedInterfaces) > 0 || slices.ContainsFunc(want.AddedInterfaces, isMissing)
}

// addedNIC is the NIC of an interface that is added in place.
func (v *stepBase) addedNIC(ctx context.Context, i engine.Interface) (engine.NIC, error) {
	if err := i.CheckAddedInPlace(); err != nil {
		return engine.NIC{}, err
	}
	links, err := v.resolveLinks(ctx, i)
	if err != nil {
		return engine.NIC{}, err
	}
	return engine.NIC{Subnet: links[0].subnet, Label: i.Name, Bridge: i.Bridge, MAC: i.MAC, Mode: links[0].Mode}, nil
}

// addedNICsUnknownError says why the added interfaces of a VM are unknown.
func (v *stepBase) addedNICsUnknownError(ctx context.Context, m engine.Machine) error {
	if err := v.Composer.CheckInstanceReachable(ctx, m); err != nil {
		return fmt.Errorf("cannot tell which interfaces were added to %s: %w", m.Hostname, err)
	}
	return fmt.Errorf("the LXD of %s does not tell which interfaces were added to it: %w", m.Hostname, engine.ErrBusy)
}

// composedInterfaces are the interfaces that a machine was made with, in MAAS's order. MAAS
// knows an added interface, too, once somebody has commissioned the machine. If nobody can tell
// them apart, the error is ErrBusy: an added interface must not get the links of a composed
// one.
func (v *interfaceSteps) composedInterfaces(ctx context.Context, wanted []engine.Interface, m engine.Machine) ([]engine.MachineInterface, error) {
	if !engine.WasFinishedOnce(m) || len(wanted) == 0 { // none was added yet, or it does not matter
		return m.Interfaces, nil
	}
	have := v.Composer.CompleteMachine(ctx, m)
	isSilent := have.AddedNICs == nil && have.Cores == 0 // then the size is unknown, too
	if isSilent && len(m.Interfaces) > len(wanted) {
		return nil, v.addedNICsUnknownError(ctx, m)
	}
	added := map[string]bool{}
	for nic := range maps.Values(have.AddedNICs) {
		added[nic.MAC] = true
	}
	return slices.DeleteFunc(slices.Clone(m.Interfaces), func(i engine.MachineInterface) bool { return added[i.MAC] }), nil
}
