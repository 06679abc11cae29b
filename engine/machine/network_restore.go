package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// isNetworkFixed tells whether MAAS refuses to change interfaces in the state of the machine.
func isNetworkFixed(m engine.Machine) bool {
	return !slices.Contains([]engine.Status{engine.StatusNew, engine.StatusReady, engine.StatusAllocated, engine.StatusBroken}, m.Status)
}

// WithoutOurNetwork is the machine as it will be after a release. A bridge on a machine that we
// installed counts as ours, because MAAS does not tell which bridges a release removes.
func WithoutOurNetwork(m engine.Machine) engine.Machine {
	notes := networkNotesIn(m.Description)
	installed := isNetworkFixed(m) && m.OwnerData[engine.KeyData] != ""
	gone := map[string]engine.ChildInterface{}
	for changed := true; changed; {
		changed = false
		for _, c := range m.Children {
			_, counted := gone[c.Name]
			onGone := slices.ContainsFunc(c.Parents, func(p string) bool { _, is := gone[p]; return is })
			if !counted && (onGone || slices.Contains(notes.made, c.Name) || installed && c.Kind == engine.ChildBridge) {
				gone[c.Name], changed = c, true
			}
		}
	}
	m.Children = slices.DeleteFunc(slices.Clone(m.Children), func(c engine.ChildInterface) bool { _, is := gone[c.Name]; return is })
	m.Bridges = slices.DeleteFunc(slices.Clone(m.Bridges), func(c engine.MachineBridge) bool { _, is := gone[c.Name]; return is })
	for n := range m.Children { // m.Children is a clone by now
		for _, c := range gone {
			if c.Kind == engine.ChildBridge && slices.Contains(c.Parents, m.Children[n].Name) {
				m.Children[n].Links = c.Links // MAAS moves them
			}
		}
	}
	m.Interfaces = slices.Clone(m.Interfaces)
	for n := range m.Interfaces {
		nic := &m.Interfaces[n]
		for _, c := range gone {
			if c.Kind == engine.ChildBridge && slices.Contains(c.Parents, nic.Name) {
				nic.Links = c.Links // MAAS moves them
			}
		}
		if i := slices.IndexFunc(notes.former, func(f formerNIC) bool { return f.name == nic.Name }); i >= 0 {
			nic.MTU, nic.Links = notes.former[i].mtu, notes.former[i].links
		}
	}
	return m
}

// RestoreNetwork removes the interfaces that we made, and restores the NICs below them. In a
// state in which MAAS changes no interfaces, it changes nothing. It may be repeated: the notes
// go last.
func (b *stepBase) RestoreNetwork(ctx context.Context, m engine.Machine) (engine.Machine, error) {
	notes := networkNotesIn(m.Description)
	if notes.isEmpty() || isNetworkFixed(m) {
		return m, nil
	}
	for _, c := range slices.Backward(m.Children) { // later ones are on top of earlier ones
		if !slices.Contains(notes.made, c.Name) {
			continue
		}
		if err := b.Metal.DeleteInterface(ctx, m.SystemID, c.ID); err != nil {
			return m, fmt.Errorf("cannot remove %s from %s: %w", c.Name, m.Hostname, b.RecheckRefusal(ctx, m, err))
		}
		b.Log.InfoContext(ctx, "removed interface", "name", m.Hostname, "system_id", m.SystemID, "interface", c.Name)
	}
	m, err := b.Machines.Machine(ctx, m.SystemID)
	if err != nil {
		return m, err
	}
	for _, f := range notes.former {
		if i := slices.IndexFunc(m.Interfaces, func(i engine.MachineInterface) bool { return i.Name == f.name }); i >= 0 {
			if err := b.restoreNIC(ctx, m, m.Interfaces[i], f); err != nil {
				return m, fmt.Errorf("cannot restore the links of %s of %s: %w", f.name, m.Hostname, b.RecheckRefusal(ctx, m, err))
			}
		}
	}
	if m, err = b.writeNetworkNotes(ctx, m, networkNotes{}); err != nil {
		return m, err
	}
	return b.Machines.Machine(ctx, m.SystemID)
}

// restoreNIC restores the former state of a NIC.
func (b *stepBase) restoreNIC(ctx context.Context, m engine.Machine, nic engine.MachineInterface, f formerNIC) error {
	if nic.MTU != f.mtu {
		if err := b.Metal.SetMTU(ctx, m.SystemID, nic.ID, f.mtu); err != nil {
			return err
		}
	}
	if formerNICOf(nic, m).noteLine() == (formerNIC{nic.Name, nic.MTU, f.gateway, f.links}).noteLine() {
		return nil
	}
	isUp := func(l engine.InterfaceLink) bool { return l.Mode == engine.LinkUp }
	if nic.VLAN == 0 || len(f.links) == 0 && !slices.ContainsFunc(nic.Links, func(l engine.InterfaceLink) bool { return !isUp(l) }) {
		return nil // MAAS itself keeps an interface of a VLAN up
	}
	if len(f.links) == 0 || slices.ContainsFunc(f.links, isUp) {
		return b.Machines.LinkInterface(ctx, m.SystemID, nic.ID, engine.LinkRequest{Mode: engine.LinkUp})
	}
	return b.restoreLinks(ctx, m, nic, f)
}

func (b *stepBase) restoreLinks(ctx context.Context, m engine.Machine, nic engine.MachineInterface, f formerNIC) error {
	for n, l := range f.links {
		link := engine.LinkRequest{Mode: l.Mode, IP: l.IP, KeepOthers: n > 0}
		if l.Subnet != "" {
			subnet, err := b.FindSubnet(ctx, fieldpath.New("interfaces").Key(nic.Name), l.Subnet)
			if errors.Is(err, engine.ErrNotFound) {
				continue // MAAS lost the subnet, and the link with it
			}
			if err != nil {
				return err
			}
			link.Subnet, link.DefaultGateway = subnet, f.gateway != "" && subnet.Gateway == f.gateway
		}
		err := b.Machines.LinkInterface(ctx, m.SystemID, nic.ID, link)
		if errors.Is(err, engine.ErrConflict) && l.Mode == engine.LinkStatic { // somebody has the address now
			b.Log.WarnContext(ctx, "a former address is taken", "name", m.Hostname, "interface", nic.Name, "address", l.IP)
			link.Mode, link.IP = engine.LinkAuto, ""
			err = b.Machines.LinkInterface(ctx, m.SystemID, nic.ID, link)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
