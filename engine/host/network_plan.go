package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/machine"
)

// planNetwork finds on the machine, and among MAAS's subnets, what the wanted network is
// made of. It changes nothing. The error is a *SpecError where the machine or MAAS lacks
// something.
func (h *bridges) planNetwork(ctx context.Context, m engine.Machine, want *engine.NetworkSpec) (networkPlan, error) {
	subnets, err := h.Names.Subnets(ctx)
	if err != nil {
		return networkPlan{}, err
	}
	p := &planning{bridges: h, networkPlan: networkPlan{machine: machine.WithoutOurNetwork(m)}, subnets: subnets}
	for _, i := range want.Interfaces() {
		if err := p.add(ctx, i); err != nil {
			return networkPlan{}, err
		}
	}
	if err := p.checkWhole(); err != nil {
		return networkPlan{}, err
	}
	return p.networkPlan, nil
}

// planning is a network plan being made.
type planning struct {
	*bridges
	networkPlan
	subnets []engine.Subnet
}

// parent is what an interface is on.
type parent struct {
	name   string
	vlan   int
	fabric string
	links  []engine.InterfaceLink
}

func (p *planning) add(ctx context.Context, want engine.NetworkInterface) error {
	i := plannedInterface{NetworkInterface: want}
	var parents []parent
	for _, name := range want.Parents {
		found, err := p.findParent(want, name)
		if err == nil && slices.Contains(i.below, found.name) {
			err = &engine.SpecError{Field: want.ParentField(), Message: fmt.Sprintf("%s is named twice, once as %s", found.name, name), Hint: "Name it once."}
		}
		if err == nil {
			err = p.checkFree(want, found)
		}
		if err != nil {
			return err
		}
		parents, i.below = append(parents, found), append(i.below, found.name)
	}
	if err := p.placeOnVLAN(&i, parents); err != nil {
		return err
	}
	if err := p.lookUp(&i); err != nil {
		return err
	}
	if err := p.planLinks(ctx, &i, parents[0]); err != nil {
		return err
	}
	if i.Kind == engine.ChildBond && len(i.Links) == 0 {
		for _, on := range parents {
			i.taken = append(i.taken, on.links...)
		}
	}
	p.interfaces = append(p.interfaces, i)
	return nil
}

// findParent finds an interface of the network or of the machine, a NIC also by its MAC
// address.
func (p *planning) findParent(want engine.NetworkInterface, name string) (parent, error) {
	var known []string
	for _, i := range p.machine.Interfaces {
		if i.Name == name || strings.EqualFold(i.MAC, name) {
			return parent{i.Name, i.VLAN, i.Fabric, i.Links}, nil
		}
		known = append(known, i.Name)
	}
	for _, i := range p.interfaces {
		if i.Name == name {
			links := i.taken
			if i.there != nil {
				links = i.there.Links
			}
			return parent{i.Name, i.vlan, i.fabric, links}, nil
		}
		known = append(known, i.Name)
	}
	for _, c := range p.machine.Children {
		if c.Name == name && c.Kind != engine.ChildBridge && (c.Kind == engine.ChildBond || want.Kind == engine.ChildBridge) && want.Kind != engine.ChildBond {
			return parent{c.Name, c.VLAN, c.Fabric, c.Links}, nil
		}
	}
	return parent{}, engine.UnknownNameError(want.ParentField(), "interface of "+p.machine.Hostname, name, known)
}

// checkFree refuses a parent that another interface of the machine leaves no room on.
func (p *planning) checkFree(want engine.NetworkInterface, on parent) error {
	for _, c := range p.machine.Children {
		takes := c.Kind == engine.ChildBond || c.Kind == engine.ChildBridge && want.Kind != engine.ChildVLAN || want.Kind == engine.ChildBond
		if c.Name != want.Name && takes && slices.Contains(c.Parents, on.name) {
			return &engine.SpecError{
				Field: want.ParentField(), Message: fmt.Sprintf("interface %s of %s is below %s %s already", on.name, p.machine.Hostname, c.Kind, c.Name),
				Hint: fmt.Sprintf("Use %s, or remove it in MAAS.", c.Name), Err: engine.ErrConflict,
			}
		}
	}
	for _, other := range p.interfaces { // by another of its names, which the spec alone does not tell
		takes := other.Kind == engine.ChildBond || other.Kind == engine.ChildBridge && want.Kind == engine.ChildBridge
		if takes && slices.Contains(other.below, on.name) {
			return &engine.SpecError{
				Field: want.ParentField(), Message: fmt.Sprintf("interface %s is below %s already", on.name, other.Name),
				Hint: "Put this one on that instead.", Err: engine.ErrConflict,
			}
		}
	}
	return nil
}

