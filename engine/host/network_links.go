package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// planLinks finds the subnets of an interface's links, and checks that the addresses are free.
func (p *networkPlanner) planLinks(ctx context.Context, i *plannedInterface, on parentInterface) error {
	for n, l := range i.Links {
		link, err := p.resolveLink(ctx, *i, i.LinkField(n), l)
		if err != nil {
			return err
		}
		i.newLinks = append(i.newLinks, link)
	}
	if i.existing != nil {
		return p.checkExistingLinks(*i)
	}
	if len(i.Links) > 0 || i.Kind != engine.ChildBridge {
		return nil
	}
	return p.planParentLinks(i, on)
}

func (p *networkPlanner) resolveLink(ctx context.Context, i plannedInterface, field fieldpath.Path, l engine.LinkSpec) (engine.LinkRequest, error) {
	link := engine.LinkRequest{Mode: l.Mode, DefaultGateway: l.DefaultGateway}
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
			Hint: "Set its gateway in MAAS, or remove default_gateway.", Err: engine.ErrConflict,
		}
	}
	link.Subnet = subnet
	if l.IP.IsValid() {
		link.IP = l.IP.String()
		err = p.CheckAddress(ctx, field.Child("ip"), subnet, l.IP, p.machine.SystemID)
	}
	return link, err
}

// planParentLinks plans the link of a bridge without links: those of its parent, else an
// address of the only subnet on its VLAN.
func (p *networkPlanner) planParentLinks(i *plannedInterface, on parentInterface) error {
	for _, l := range on.links {
		if n := slices.IndexFunc(p.subnets, func(s engine.Subnet) bool { return s.CIDR == l.Subnet }); isAddressed(l) && n >= 0 {
			link := engine.LinkRequest{Mode: l.Mode, Subnet: p.subnets[n]}
			if l.Mode == engine.LinkStatic {
				link.IP = l.IP
			}
			i.newLinks = append(i.newLinks, link)
		}
	}
	if len(i.newLinks) > 0 {
		return nil
	}
	var cidrs []string
	for _, s := range p.subnets {
		if s.VLAN == i.vlan {
			i.newLinks, cidrs = []engine.LinkRequest{{Mode: engine.LinkAuto, Subnet: s}}, append(cidrs, s.CIDR)
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

// checkExistingLinks refuses to change the addresses of an interface that others made.
func (p *networkPlanner) checkExistingLinks(i plannedInterface) error {
	if len(i.newLinks) == 0 || !slices.ContainsFunc(i.existing.Links, isAddressed) || i.hasLinks(p.machine, i.existing.Links) {
		return nil
	}
	return &engine.SpecError{
		Field: i.Field.Child("links"), Message: fmt.Sprintf("%s of machine %s has other links in MAAS", i.Name, p.machine.Hostname),
		Hint: "Describe those links, remove links to keep them, or change them in MAAS.", Err: engine.ErrConflict,
	}
}
