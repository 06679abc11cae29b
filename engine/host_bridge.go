package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// MaxInterfaceName is the longest name that Linux gives an interface
// (IFNAMSIZ, without its zero). MAAS takes longer ones, and then the
// deployment fails.
const MaxInterfaceName = 15

var bridgeName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9._-]*$`)

func (b *BridgeSpec) validate() error {
	switch {
	case b == nil:
		return nil
	case len(b.Name) > MaxInterfaceName:
		return &SpecError{
			Field: "bridge.name", Message: fmt.Sprintf("%q has %d characters", b.Name, len(b.Name)),
			Hint: fmt.Sprintf("Linux takes at most %d; lxd.networks names the bridge, too, where bridge does not.", MaxInterfaceName),
		}
	case !bridgeName.MatchString(b.Name):
		return &SpecError{Field: "bridge.name", Message: fmt.Sprintf("%q is no name of a bridge", b.Name), Hint: `Use a letter, then letters, digits, ".", "_" and "-": "br0".`}
	}
	return nil
}

// bridge sees that MAAS has the wanted bridge on the allocated machine, and
// that it is linked to a subnet with DHCP. MAAS keeps it over release and
// deployment, so it may be there from an earlier life.
func (h *hosts) bridge(ctx context.Context, m Machine, want BridgeSpec) (Machine, error) {
	place, err := h.bridging(ctx, m, want)
	if err != nil {
		return m, err
	}
	nic, have := place.nic, place.have
	if have == nil {
		if err := h.Metal.CreateBridge(ctx, m.SystemID, nic.ID, want.Name); err != nil {
			return m, fmt.Errorf("cannot make bridge %s on %s of %s: %w", want.Name, nic.Name, m.Hostname, h.moved(ctx, m, err))
		}
		h.Log.InfoContext(ctx, "made bridge", "bridge", want.Name, "interface", nic.Name, "name", m.Hostname)
		if m, err = h.Machines.Machine(ctx, m.SystemID); err != nil {
			return m, err
		}
		if have, err = bridgeOn(m, nic, want); err != nil || have == nil {
			return m, errors.Join(err, fmt.Errorf("MAAS does not show bridge %s of %s yet: %w", want.Name, m.Hostname, ErrBusy))
		}
	}
	if slices.ContainsFunc(have.Links, InterfaceLink.addressed) {
		return m, nil
	}
	if err := h.Machines.Link(ctx, m.SystemID, have.ID, place.subnet, ""); err != nil {
		return m, fmt.Errorf("cannot link bridge %s of %s to %s: %w", want.Name, m.Hostname, place.subnet.CIDR, err)
	}
	return h.Machines.Machine(ctx, m.SystemID)
}

// bridging is where a bridge belongs.
type bridging struct {
	nic    MachineInterface
	have   *MachineBridge // nil: it is still to be made
	subnet Subnet
}

// bridging looks where the wanted bridge belongs, and changes nothing.
func (h *hosts) bridging(ctx context.Context, m Machine, want BridgeSpec) (bridging, error) {
	nic, err := nicFor(m, want)
	if err != nil {
		return bridging{}, err
	}
	have, err := bridgeOn(m, nic, want)
	if err != nil {
		return bridging{}, err
	}
	subnet, err := h.bridgeSubnet(ctx, m, nic, have, want)
	return bridging{nic, have, subnet}, err
}

// addressed reports whether the link gives its interface an address.
func (l InterfaceLink) addressed() bool { return l.Mode != "link_up" && l.Subnet != "" }

// nicFor finds the interface below the bridge.
func nicFor(m Machine, want BridgeSpec) (MachineInterface, error) {
	i := slices.IndexFunc(m.Interfaces, func(i MachineInterface) bool {
		return want.NIC == "" && (i.ID == m.BootInterface || m.BootInterface == 0) || want.NIC == i.Name
	})
	if i >= 0 {
		return m.Interfaces[i], nil
	}
	names := make([]string, len(m.Interfaces))
	for n, i := range m.Interfaces {
		names[n] = i.Name
	}
	if want.NIC == "" {
		return MachineInterface{}, &SpecError{Field: "bridge.nic", Message: fmt.Sprintf("machine %s has no interface that it boots from", m.Hostname), Hint: "Commission it in MAAS, or name an interface."}
	}
	return MachineInterface{}, unknown("bridge.nic", "interface of "+m.Hostname, want.NIC, names)
}

// bridgeOn finds the bridge on an interface, nil if there is none.
func bridgeOn(m Machine, nic MachineInterface, want BridgeSpec) (*MachineBridge, error) {
	for n, b := range m.Bridges {
		switch {
		case slices.Contains(b.Parents, nic.Name) && b.Name == want.Name:
			return &m.Bridges[n], nil
		case slices.Contains(b.Parents, nic.Name):
			return nil, &SpecError{
				Field: "bridge.name", Message: fmt.Sprintf("interface %s of %s is below bridge %s already", nic.Name, m.Hostname, b.Name),
				Hint: fmt.Sprintf("Use %q, or remove that bridge in MAAS.", b.Name), Err: ErrConflict,
			}
		}
	}
	taken := slices.ContainsFunc(m.Interfaces, func(i MachineInterface) bool { return i.Name == want.Name }) ||
		slices.ContainsFunc(m.Bridges, func(b MachineBridge) bool { return b.Name == want.Name })
	if taken {
		return nil, &SpecError{
			Field: "bridge.name", Message: fmt.Sprintf("machine %s has another interface %s", m.Hostname, want.Name),
			Hint: "Choose another name for the bridge.", Err: ErrConflict,
		}
	}
	return nil, nil
}

// bridgeSubnet is the subnet that gives the host its address, and its VMs
// theirs: the one that is named, else that of the bridge or interface, else the
// only one on the interface's VLAN. Once the bridge is made, the interface's
// own link is gone.
func (h *hosts) bridgeSubnet(ctx context.Context, m Machine, nic MachineInterface, have *MachineBridge, want BridgeSpec) (Subnet, error) {
	wanted := want.Subnet
	if links := nic.Links; wanted == "" {
		if have != nil {
			links = have.Links
		}
		if i := slices.IndexFunc(links, InterfaceLink.addressed); i >= 0 {
			wanted = links[i].Subnet
		}
	}
	if wanted == "" {
		on, all, err := find(ctx, h.Names, ListSubnets, h.Names.Subnets, func(s Subnet) bool { return s.VLAN == nic.VLAN && nic.VLAN != 0 })
		switch {
		case err != nil:
			return Subnet{}, err
		case len(on) != 1:
			return Subnet{}, &SpecError{
				Field: "bridge.subnet", Message: fmt.Sprintf("interface %s of %s is linked to no subnet, and %d are on its VLAN", nic.Name, m.Hostname, len(on)),
				Hint: fmt.Sprintf("Name one of %v.", cidrs(all)),
			}
		}
		wanted = on[0].CIDR
	}
	subnet, err := h.subnet(ctx, "bridge", wanted)
	if err == nil && have != nil {
		err = sameSubnet(*have, subnet, m)
	}
	if err == nil && !subnet.DHCP {
		err = &SpecError{
			Field: "bridge.subnet", Message: fmt.Sprintf("MAAS serves no DHCP on the VLAN of %s", subnet.CIDR),
			Hint: "VMs on this host boot from it: turn DHCP on for that VLAN, or use another interface or subnet.",
		}
	}
	return subnet, err
}

// sameSubnet refuses a bridge from an earlier life that is linked elsewhere: the
// links of a machine are not ours to move.
func sameSubnet(have MachineBridge, wanted Subnet, m Machine) error {
	for _, l := range have.Links {
		if l.addressed() && l.Subnet != wanted.CIDR {
			return &SpecError{
				Field: "bridge.subnet", Message: fmt.Sprintf("bridge %s of %s is linked to %s, and not to %s", have.Name, m.Hostname, l.Subnet, wanted.CIDR),
				Hint: "Use that subnet, or change the link in MAAS.", Err: ErrConflict,
			}
		}
	}
	return nil
}