// placeOnVLAN finds the VLAN of an interface: that of its parents, or one of its own.
func (p *planning) placeOnVLAN(i *plannedInterface, parents []parent) error {
	first := parents[0]
	for _, other := range parents {
		if other.vlan == 0 || other.vlan != first.vlan {
			return &engine.SpecError{
				Field: i.ParentField(), Message: fmt.Sprintf("interface %s of %s is %s, and %s is %s", other.name, p.machine.Hostname, p.where(other), first.name, p.where(first)),
				Hint: "Connect them to one VLAN in MAAS: a machine that is Ready shows it among its interfaces.", Err: engine.ErrConflict,
			}
		}
	}
	i.vlan, i.fabric = first.vlan, first.fabric
	if i.Kind != engine.ChildVLAN {
		return nil
	}
	var known []string
	for _, s := range p.subnets {
		switch {
		case s.Fabric != first.fabric:
		case s.VID == i.VID:
			i.vlan = s.VLAN
			return nil
		default:
			known = append(known, fmt.Sprint(s.VID))
		}
	}
	return engine.UnknownNameError(i.Field.Child("vlan"), fmt.Sprintf("subnet in %s on the VLAN", first.fabric), fmt.Sprint(i.VID), slices.Compact(slices.Sorted(slices.Values(known))))
}

// where says in words to what an interface is connected.
func (p *planning) where(on parent) string {
	for _, s := range p.subnets {
		if s.VLAN == on.vlan {
			return fmt.Sprintf("on VLAN %d of %s", s.VID, s.Fabric)
		}
	}
	if on.vlan == 0 {
		return "connected to no VLAN"
	}
	return "on another VLAN of " + on.fabric
}

// lookUp finds the interface if the machine has it already. Another one of its name is a
// conflict.
func (p *planning) lookUp(i *plannedInterface) error {
	is := ""
	if have := childOf(p.machine, i.Name); have != nil {
		if is = i.differs(*have); is == "" {
			i.there = have
			return nil
		}
	} else if idOf(p.machine, i.Name) != 0 {
		is = "is a NIC"
	}
	if is == "" {
		return nil
	}
	return &engine.SpecError{
		Field: i.Field, Message: fmt.Sprintf("machine %s has an interface %s, which %s", p.machine.Hostname, i.Name, is),
		Hint: "Describe it as it is, choose another name, or remove it in MAAS.", Err: engine.ErrConflict,
	}
}

// checkWhole wants an address for the host, and a network from which VMs can boot.
func (p *planning) checkWhole() error {
	boots, addressed := false, slices.ContainsFunc(p.machine.Interfaces, func(nic engine.MachineInterface) bool {
		below := slices.ContainsFunc(p.interfaces, func(i plannedInterface) bool { return i.Kind != engine.ChildVLAN && slices.Contains(i.below, nic.Name) })
		return !below && slices.ContainsFunc(nic.Links, isAddressed)
	})
	for _, i := range p.interfaces {
		boots = boots || i.Kind == engine.ChildBridge && slices.ContainsFunc(p.subnets, func(s engine.Subnet) bool { return s.VLAN == i.vlan && s.DHCP })
		addressed = addressed || len(i.links) > 0 && i.links[0].Mode != engine.LinkUp || i.there != nil && slices.ContainsFunc(i.there.Links, isAddressed)
	}
	switch {
	case !boots:
		return &engine.SpecError{
			Field: fieldpath.Of("network", "bridges"), Message: "MAAS serves DHCP on the VLAN of none of these bridges",
			Hint: "VMs boot from it: turn DHCP on for one of the VLANs, or add a bridge on a VLAN that has it.",
		}
	case !addressed:
		return &engine.SpecError{
			Field: fieldpath.Of("network"), Message: fmt.Sprintf("no interface of machine %s would have an address", p.machine.Hostname),
			Hint: `Link one to a subnet: links = [{ mode = "auto", subnet = "lan" }].`, Err: engine.ErrInvalid,
		}
	}
	return nil
}
