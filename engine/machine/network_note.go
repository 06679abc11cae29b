package machine

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
)

// The lines of a machine's description that tell a release what to restore. At a release, MAAS
// keeps bonds and VLAN interfaces, but no owner data.
const (
	madeNotePrefix   = "network by maaslxd: "     // "bond0, br0"
	formerNotePrefix = "network before maaslxd: " // "eth0, mtu 9000, gateway 10.0.0.1, auto 10.0.0.0/24"
)

// networkNotes are the notes in a description about the network that we made.
type networkNotes struct {
	made   []string // names of interfaces
	former []formerNIC
}

// formerNIC is a NIC in its former state.
type formerNIC struct {
	name    string
	mtu     int
	gateway string // of the links, if it was the machine's default gateway
	links   []engine.InterfaceLink
}

func (n networkNotes) isEmpty() bool { return len(n.made)+len(n.former) == 0 }

// formerNICOf describes a NIC in its present state.
func formerNICOf(nic engine.MachineInterface, m engine.Machine) formerNIC {
	f := formerNIC{name: nic.Name, mtu: nic.MTU}
	for _, l := range nic.Links {
		if l.Mode != "static" {
			l.IP = "" // MAAS chooses
		}
		f.links = append(f.links, l)
		if i := slices.IndexFunc(m.Gateways, func(ip string) bool { return isWithin(l.Subnet, ip) }); i >= 0 {
			f.gateway = m.Gateways[i]
		}
	}
	return f
}

// isWithin tells whether an address lies in a subnet.
func isWithin(cidr, ip string) bool {
	prefix, err := netip.ParsePrefix(cidr)
	addr, noAddr := netip.ParseAddr(ip)
	return err == nil && noAddr == nil && prefix.Contains(addr)
}

func (f formerNIC) noteLine() string {
	words := []string{f.name}
	if f.mtu != 0 {
		words = append(words, "mtu "+strconv.Itoa(f.mtu))
	}
	if f.gateway != "" {
		words = append(words, "gateway "+f.gateway)
	}
	for _, l := range f.links {
		words = append(words, strings.TrimSpace(strings.Join([]string{l.Mode, l.Subnet, l.IP}, " ")))
	}
	return formerNotePrefix + strings.Join(words, ", ")
}

// parseFormerNIC reads a line. It ignores the parts that somebody changed, as far as possible.
func parseFormerNIC(text string) formerNIC {
	words := strings.Split(text, ", ")
	f := formerNIC{name: words[0]}
	for _, word := range words[1:] {
		parts := append(strings.Fields(word), "", "", "")
		switch parts[0] {
		case "mtu":
			f.mtu, _ = strconv.Atoi(parts[1])
		case "gateway":
			f.gateway = parts[1]
		case engine.LinkAuto, engine.LinkStatic, engine.LinkDHCP, engine.LinkUp:
			f.links = append(f.links, engine.InterfaceLink{Mode: parts[0], Subnet: parts[1], IP: parts[2]})
		}
	}
	return f
}

// networkNotesIn reads the notes in a description.
func networkNotesIn(description string) (n networkNotes) {
	for line := range strings.SplitSeq(description, "\n") {
		if names, ok := strings.CutPrefix(line, madeNotePrefix); ok {
			n.made = append(n.made, strings.Split(names, ", ")...)
		}
		if text, ok := strings.CutPrefix(line, formerNotePrefix); ok {
			n.former = append(n.former, parseFormerNIC(text))
		}
	}
	return n
}

// writeInto replaces the notes in a description.
func (n networkNotes) writeInto(description string) string {
	lines := slices.DeleteFunc(strings.Split(description, "\n"), func(l string) bool {
		return strings.HasPrefix(l, madeNotePrefix) || strings.HasPrefix(l, formerNotePrefix)
	})
	text := strings.TrimRight(strings.Join(lines, "\n"), "\n")
	if len(n.made) > 0 {
		text += "\n" + madeNotePrefix + strings.Join(n.made, ", ")
	}
	for _, f := range n.former {
		text += "\n" + f.noteLine()
	}
	return strings.TrimLeft(text, "\n")
}

// NoteNetwork notes which interfaces are about to be made on the machine, and the present state
// of the NICs below them. Earlier notes stay.
func (b *stepBase) NoteNetwork(ctx context.Context, m engine.Machine, made []string, nics []engine.MachineInterface) (engine.Machine, error) {
	notes := networkNotesIn(m.Description)
	for _, name := range made {
		if !slices.Contains(notes.made, name) {
			notes.made = append(notes.made, name)
		}
	}
	for _, nic := range nics {
		if !slices.ContainsFunc(notes.former, func(f formerNIC) bool { return f.name == nic.Name }) {
			notes.former = append(notes.former, formerNICOf(nic, m))
		}
	}
	return b.writeNetworkNotes(ctx, m, notes)
}

func (b *stepBase) writeNetworkNotes(ctx context.Context, m engine.Machine, notes networkNotes) (engine.Machine, error) {
	if have := networkNotesIn(m.Description); have.writeInto("") == notes.writeInto("") {
		return m, nil
	}
	text := notes.writeInto(m.Description)
	if err := b.Machines.Update(ctx, m.SystemID, engine.MachineUpdate{Description: &text}); err != nil {
		return m, fmt.Errorf("cannot note the network of %s: %w", m.Hostname, b.RecheckRefusal(ctx, m, err))
	}
	m.Description = text
	return m, nil
}

// InterfacesMadeByUs lists the interfaces that were made on the machine for a host.
func InterfacesMadeByUs(m engine.Machine) []string { return networkNotesIn(m.Description).made }
