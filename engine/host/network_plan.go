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

// planNetwork finds the parts of the wanted network on the machine and among MAAS's subnets. It
// changes nothing. The error is a *SpecError if the machine or MAAS lacks something.
func (h *networkSteps) planNetwork(ctx context.Context, m engine.Machine, want *engine.NetworkSpec) (networkPlan, error) {
	subnets, err := h.Names.Subnets(ctx)
	if err != nil {
		return networkPlan{}, err
	}
	p := &networkPlanner{networkSteps: h, networkPlan: networkPlan{machine: machine.WithoutOurNetwork(m)}, subnets: subnets}
	for _, i := range want.Interfaces() {
		if err := p.addInterface(ctx, i); err != nil {
			return networkPlan{}, err
		}
	}
	if err := p.checkPlan(); err != nil {
		return networkPlan{}, err
	}
	return p.networkPlan, nil
}

// networkPlanner makes a network plan.
type networkPlanner struct {
	*networkSteps
	networkPlan
	subnets []engine.Subnet
}

// parentInterface is an interface below another one.
type parentInterface struct {
	name   string
	vlan   int
	fabric string
	links  []engine.InterfaceLink
}

func (p *networkPlanner) addInterface(ctx context.Context, want engine.NetworkInterface) error {
	i := plannedInterface{NetworkInterface: want}
	var parents []parentInterface
	for _, name := range want.Parents {
		found, err := p.findParent(want, name)
		if err == nil && slices.Contains(i.parentNames, found.name) {
			err = &engine.SpecError{Field: want.ParentField(), Message: fmt.Sprintf("%s is named twice, once as %s", found.name, name), Hint: "Name it once."}
		}
		if err == nil {
			err = p.checkParentFree(want, found)
		}
		if err != nil {
			return err
		}
		parents, i.parentNames = append(parents, found), append(i.parentNames, found.name)
	}
	if err := p.placeOnVLAN(&i, parents); err != nil {
		return err
	}
	if err := p.findExisting(&i); err != nil {
		return err
	}
	if err := p.planLinks(ctx, &i, parents[0]); err != nil {
		return err
	}
	if i.Kind == engine.ChildBond && len(i.Links) == 0 {
		for _, on := range parents {
			i.takenLinks = append(i.takenLinks, on.links...)
		}
	}
	p.interfaces = append(p.interfaces, i)
	return nil
}

// findParent finds an interface of the network or of the machine. A NIC is also found by its
// MAC address.
func (p *networkPlanner) findParent(want engine.NetworkInterface, name string) (parentInterface, error) {
	var known []string
	for _, i := range p.machine.Interfaces {
		if i.Name == name || strings.EqualFold(i.MAC, name) {
			return parentInterface{i.Name, i.VLAN, i.Fabric, i.Links}, nil
		}
		known = append(known, i.Name)
	}
	for _, i := range p.interfaces {
		if i.Name == name {
			links := i.takenLinks
			if i.existing != nil {
				links = i.existing.Links
			}
			return parentInterface{i.Name, i.vlan, i.fabric, links}, nil
		}
		known = append(known, i.Name)
	}
	for _, c := range p.machine.Children {
		if c.Name == name && c.Kind != engine.ChildBridge && (c.Kind == engine.ChildBond || want.Kind == engine.ChildBridge) && want.Kind != engine.ChildBond {
			return parentInterface{c.Name, c.VLAN, c.Fabric, c.Links}, nil
		}
	}
	return parentInterface{}, engine.UnknownNameError(want.ParentField(), "interface of "+p.machine.Hostname, name, known)
}

