package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// resolvedLink is a wanted link of an interface, with its subnet.
type resolvedLink struct {
	engine.WantedLink
	subnet engine.Subnet
}

// resolveLinks finds the subnets of an interface's links, that of its network first.
func (v *stepBase) resolveLinks(ctx context.Context, i engine.Interface) ([]resolvedLink, error) {
	network, err := v.FindNetwork(ctx, fieldpath.New("interfaces").Key(i.Name), i.Network())
	if err != nil {
		return nil, err
	}
	links := i.Links()
	found, subnets := make([]resolvedLink, len(links)), make([]engine.Subnet, len(links))
	for n, l := range links {
		if subnets[n], err = v.FindLinkSubnet(ctx, l, network); err != nil {
			return nil, err
		}
		found[n] = resolvedLink{l, subnets[n]}
	}
	return found, engine.CheckDHCPLinks(links, subnets)
}

// linkInterfaces links the interfaces of a new VM to their subnets, with their addresses. When
// MAAS commissions, it keeps nothing of compose's interfaces=. The boot interface is auto, and
// the others are only up, without an address for ever (models/node.py,
// set_initial_networking_configuration).
func (v *interfaceSteps) linkInterfaces(ctx context.Context, want engine.VMSpec, m engine.Machine) error {
	made, err := v.composedInterfaces(ctx, want.Interfaces, m)
	if err != nil {
		return err
	}
	for n, i := range want.Interfaces {
		if n >= len(made) {
			return &engine.SpecError{Field: i.Field(), Message: fmt.Sprintf("MAAS sees only %d interfaces on %s", len(made), m.Hostname), Err: engine.ErrConflict}
		}
		have := made[n]
		if i.IP.IsValid() && len(i.Addresses) == 0 && engine.HasStaticLink(have.Links, i.IP) {
			continue // without a look at the subnets
		}
		links, err := v.resolveLinks(ctx, i)
		if err != nil {
			return err
		}
		if err := v.linkMissing(ctx, m, have, i, links); err != nil {
			return err
		}
	}
	return nil
}

// linkMissing makes the missing links of an interface. The first one replaces all others, and
// moves the interface to its VLAN.
func (v *interfaceSteps) linkMissing(ctx context.Context, m engine.Machine, have engine.MachineInterface, i engine.Interface, links []resolvedLink) error {
	rest, kept := links[0].takeMatchingLink(have, have.Links, i.Mode)
	if !kept {
		if err := v.addLink(ctx, m, have, i.Name, links[0], false); err != nil {
			return err
		}
		rest = nil
	}
	for _, l := range links[1:] {
		if rest, kept = l.takeMatchingLink(have, rest, l.Mode); kept {
			continue
		}
		if err := v.addLink(ctx, m, have, i.Name, l, true); err != nil {
			return err
		}
	}
	return nil
}

// addLink makes one link.
func (v *interfaceSteps) addLink(ctx context.Context, m engine.Machine, have engine.MachineInterface, name string, l resolvedLink, beside bool) error {
	ip := ""
	if l.IP.IsValid() {
		ip = l.IP.String()
	}
	err := v.Machines.LinkInterface(ctx, m.SystemID, have.ID, engine.LinkRequest{Mode: l.Mode, Subnet: l.subnet, IP: ip, KeepOthers: beside})
	switch {
	case err == nil:
		return nil
	case ip == "":
		return fmt.Errorf("cannot link interface %s of %s to %s: %w", name, m.Hostname, l.subnet.CIDR, v.RecheckRefusal(ctx, m, err))
	case errors.Is(err, engine.ErrConflict), errors.Is(err, engine.ErrInvalid):
		return v.LinkError(ctx, l.Field.Child("ip"), l.subnet, l.IP, m, v.RecheckRefusal(ctx, m, err))
	}
	return fmt.Errorf("cannot give %s the address %s: %w", m.Hostname, ip, err)
}

// takeMatchingLink finds the link among those links of an interface that are still free, and
// returns the rest. If the spec names no mode, any link with an address matches.
func (l resolvedLink) takeMatchingLink(have engine.MachineInterface, links []engine.InterfaceLink, asked string) (rest []engine.InterfaceLink, found bool) {
	if l.Mode == engine.LinkUp {
		isOther := func(l engine.InterfaceLink) bool { return l.Mode != engine.LinkUp }
		return nil, have.VLAN == l.subnet.VLAN && !slices.ContainsFunc(links, isOther)
	}
	n := slices.IndexFunc(links, func(h engine.InterfaceLink) bool {
		if l.IP.IsValid() {
			return engine.HasStaticLink([]engine.InterfaceLink{h}, l.IP)
		}
		return h.Subnet == l.subnet.CIDR && h.Mode != engine.LinkUp && (asked == "" || h.Mode == asked)
	})
	if n < 0 {
		return links, false
	}
	return slices.Delete(slices.Clone(links), n, n+1), true
}
