package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// FixedAddress is an address that an interface of a machine has for as long as
// the machine is allocated.
type FixedAddress struct {
	// Name is the caller's name for it, a label of [a-z0-9-]; errors go by it.
	Name string
	// NIC is the interface's name or MAC in MAAS. Empty: the one on the subnet's
	// VLAN, that from which the machine boots before others. A bridge on it has
	// the address in its place.
	NIC string
	// Subnet by name or CIDR; empty: the one that IP lies in.
	Subnet string
	IP     netip.Addr
}

func (f FixedAddress) field() string { return "interfaces." + f.Name }

func (s MachineSpec) validateAddresses() error {
	has := map[netip.Addr]string{}
	for _, f := range s.Interfaces {
		other, twice := has[f.IP]
		switch {
		case s.Adopt:
			return &SpecError{Field: "interfaces", Message: "an adopted machine keeps the addresses that it has", Hint: "Leave them out, or have the machine deployed."}
		case !label.MatchString(f.Name):
			return &SpecError{Field: f.field(), Message: fmt.Sprintf("%q is no label of an interface", f.Name), Hint: `Use lower-case letters, digits and hyphens: "eth0".`}
		case !f.IP.IsValid():
			return &SpecError{Field: f.field() + ".ip", Message: "there is no address", Hint: "Leave the interface out to let MAAS choose one."}
		case twice:
			return &SpecError{Field: f.field() + ".ip", Message: fmt.Sprintf("%s is the address of %s already", f.IP, other), Hint: "Give each interface an address of its own."}
		}
		has[f.IP] = f.Name
	}
	return nil
}

// wish is a fixed address that one machine can have, or all.
type wish struct {
	FixedAddress
	subnet Subnet
	use    AddressUse // by a machine, which alone can have it; or by none
}

// wishes looks whether a machine can have the addresses, before one is chosen,
// and claims them for the key. One that a machine has already will do if that
// one is chosen.
func (b *metal) wishes(ctx context.Context, key Key, want MachineSpec) ([]wish, error) {
	b.claims.forget(key)
	var all []wish
	for _, f := range want.Interfaces {
		subnet, err := b.subnetFor(ctx, f)
		if err != nil {
			return nil, err
		}
		field := f.field() + ".ip"
		use, err := b.addressUse(ctx, field, subnet, f.IP)
		if err == nil && use.Purpose != AddressFree && use.SystemID == "" {
			err = use.refusal(field, f.IP)
		}
		if err == nil {
			err = b.claims.take(field, key, string(key), place{subnet.ID, f.IP})
		}
		if err != nil {
			b.claims.forget(key)
			return nil, err
		}
		all = append(all, wish{f, subnet, use})
	}
	return all, nil
}

