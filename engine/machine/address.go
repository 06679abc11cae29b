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

// wish is a fixed address that one machine can have, or all.
type wish struct {
	engine.FixedAddress
	subnet engine.Subnet
	use    engine.AddressUse // by a machine, which alone can have it; or by none
}

// wishes looks whether a machine can have the addresses, before one is chosen,
// and claims them for the key. One that a machine has already will do if that
// one is chosen.
func (b *addresses) wishes(ctx context.Context, key engine.Key, want engine.MachineSpec) ([]wish, error) {
	b.claims.Forget(key)
	var all []wish
	for _, f := range want.Interfaces {
		w, err := b.lookUpWish(ctx, f)
		if err == nil {
			err = b.claims.Take(f.Field().Child("ip"), key, string(key), w.subnet.ID, f.IP)
		}
		if err != nil {
			b.claims.Forget(key)
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// lookUpWish looks whether a machine can have an address.
func (b *addresses) lookUpWish(ctx context.Context, f engine.FixedAddress) (wish, error) {
	subnet, err := subnetFor(ctx, b.Config, f)
	if err != nil {
		return wish{}, err
	}
	field := f.Field().Child("ip")
	use, err := b.LookUpAddress(ctx, field, subnet, f.IP)
	if err == nil && use.Purpose != engine.AddressFree && use.SystemID == "" {
		err = use.UnusableError(field, f.IP)
	}
	return wish{f, subnet, use}, err
}

// fit says why a machine cannot have the addresses.
func fit(all []wish, m engine.Machine) error {
	for _, w := range all {
		if w.use.SystemID != "" && w.use.SystemID != m.SystemID {
			return w.use.UnusableError(w.Field().Child("ip"), w.IP)
		}
		target, err := targetOf(m, w.FixedAddress, w.subnet)
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
func subnetFor(ctx context.Context, c engine.Config, f engine.FixedAddress) (engine.Subnet, error) {
	if f.Subnet != "" {
		return c.FindSubnet(ctx, f.Field(), f.Subnet)
	}
	return c.FindSubnetOf(ctx, f.Field().Child("ip"), f.IP)
}

// target is what gets an address: an interface, or the bridge on it.
type target struct {
	id    int
	name  string
	links []engine.InterfaceLink
}

// targetOf finds where a fixed address belongs on the machine.
func targetOf(m engine.Machine, f engine.FixedAddress, subnet engine.Subnet) (target, error) {
	nic, err := nicOn(m, f, subnet)
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

func nicOn(m engine.Machine, f engine.FixedAddress, subnet engine.Subnet) (engine.MachineInterface, error) {
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

// has reports whether the target has the fixed address.
func (t target) has(ip netip.Addr) bool { return engine.HasStaticLink(t.links, ip) }

// free refuses to put a fixed address in the place of one that people gave the
// machine in MAAS: it is not ours to take.
func (t target) free(f engine.FixedAddress, m engine.Machine) error {
	ours := fixedAddresses(m.Description)
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

// fix gives the allocated machine its fixed addresses, before it is deployed.
// The machine's description notes each first, and so a release knows which to
// take back: MAAS keeps fixed addresses, but no owner data, when it releases.
func (b *addresses) fix(ctx context.Context, key engine.Key, want engine.MachineSpec, m engine.Machine) (engine.Machine, error) {
	for _, f := range want.Interfaces {
		subnet, err := subnetFor(ctx, b.Config, f)
		if err != nil {
			return m, err
		}
		at, err := targetOf(m, f, subnet)
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
			if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrInvalid) {
				return m, b.LinkError(ctx, f.Field().Child("ip"), subnet, f.IP, m, b.JudgeRefusal(ctx, m, err))
			}
			return m, fmt.Errorf("cannot give %s the address %s: %w", m.Hostname, f.IP, err)
		}
		b.Log.InfoContext(ctx, "gave machine a fixed address", "name", m.Hostname, "system_id", m.SystemID, "interface", at.name, "address", f.IP)
		if m, err = b.Machines.Machine(ctx, m.SystemID); err != nil {
			return m, err
		}
	}
	b.claims.Forget(key) // MAAS shows them
	return m, nil
}