// checkParentFree refuses a parent that another interface of the machine occupies.
func (p *networkPlanner) checkParentFree(want engine.NetworkInterface, on parentInterface) error {
	for _, c := range p.machine.Children {
		takes := c.Kind == engine.ChildBond || c.Kind == engine.ChildBridge && want.Kind != engine.ChildVLAN || want.Kind == engine.ChildBond
		if c.Name != want.Name && takes && slices.Contains(c.Parents, on.name) {
			return &engine.SpecError{
				Field: want.ParentField(), Message: fmt.Sprintf("interface %s of %s is below %s %s already", on.name, p.machine.Hostname, c.Kind, c.Name),
				Hint: fmt.Sprintf("Use %s, or remove it in MAAS.", c.Name), Err: engine.ErrConflict,
			}
		}
	}
	for _, other := range p.interfaces { // by another of its names, which the spec alone does not show
		takes := other.Kind == engine.ChildBond || other.Kind == engine.ChildBridge && want.Kind == engine.ChildBridge
		if takes && slices.Contains(other.parentNames, on.name) {
			return &engine.SpecError{
				Field: want.ParentField(), Message: fmt.Sprintf("interface %s is below %s already", on.name, other.Name),
				Hint: fmt.Sprintf("Put this interface on %s instead.", other.Name), Err: engine.ErrConflict,
			}
		}
	}
	return nil
}

// placeOnVLAN finds the VLAN of an interface: that of its parents, or one of its own.
func (p *networkPlanner) placeOnVLAN(i *plannedInterface, parents []parentInterface) error {
	first := parents[0]
	for _, other := range parents {
		if other.vlan == 0 || other.vlan != first.vlan {
			return &engine.SpecError{
				Field: i.ParentField(), Message: fmt.Sprintf("interface %s of %s is %s, but %s is %s", other.name, p.machine.Hostname, p.describeVLAN(other), first.name, p.describeVLAN(first)),
				Hint: "Connect them to one VLAN in MAAS, on the network page of the Ready machine.", Err: engine.ErrConflict,
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

// describeVLAN says in words which VLAN an interface is on.
func (p *networkPlanner) describeVLAN(on parentInterface) string {
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

// findExisting finds the interface if the machine has it already. A different one with its name
// is a conflict.
func (p *networkPlanner) findExisting(i *plannedInterface) error {
	is := ""
	if have := findChild(p.machine, i.Name); have != nil {
		if is = i.differenceFrom(*have); is == "" {
			i.existing = have
			return nil
		}
	} else if interfaceID(p.machine, i.Name) != 0 {
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

// checkPlan requires an address for the host, and a network from which VMs can boot.
func (p *networkPlanner) checkPlan() error {
	boots, addressed := false, slices.ContainsFunc(p.machine.Interfaces, func(nic engine.MachineInterface) bool {
		below := slices.ContainsFunc(p.interfaces, func(i plannedInterface) bool {
			return i.Kind != engine.ChildVLAN && slices.Contains(i.parentNames, nic.Name)
		})
		return !below && slices.ContainsFunc(nic.Links, isAddressed)
	})
	for _, i := range p.interfaces {
		boots = boots || i.Kind == engine.ChildBridge && slices.ContainsFunc(p.subnets, func(s engine.Subnet) bool { return s.VLAN == i.vlan && s.DHCP })
		addressed = addressed || len(i.newLinks) > 0 && i.newLinks[0].Mode != engine.LinkUp || i.existing != nil && slices.ContainsFunc(i.existing.Links, isAddressed)
	}
	switch {
	case !boots:
		return &engine.SpecError{
			Field: fieldpath.New("network", "bridges"), Message: "MAAS serves DHCP on the VLAN of none of these bridges",
			Hint: "VMs boot from it: turn DHCP on for one of the VLANs, or add a bridge on a VLAN that has it.",
		}
	case !addressed:
		return &engine.SpecError{
			Field: fieldpath.New("network"), Message: fmt.Sprintf("no interface of machine %s would have an address", p.machine.Hostname),
			Hint: `Link one to a subnet: links = [{ mode = "auto", subnet = "lan" }].`, Err: engine.ErrInvalid,
		}
	}
	return nil
}
