package machine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// addressWish is a wanted fixed address, which one machine can have, or all.
type addressWish struct {
	engine.FixedAddress
	subnet engine.Subnet
	use    engine.AddressUse // by a machine, which alone can have it; or by none
}

// claimAddresses checks that a machine can have the addresses, before one is chosen, and claims
// them for the key. If a machine has an address already, only that machine can be chosen.
func (b *addressSteps) claimAddresses(ctx context.Context, key engine.Key, want engine.MachineSpec) ([]addressWish, error) {
	b.claims.Forget(key)
	var all []addressWish
	for _, f := range want.Interfaces {
		w, err := b.lookUpAddressWish(ctx, f)
		if err == nil {
			err = b.claims.ClaimAddress(f.Field().Child("ip"), key, string(key), w.subnet.ID, f.IP)
		}
		if err != nil {
			b.claims.Forget(key)
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// lookUpAddressWish checks whether a machine can have an address.
func (b *addressSteps) lookUpAddressWish(ctx context.Context, f engine.FixedAddress) (addressWish, error) {
	subnet, err := findSubnet(ctx, b.Config, f)
	if err != nil {
		return addressWish{}, err
	}
	field := f.Field().Child("ip")
	use, err := b.LookUpAddress(ctx, field, subnet, f.IP)
	if err == nil && use.Purpose != engine.AddressFree && use.SystemID == "" {
		err = use.UnusableError(field, f.IP)
	}
	return addressWish{f, subnet, use}, err
}

// checkAddresses says why a machine cannot have the addresses.
func checkAddresses(all []addressWish, m engine.Machine) error {
	for _, w := range all {
		if w.use.SystemID != "" && w.use.SystemID != m.SystemID {
			return w.use.UnusableError(w.Field().Child("ip"), w.IP)
		}
		target, err := findTarget(m, w.FixedAddress, w.subnet)
		if err == nil {
			err = target.checkReplaceable(w.FixedAddress, m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findSubnet finds the subnet of a fixed address.
func findSubnet(ctx context.Context, c engine.Config, f engine.FixedAddress) (engine.Subnet, error) {
	if f.Subnet != "" {
		return c.FindSubnet(ctx, f.Field(), f.Subnet)
	}
	return c.FindSubnetOf(ctx, f.Field().Child("ip"), f.IP)
}

// addressTarget is the place of an address: an interface, or the bridge on it.
type addressTarget struct {
	id    int
	name  string
	links []engine.InterfaceLink
}

// findTarget finds the place of a fixed address on the machine.
func findTarget(m engine.Machine, f engine.FixedAddress, subnet engine.Subnet) (addressTarget, error) {
	nic, err := findNIC(m, f, subnet)
	if err != nil {
		return addressTarget{}, err
	}
	for _, b := range m.Bridges {
		if slices.Contains(b.Parents, nic.Name) {
			return addressTarget{b.ID, b.Name, b.Links}, nil
		}
	}
	return addressTarget{nic.ID, nic.Name, nic.Links}, nil
}

func findNIC(m engine.Machine, f engine.FixedAddress, subnet engine.Subnet) (engine.MachineInterface, error) {
	var on []engine.MachineInterface
	names := make([]string, 0, len(m.Interfaces))
	for _, i := range m.Interfaces {
		names = append(names, i.Name)
		switch {
		case f.NIC != "" && f.NIC != i.Name && !strings.EqualFold(f.NIC, i.MAC):
		case i.VLAN == subnet.VLAN:
			on = append(on, i)
		case f.NIC != "":
			return engine.MachineInterface{}, &engine.SpecError{
				Field: f.Field().Child("nic"), Message: fmt.Sprintf("interface %s of machine %s is not on the VLAN of %s", i.Name, m.Hostname, subnet.CIDR),
				Hint: "Name another interface, or connect it in MAAS.", Err: engine.ErrConflict,
			}
		}
	}
	if len(on) == 0 && f.NIC != "" {
		return engine.MachineInterface{}, engine.UnknownNameError(f.Field().Child("nic"), "interface of "+m.Hostname, f.NIC, names)
	}
	if len(on) == 0 {
		return engine.MachineInterface{}, &engine.SpecError{
			Field: f.Field().Child("subnet"), Message: fmt.Sprintf("machine %s has no interface on the VLAN of %s", m.Hostname, subnet.CIDR),
			Hint: "Choose another machine or subnet, or connect an interface in MAAS.", Err: engine.ErrConflict,
		}
	}
	if i := slices.IndexFunc(on, func(i engine.MachineInterface) bool { return i.ID == m.BootInterface }); i >= 0 {
		return on[i], nil
	}
	return on[0], nil
}

// hasAddress reports whether the target has the fixed address.
func (t addressTarget) hasAddress(ip netip.Addr) bool { return engine.HasStaticLink(t.links, ip) }

// checkReplaceable refuses to replace a fixed address that people gave the machine in MAAS: it
// is not ours.
func (t addressTarget) checkReplaceable(f engine.FixedAddress, m engine.Machine) error {
	ours := notedFixedAddresses(m.Description)
	for _, l := range t.links {
		if l.Mode == "static" && l.IP != f.IP.String() && !slices.Contains(ours, l.IP) {
			return &engine.SpecError{
				Field: f.Field().Child("ip"), Message: fmt.Sprintf("interface %s of machine %s has the fixed address %s in MAAS already", t.name, m.Hostname, l.IP),
				Hint: "Use that address, or change the link in MAAS.", Err: engine.ErrConflict,
			}
		}
	}
	return nil
}

// setFixedAddresses gives the allocated machine its fixed addresses, before it is deployed. It
// notes each in the machine's description first, so that a release knows which ones to take
// back. At a release, MAAS keeps fixed addresses, but no owner data.
func (b *addressSteps) setFixedAddresses(ctx context.Context, key engine.Key, want engine.MachineSpec, m engine.Machine) (engine.Machine, error) {
	for _, f := range want.Interfaces {
		subnet, err := findSubnet(ctx, b.Config, f)
		if err != nil {
			return m, err
		}
		at, err := findTarget(m, f, subnet)
		switch {
		case err != nil:
			return m, err
		case at.hasAddress(f.IP):
			continue
		}
		if err := at.checkReplaceable(f, m); err != nil {
			return m, err
		}
		if m, err = b.noteFixedAddresses(ctx, m, append(notedFixedAddresses(m.Description), f.IP.String())); err != nil {
			return m, err
		}
		if err := b.Machines.SetInterfaceAddress(ctx, m.SystemID, at.id, subnet, f.IP.String()); err != nil {
			if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrInvalid) {
				return m, b.LinkError(ctx, f.Field().Child("ip"), subnet, f.IP, m, b.RecheckRefusal(ctx, m, err))
			}
			return m, fmt.Errorf("cannot give %s the address %s: %w", m.Hostname, f.IP, err)
		}
		b.Log.InfoContext(ctx, "gave a machine a fixed address", "name", m.Hostname, "system_id", m.SystemID, "interface", at.name, "address", f.IP)
		if m, err = b.Machines.Machine(ctx, m.SystemID); err != nil {
			return m, err
		}
	}
	b.claims.Forget(key) // MAAS shows them
	return m, nil
}
