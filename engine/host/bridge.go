package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/machine"
)

// ensureNetwork makes sure that MAAS has the wanted network on the allocated machine.
func (h *networkSteps) ensureNetwork(ctx context.Context, m engine.Machine, want engine.HostSpec) (engine.Machine, error) {
	if want.Network != nil {
		return h.ensureNetworkSpec(ctx, m, want.Network)
	}
	if len(machine.InterfacesMadeByUs(m)) > 0 { // made by a run that wanted another network
		var err error
		if m, err = h.RestoreNetwork(ctx, m); err != nil {
			return m, err
		}
	}
	if want.Bridge == nil {
		return m, nil
	}
	return h.ensureBridge(ctx, m, *want.Bridge)
}

// ensureBridge makes sure that MAAS has the wanted bridge on the allocated machine, linked to a
// subnet with DHCP. A bridge that MAAS makes on an allocated machine takes the interface's
// links over, and gives them back at the release. A bridge that an operator made before stays.
func (h *networkSteps) ensureBridge(ctx context.Context, m engine.Machine, want engine.BridgeSpec) (engine.Machine, error) {
	place, err := h.planBridge(ctx, m, want)
	if err != nil {
		return m, err
	}
	nic, have := place.nic, place.have
	if have == nil {
		if err := h.Metal.CreateBridge(ctx, m.SystemID, nic.ID, want.Name); err != nil {
			return m, fmt.Errorf("cannot make bridge %s on %s of %s: %w", want.Name, nic.Name, m.Hostname, h.RecheckRefusal(ctx, m, err))
		}
		h.Log.InfoContext(ctx, "made bridge", "bridge", want.Name, "interface", nic.Name, "name", m.Hostname)
		if m, err = h.Machines.Machine(ctx, m.SystemID); err != nil {
			return m, err
		}
		if have, err = findBridgeOn(m, nic, want); err != nil || have == nil {
			return m, errors.Join(err, fmt.Errorf("MAAS does not show bridge %s of %s yet: %w", want.Name, m.Hostname, engine.ErrBusy))
		}
	}
	if slices.ContainsFunc(have.Links, isAddressed) {
		return m, nil
	}
	if err := h.Machines.SetInterfaceAddress(ctx, m.SystemID, have.ID, place.subnet, ""); err != nil {
		return m, fmt.Errorf("cannot link bridge %s of %s to %s: %w", want.Name, m.Hostname, place.subnet.CIDR, err)
	}
	return h.Machines.Machine(ctx, m.SystemID)
}

// bridgePlan is the place for a bridge.
type bridgePlan struct {
	nic    engine.MachineInterface
	have   *engine.MachineBridge // nil: it must still be made
	subnet engine.Subnet
}

// planBridge finds the place for the wanted bridge, and changes nothing.
func (h *networkSteps) planBridge(ctx context.Context, m engine.Machine, want engine.BridgeSpec) (bridgePlan, error) {
	nic, err := findBridgeNIC(m, want)
	if err != nil {
		return bridgePlan{}, err
	}
	have, err := findBridgeOn(m, nic, want)
	if err != nil {
		return bridgePlan{}, err
	}
	subnet, err := h.bridgeSubnet(ctx, m, nic, have, want)
	return bridgePlan{nic, have, subnet}, err
}

// isAddressed reports whether the link gives its interface an address.
func isAddressed(l engine.InterfaceLink) bool { return l.Mode != "link_up" && l.Subnet != "" }

