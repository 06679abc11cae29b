package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// planLinks finds the subnets of an interface's links, and the addresses free.
func (p *planning) planLinks(ctx context.Context, i *plannedInterface, on parent) error {
	for n, l := range i.Links {
		link, err := p.findLink(ctx, *i, i.LinkField(n), l)
		if err != nil {
			return err
		}
		i.links = append(i.links, link)
	}
	if i.there != nil {
		return p.checkLinked(*i)
	}
	if len(i.Links) > 0 || i.Kind != engine.ChildBridge {
		return nil
	}
	return p.takeOver(i, on)
}

func (p *planning) findLink(ctx context.Context, i plannedInterface, field fieldpath.Path, l engine.LinkSpec) (engine.NewLink, error) {
	link := engine.NewLink{Mode: l.Mode, DefaultGateway: l.DefaultGateway}
	if l.Mode == engine.LinkUp {
		return link, nil
	}
	subnet, err := p.FindSubnet(ctx, field, l.Subnet)
	switch {
	case err != nil:
		return link, err
	case subnet.VLAN != i.vlan:
		return link, &engine.SpecError{
			Field: field.Child("subnet"), Message: fmt.Sprintf("subnet %s is not on the VLAN of %s", subnet.CIDR, i.Name),
			Hint: "Use a subnet of that VLAN, or another interface.", Err: engine.ErrConflict,
		}
	case l.DefaultGateway && subnet.Gateway == "":
		return link, &engine.SpecError{
			Field: field.Child("default_gateway"), Message: fmt.Sprintf("subnet %s has no gateway in MAAS", subnet.CIDR),
			Hint: "Set its gateway in MAAS, or leave default_gateway out.", Err: engine.ErrConflict,
		}
	}
	link.Subnet = subnet
	if l.IP.IsValid() {
		link.IP = l.IP.String()
		err = p.CheckAddress(ctx, field.Child("ip"), subnet, l.IP, p.machine.SystemID)
	}
	return link, err
}

// takeOver plans the link of a bridge that names none: those of its parent, else an
// address of the only subnet on its VLAN.
func (p *planning) takeOver(i *plannedInterface, on parent) error {
	for _, l := range on.links {
		if n := slices.IndexFunc(p.subnets, func(s engine.Subnet) bool { return s.CIDR == l.Subnet }); isAddressed(l) && n >= 0 {
			link := engine.NewLink{Mode: l.Mode, Subnet: p.subnets[n]}
			if l.Mode == engine.LinkStatic {
				link.IP = l.IP
			}
			i.links = append(i.links, link)
		}
	}
	if len(i.links) > 0 {
		return nil
	}
	var cidrs []string
	for _, s := range p.subnets {
		if s.VLAN == i.vlan {
			i.links, cidrs = []engine.NewLink{{Mode: engine.LinkAuto, Subnet: s}}, append(cidrs, s.CIDR)
		}
	}
	if len(cidrs) == 1 {
		return nil
	}
	hint := `Set links = [{ mode = "link_up" }] for a bridge without an address.`
	if len(cidrs) > 0 {
		hint = fmt.Sprintf("Name one of %v. %s", cidrs, hint)
	}
	return &engine.SpecError{Field: i.Field.Child("links"), Message: fmt.Sprintf("%d subnets are on the VLAN of %s", len(cidrs), i.Name), Hint: hint}
}

// checkLinked refuses to change the addresses of an interface that others made.
func (p *planning) checkLinked(i plannedInterface) error {
	if len(i.links) == 0 || !slices.ContainsFunc(i.there.Links, isAddressed) || i.hasLinks(p.machine, i.there.Links) {
		return nil
	}
	return &engine.SpecError{
		Field: i.Field.Child("links"), Message: fmt.Sprintf("%s of machine %s has other links in MAAS", i.Name, p.machine.Hostname),
		Hint: "Describe those, leave links out to keep them, or change them in MAAS.", Err: engine.ErrConflict,
	}
}
