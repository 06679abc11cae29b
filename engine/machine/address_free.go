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

// fixedNote begins the lines of a machine's description that note which fixed
// addresses it got from us.
const fixedNote = "fixed by maaslxd: "

// fixedAddresses reads the notes in a description.
func fixedAddresses(description string) (ips []string) {
	for line := range strings.SplitSeq(description, "\n") {
		if ip, ok := strings.CutPrefix(line, fixedNote); ok {
			ips = append(ips, ip)
		}
	}
	return ips
}

// noteFixed writes the notes into a description, in the place of those that are
// there, and keeps what else is.
func noteFixed(description string, ips []string) string {
	lines := slices.DeleteFunc(strings.Split(description, "\n"), func(l string) bool { return strings.HasPrefix(l, fixedNote) })
	text := strings.TrimRight(strings.Join(lines, "\n"), "\n")
	slices.Sort(ips)
	for _, ip := range slices.Compact(ips) {
		text += "\n" + fixedNote + ip
	}
	return strings.TrimLeft(text, "\n")
}

// note writes the notes of a machine.
func (b *parts) note(ctx context.Context, m engine.Machine, ips []string) (engine.Machine, error) {
	text := noteFixed(m.Description, ips)
	if text == m.Description {
		return m, nil
	}
	if err := b.Machines.Update(ctx, m.SystemID, engine.MachineUpdate{Description: &text}); err != nil {
		return m, fmt.Errorf("cannot note the fixed addresses of %s: %w", m.Hostname, err)
	}
	m.Description = text
	return m, nil
}

// unfix takes the fixed addresses back that the machine got from us: MAAS
// assigns one to each of those interfaces when it is next deployed, as after
// commissioning. Where MAAS cannot change links, it changes nothing.
func (b *parts) unfix(ctx context.Context, m engine.Machine) (engine.Machine, error) {
	noted := fixedAddresses(m.Description)
	switch m.Status {
	case engine.StatusNew, engine.StatusReady, engine.StatusAllocated, engine.StatusBroken:
	default:
		return m, nil
	}
	if len(noted) == 0 {
		return m, nil
	}
	for _, at := range targetsOf(m) {
		i := slices.IndexFunc(at.links, func(l engine.InterfaceLink) bool { return l.Mode == "static" && slices.Contains(noted, l.IP) })
		if i < 0 {
			continue
		}
		subnet, err := b.FindSubnet(ctx, fieldpath.Of("interfaces").Key(at.name), at.links[i].Subnet)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			continue // MAAS lost the subnet, and the link with it
		case err != nil:
			return m, err
		}
		err = b.Machines.Link(ctx, m.SystemID, at.id, subnet, "")
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return m, fmt.Errorf("cannot take %s back from %s: %w", at.links[i].IP, m.Hostname, b.JudgeRefusal(ctx, m, err))
		}
		b.Log.InfoContext(ctx, "took a fixed address back", "name", m.Hostname, "system_id", m.SystemID, "address", at.links[i].IP)
	}
	return b.note(ctx, m, nil)
}

// targetsOf are all that can have an address on the machine.
func targetsOf(m engine.Machine) []target {
	var all []target
	for _, i := range m.Interfaces {
		all = append(all, target{i.ID, i.Name, i.Links})
	}
	for _, br := range m.Bridges {
		all = append(all, target{br.ID, br.Name, br.Links})
	}
	return all
}