// findBridgeNIC finds the interface below the bridge.
func findBridgeNIC(m engine.Machine, want engine.BridgeSpec) (engine.MachineInterface, error) {
	i := slices.IndexFunc(m.Interfaces, func(i engine.MachineInterface) bool {
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
		return engine.MachineInterface{}, &engine.SpecError{Field: fieldpath.New("bridge", "nic"), Message: fmt.Sprintf("machine %s has no interface that it boots from", m.Hostname), Hint: "Commission it in MAAS, or name an interface."}
	}
	return engine.MachineInterface{}, engine.UnknownNameError(fieldpath.New("bridge", "nic"), "interface of "+m.Hostname, want.NIC, names)
}

// findBridgeOn finds the bridge on an interface, nil if there is none.
func findBridgeOn(m engine.Machine, nic engine.MachineInterface, want engine.BridgeSpec) (*engine.MachineBridge, error) {
	for n, b := range m.Bridges {
		switch {
		case slices.Contains(b.Parents, nic.Name) && b.Name == want.Name:
			return &m.Bridges[n], nil
		case slices.Contains(b.Parents, nic.Name):
			return nil, &engine.SpecError{
				Field: fieldpath.New("bridge", "name"), Message: fmt.Sprintf("interface %s of %s is below bridge %s already", nic.Name, m.Hostname, b.Name),
				Hint: fmt.Sprintf("Use %q, or remove that bridge in MAAS.", b.Name), Err: engine.ErrConflict,
			}
		}
	}
	taken := slices.ContainsFunc(m.Interfaces, func(i engine.MachineInterface) bool { return i.Name == want.Name }) ||
		slices.ContainsFunc(m.Bridges, func(b engine.MachineBridge) bool { return b.Name == want.Name })
	if taken {
		return nil, &engine.SpecError{
			Field: fieldpath.New("bridge", "name"), Message: fmt.Sprintf("machine %s has another interface %s", m.Hostname, want.Name),
			Hint: "Choose another name for the bridge.", Err: engine.ErrConflict,
		}
	}
	return nil, nil
}

// bridgeSubnet is the subnet for the addresses of the host and its VMs. It is the named one,
// else that of the bridge or interface, else the only one on the interface's VLAN. Once the
// bridge is made, the interface has no links of its own.
func (h *networkSteps) bridgeSubnet(ctx context.Context, m engine.Machine, nic engine.MachineInterface, have *engine.MachineBridge, want engine.BridgeSpec) (engine.Subnet, error) {
	linked, links := "interface "+nic.Name, nic.Links
	if have != nil {
		linked, links = "bridge "+have.Name, have.Links
	}
	wanted := want.Subnet
	if i := slices.IndexFunc(links, isAddressed); i >= 0 && wanted == "" {
		wanted = links[i].Subnet
	}
	if wanted == "" {
		on, all, err := engine.FindInList(ctx, h.Names, engine.ListSubnets, h.Names.Subnets, func(s engine.Subnet) bool { return s.VLAN == nic.VLAN && nic.VLAN != 0 })
		switch {
		case err != nil:
			return engine.Subnet{}, err
		case len(on) != 1:
			return engine.Subnet{}, &engine.SpecError{
				Field: fieldpath.New("bridge", "subnet"), Message: fmt.Sprintf("interface %s of %s is linked to no subnet, and its VLAN has %d of them", nic.Name, m.Hostname, len(on)),
				Hint: "Name one of these: " + engine.SubnetTexts(all) + ".",
			}
		}
		wanted = on[0].CIDR
	}
	subnet, err := h.FindSubnet(ctx, fieldpath.New("bridge"), wanted)
	if err == nil && !subnet.DHCP {
		err = &engine.SpecError{
			Field: fieldpath.New("bridge", "subnet"), Message: fmt.Sprintf("MAAS serves no DHCP on the VLAN of %s", subnet.CIDR),
			Hint: "VMs on this host boot from it: turn DHCP on for that VLAN, or use another interface or subnet.",
		}
	}
	if err == nil {
		err = checkSameSubnet(linked+" of "+m.Hostname, links, subnet)
	}
	return subnet, err
}

// checkSameSubnet refuses a bridge that is linked to another subnet, or an interface whose
// links the bridge would take over. This program does not move links of a machine.
func checkSameSubnet(linked string, links []engine.InterfaceLink, wanted engine.Subnet) error {
	var others []string
	for _, l := range links {
		switch {
		case !isAddressed(l):
		case l.Subnet == wanted.CIDR:
			return nil
		default:
			others = append(others, l.Subnet)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return &engine.SpecError{
		Field: fieldpath.New("bridge", "subnet"), Message: fmt.Sprintf("%s is linked to %s, not to %s", linked, strings.Join(others, " and "), wanted.CIDR),
		Hint: "Use that subnet, or change the link in MAAS.", Err: engine.ErrConflict,
	}
}
