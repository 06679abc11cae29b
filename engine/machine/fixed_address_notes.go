package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// fixedNotePrefix begins the lines of a machine's description that note our fixed addresses.
const fixedNotePrefix = "fixed by maaslxd: "

// notedFixedAddresses reads the notes in a description.
func notedFixedAddresses(description string) (ips []string) {
	for line := range strings.SplitSeq(description, "\n") {
		if ip, ok := strings.CutPrefix(line, fixedNotePrefix); ok {
			ips = append(ips, ip)
		}
	}
	return ips
}

// descriptionWithFixed replaces the notes in a description, and keeps the rest.
func descriptionWithFixed(description string, ips []string) string {
	lines := slices.DeleteFunc(strings.Split(description, "\n"), func(l string) bool { return strings.HasPrefix(l, fixedNotePrefix) })
	text := strings.TrimRight(strings.Join(lines, "\n"), "\n")
	slices.Sort(ips)
	for _, ip := range slices.Compact(ips) {
		text += "\n" + fixedNotePrefix + ip
	}
	return strings.TrimLeft(text, "\n")
}

// noteFixedAddresses writes the notes of a machine.
func (b *stepBase) noteFixedAddresses(ctx context.Context, m engine.Machine, ips []string) (engine.Machine, error) {
	text := descriptionWithFixed(m.Description, ips)
	if text == m.Description {
		return m, nil
	}
	if err := b.Machines.Update(ctx, m.SystemID, engine.MachineUpdate{Description: &text}); err != nil {
		return m, fmt.Errorf("cannot note the fixed addresses of %s: %w", m.Hostname, err)
	}
	m.Description = text
	return m, nil
}

// removeFixedAddresses takes back the fixed addresses that the machine got from us. MAAS then
// assigns one to each of those interfaces at the next deployment, as after commissioning. In a
// state where MAAS cannot change links, it changes nothing.
func (b *stepBase) removeFixedAddresses(ctx context.Context, m engine.Machine) (engine.Machine, error) {
	noted := notedFixedAddresses(m.Description)
	switch m.Status {
	case engine.StatusNew, engine.StatusReady, engine.StatusAllocated, engine.StatusBroken:
	default:
		return m, nil
	}
	if len(noted) == 0 {
		return m, nil
	}
	for _, at := range allTargets(m) {
		i := slices.IndexFunc(at.links, func(l engine.InterfaceLink) bool { return l.Mode == "static" && slices.Contains(noted, l.IP) })
		if i < 0 {
			continue
		}
		subnet, err := b.FindSubnet(ctx, fieldpath.New("interfaces").Key(at.name), at.links[i].Subnet)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			continue // MAAS lost the subnet, and the link with it
		case err != nil:
			return m, err
		}
		err = b.Machines.SetInterfaceAddress(ctx, m.SystemID, at.id, subnet, "")
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return m, fmt.Errorf("cannot remove the address %s from %s: %w", at.links[i].IP, m.Hostname, b.RecheckRefusal(ctx, m, err))
		}
		b.Log.InfoContext(ctx, "removed a fixed address", "name", m.Hostname, "system_id", m.SystemID, "address", at.links[i].IP)
	}
	return b.noteFixedAddresses(ctx, m, nil)
}

// allTargets are all interfaces and bridges of the machine that can have an address.
func allTargets(m engine.Machine) []addressTarget {
	var all []addressTarget
	for _, i := range m.Interfaces {
		all = append(all, addressTarget{i.ID, i.Name, i.Links})
	}
	for _, br := range m.Bridges {
		all = append(all, addressTarget{br.ID, br.Name, br.Links})
	}
	return all
}