// fit says why a machine cannot have the addresses.
func fit(all []wish, m Machine) error {
	for _, w := range all {
		if w.use.SystemID != "" && w.use.SystemID != m.SystemID {
			return w.use.refusal(w.field()+".ip", w.IP)
		}
		target, err := m.target(w.FixedAddress, w.subnet)
		if err == nil {
			err = target.free(w.FixedAddress, m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// subnetFor finds the subnet of a fixed address.
func (c Config) subnetFor(ctx context.Context, f FixedAddress) (Subnet, error) {
	if f.Subnet != "" {
		return c.subnet(ctx, f.field(), f.Subnet)
	}
	return c.subnetOf(ctx, f.field()+".ip", f.IP)
}

// target is what gets an address: an interface, or the bridge on it.
type target struct {
	id    int
	name  string
	links []InterfaceLink
}

// target finds where a fixed address belongs on the machine.
func (m Machine) target(f FixedAddress, subnet Subnet) (target, error) {
	nic, err := m.nicOn(f, subnet)
	if err != nil {
		return target{}, err
	}
	for _, b := range m.Bridges {
		if slices.Contains(b.Parents, nic.Name) {
			return target{b.ID, b.Name, b.Links}, nil
		}
	}
	return target{nic.ID, nic.Name, nic.Links}, nil
}

func (m Machine) nicOn(f FixedAddress, subnet Subnet) (MachineInterface, error) {
	var on []MachineInterface
	names := make([]string, 0, len(m.Interfaces))
	for _, i := range m.Interfaces {
		names = append(names, i.Name)
		switch {
		case f.NIC != "" && f.NIC != i.Name && !strings.EqualFold(f.NIC, i.MAC):
		case i.VLAN == subnet.VLAN:
			on = append(on, i)
		case f.NIC != "":
			return MachineInterface{}, &SpecError{
				Field: f.field() + ".nic", Message: fmt.Sprintf("interface %s of machine %s is not on the VLAN of %s", i.Name, m.Hostname, subnet.CIDR),
				Hint: "Name another interface, or connect it in MAAS.", Err: ErrConflict,
			}
		}
	}
	if len(on) == 0 && f.NIC != "" {
		return MachineInterface{}, unknown(f.field()+".nic", "interface of "+m.Hostname, f.NIC, names)
	}
	if len(on) == 0 {
		return MachineInterface{}, &SpecError{
			Field: f.field() + ".subnet", Message: fmt.Sprintf("machine %s has no interface on the VLAN of %s", m.Hostname, subnet.CIDR),
			Hint: "Choose another machine or subnet, or connect an interface in MAAS.", Err: ErrConflict,
		}
	}
	if i := slices.IndexFunc(on, func(i MachineInterface) bool { return i.ID == m.BootInterface }); i >= 0 {
		return on[i], nil
	}
	return on[0], nil
}

// has reports whether the target has the fixed address.
func (t target) has(ip netip.Addr) bool { return linkedTo(t.links, ip) }

func linkedTo(links []InterfaceLink, ip netip.Addr) bool {
	return slices.ContainsFunc(links, func(l InterfaceLink) bool { return l.Mode == "static" && l.IP == ip.String() })
}

// free refuses to put a fixed address in the place of one that people gave the
// machine in MAAS: it is not ours to take.
func (t target) free(f FixedAddress, m Machine) error {
	ours := fixedAddresses(m.Description)
	for _, l := range t.links {
		if l.Mode == "static" && l.IP != f.IP.String() && !slices.Contains(ours, l.IP) {
			return &SpecError{
				Field: f.field() + ".ip", Message: fmt.Sprintf("interface %s of machine %s has the fixed address %s in MAAS already", t.name, m.Hostname, l.IP),
				Hint: "Use that address, or change the link in MAAS.", Err: ErrConflict,
			}
		}
	}
	return nil
}

// fix gives the allocated machine its fixed addresses, before it is deployed.
// The machine's description notes each first, and so a release knows which to
// take back: MAAS keeps fixed addresses, but no owner data, when it releases.
func (b *metal) fix(ctx context.Context, key Key, want MachineSpec, m Machine) (Machine, error) {
	for _, f := range want.Interfaces {
		subnet, err := b.subnetFor(ctx, f)
		if err != nil {
			return m, err
		}
		at, err := m.target(f, subnet)
		switch {
		case err != nil:
			return m, err
		case at.has(f.IP):
			continue
		}
		if err := at.free(f, m); err != nil {
			return m, err
		}
		if m, err = b.note(ctx, m, append(fixedAddresses(m.Description), f.IP.String())); err != nil {
			return m, err
		}
		if err := b.Machines.Link(ctx, m.SystemID, at.id, subnet, f.IP.String()); err != nil {
			if errors.Is(err, ErrConflict) || errors.Is(err, ErrInvalid) {
				return m, b.unlinkable(ctx, f.field()+".ip", subnet, f.IP, m, b.moved(ctx, m, err))
			}
			return m, fmt.Errorf("cannot give %s the address %s: %w", m.Hostname, f.IP, err)
		}
		b.Log.InfoContext(ctx, "gave machine a fixed address", "name", m.Hostname, "system_id", m.SystemID, "interface", at.name, "address", f.IP)
		if m, err = b.Machines.Machine(ctx, m.SystemID); err != nil {
			return m, err
		}
	}
	b.claims.forget(key) // MAAS shows them
	return m, nil
}
