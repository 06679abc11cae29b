package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MarkerPrefix begins every marker, and the names of our owner data.
const MarkerPrefix = "maaslxd-"

// unfinishedSuffix ends the marker line of an unfinished machine. A later run may resume such a
// machine; it may not take a finished one.
const unfinishedSuffix = " (in progress)"

// MarkerOf returns the marker of a key. It fits everywhere: as a disk's tag at birth, as a word
// in the description later.
func MarkerOf(key Key) string {
	sum := sha256.Sum256([]byte(key))
	return MarkerPrefix + hex.EncodeToString(sum[:6])
}

// CarriesBirthMark reports whether the machine still carries its birth mark, and so was never
// commissioned. Compose puts the marker on the root disk together with the VM itself.
// Commissioning replaces the tags of disks.
func CarriesBirthMark(m Machine, key Key) bool {
	return slices.ContainsFunc(m.Disks, func(d MachineDisk) bool {
		return slices.Contains(d.Tags, MarkerOf(key))
	})
}

// DescriptionWithMark writes the marker line of a key into a machine's description and keeps
// the rest.
func DescriptionWithMark(description string, key Key, finished bool) string {
	line := MarkerOf(key) + " " + string(key)
	if !finished {
		line += unfinishedSuffix
	}
	kept := slices.DeleteFunc(strings.Split(description, "\n"), func(l string) bool {
		return strings.HasPrefix(l, MarkerPrefix)
	})
	text := strings.TrimRight(strings.Join(kept, "\n"), "\n")
	if text == "" {
		return line
	}
	return text + "\n" + line
}

// ourLinePrefixes begin our lines in a description. They hold the mark, and notes such as the
// LXD name of a renamed VM or the time of a failed deployment. Others hold the fixed addresses
// and the network of a machine.
var ourLinePrefixes = []string{MarkerPrefix, "maaslxd: ", "fixed by maaslxd: ", "network by maaslxd: ", "network before maaslxd: "}

func isOurLine(line string) bool {
	return slices.ContainsFunc(ourLinePrefixes, func(prefix string) bool { return strings.HasPrefix(line, prefix) })
}

// DescriptionText is the text of people in a machine's description: all lines but ours. It has
// no white space at its ends, which MAAS removes (a form's CharField).
func DescriptionText(description string) string {
	return strings.TrimSpace(strings.Join(slices.DeleteFunc(strings.Split(description, "\n"), isOurLine), "\n"))
}

// DescriptionWithText replaces the text of people in a machine's description, and keeps our
// lines.
func DescriptionWithText(description, text string) string {
	if text = strings.TrimSpace(text); text == DescriptionText(description) {
		return description
	}
	ours := slices.DeleteFunc(strings.Split(description, "\n"), func(l string) bool { return !isOurLine(l) })
	if text != "" {
		ours = append([]string{text}, ours...)
	}
	return strings.Join(ours, "\n")
}

// maxDescription, in characters, is far more than MAAS's pages show.
const maxDescription = 4096

// DescriptionProblem says why a machine cannot have the description; empty: it can.
func DescriptionProblem(text string) string {
	switch {
	case utf8.RuneCountInString(text) > maxDescription:
		return fmt.Sprintf("A description has at most %d characters, and this one has %d.", maxDescription, utf8.RuneCountInString(text))
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		return "A description has no control characters but line feeds and tabs."
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		for word := range strings.FieldsSeq(line) {
			if isOurData(word) {
				return fmt.Sprintf("Words that begin with %q are marks of this program: %q. Use another word.", MarkerPrefix, word)
			}
		}
		if isOurLine(line) {
			return fmt.Sprintf("A line that begins as %q does is a note of this program. Begin the line with another text.", line[:min(len(line), 40)])
		}
	}
	return ""
}

// installationNote begins the line of a description that names the installation of a VM.
const installationNote = "maaslxd: installation "

// InstallationIn is the name of the installation that a description notes
// (VMSpec.Installation); empty: it notes none.
func InstallationIn(description string) string {
	for line := range strings.SplitSeq(description, "\n") {
		if name, found := strings.CutPrefix(line, installationNote); found {
			return name
		}
	}
	return ""
}

// DescriptionWithInstallation replaces the installation name in a machine's description and
// keeps the rest. An empty name removes the note.
func DescriptionWithInstallation(description, name string) string {
	if InstallationIn(description) == name {
		return description
	}
	lines := slices.DeleteFunc(strings.Split(description, "\n"), func(l string) bool {
		return strings.HasPrefix(l, installationNote)
	})
	if name != "" {
		lines = append(lines, installationNote+name)
	}
	return strings.Join(lines, "\n")
}

// finishedOnceNote is a line of a description. It stays when the mark of a finished VM says "in
// progress" again because something is installed anew.
const finishedOnceNote = "maaslxd: finished once"

// WasFinishedOnce tells whether a VM once reached the wanted state, whatever happens to it now.
// It may have run since. So it is neither made elsewhere nor treated as the rest of a create.
func WasFinishedOnce(m Machine) bool {
	_, finished := MarkerIn(m.Description)
	return finished || slices.Contains(strings.Split(m.Description, "\n"), finishedOnceNote)
}

// DescriptionWithFinishedOnce notes in a machine's description that the VM once reached the
// wanted state, and keeps the rest.
func DescriptionWithFinishedOnce(description string) string {
	if slices.Contains(strings.Split(description, "\n"), finishedOnceNote) {
		return description
	}
	return strings.TrimPrefix(description+"\n"+finishedOnceNote, "\n")
}

// markerLine finds the marker line in a description, without its end, and whether it says
// finished. Without a marker it is empty.
func markerLine(description string) (line string, finished bool) {
	for line := range strings.SplitSeq(description, "\n") {
		if strings.HasPrefix(line, MarkerPrefix) {
			line, begun := strings.CutSuffix(line, unfinishedSuffix)
			return line, !begun
		}
	}
	return "", false
}

// MarkerIn returns the marker of a description, and whether it says finished. Without a marker,
// owner is empty.
func MarkerIn(description string) (owner string, finished bool) {
	line, finished := markerLine(description)
	owner, _, _ = strings.Cut(line, " ")
	return owner, finished
}

// IsMarkedByAnother reports whether the machine carries the mark of another key.
func (m Machine) IsMarkedByAnother(key Key) bool {
	owner, _ := MarkerIn(m.Description)
	return owner != "" && owner != MarkerOf(key)
}

// MarkedBy is the key in the machine's own mark; empty: it carries no mark.
func (m Machine) MarkedBy() Key {
	if key, ok := m.OwnerData[KeyData]; ok {
		return Key(key)
	}
	key, _ := KeyIn(m.Description)
	return key
}

// MarksVMHost tells whether the machine of a VM host carries the mark of this VM host. The machine
// may have more VM hosts in MAAS, one for each project, and the mark is that of one of them.
func (m Machine) MarksVMHost(h VMHost) bool {
	noted := m.OwnerData[VMHostData]
	return m.OwnerData[KeyData] != "" && (noted == "" || !h.MAASMakesVMs() || noted == strconv.Itoa(h.ID))
}

// KeyIn reads the key from the marker line of a description, empty if there is none.
func KeyIn(description string) (key Key, finished bool) {
	line, finished := markerLine(description)
	_, name, _ := strings.Cut(line, " ")
	return Key(name), finished
}

// Owner data that mark a machine as ours. MAAS clears them when the machine is released, so no
// mark outlives the allocation.
const (
	KeyData = "maaslxd-key"
	// RestartData marks a VM that was turned off for a change of its size, its options or its
	// devices.
	RestartData = "maaslxd-restart"
	StateData   = "maaslxd-state"
)

// isOurData tells which owner data are ours.
func isOurData(name string) bool { return strings.HasPrefix(name, MarkerPrefix) }

// The values of StateData.
const (
	StateInProgress = "in progress"
	StateFinished   = "finished"
	// StateAdopting and StateAdopted mean that someone else installed the machine. So it is
	// never released, finished or not.
	StateAdopting = "adopting"
	StateAdopted  = "adopted"
)

// IsSameOwner tells whether a VM carries a mark of the key's owner.
func IsSameOwner(m Machine, key Key) bool {
	of, _, ok := strings.Cut(string(key), "/")
	has, _, marked := strings.Cut(string(m.VMMark()), "/")
	return ok && marked && of == has
}

// IsMarkedByAnotherOwner tells whether a VM that was made for a key now carries the mark of
// another owner. A VM without a mark is still the key's.
func (m Machine) IsMarkedByAnotherOwner(key Key) bool {
	marked := m.VMMark()
	return marked != "" && marked != key && !IsSameOwner(m, key)
}

// VMMark is the key in the mark of the VM. Its owner data may at the same time name the key of
// a VM host, whose LXD runs in the VM.
func (m Machine) VMMark() Key {
	if key, _ := KeyIn(m.Description); key != "" {
		return key
	}
	return m.MarkedBy()
}

// MarkRemoval is the owner data that removes our marks from the machine.
func (m Machine) MarkRemoval() map[string]string {
	none := map[string]string{}
	for name := range m.OwnerData {
		if isOurData(name) {
			none[name] = ""
		}
	}
	return none
}

// ChangeMark changes the mark of a Deployed machine from one key to another. An empty from
// means a VM without a mark. It writes nothing if the mark is to already, and returns
// ErrConflict if the mark is neither.
//
// A bridge needs it for objects that it takes over: from a version that marked otherwise, from
// another management cluster, from another provider.
func (c Config) ChangeMark(ctx context.Context, systemID string, from, to Key) error {
	m, err := c.Machines.Machine(ctx, systemID)
	if err != nil {
		return err
	}
	now := m.MarkedBy()
	switch {
	case now == to:
		return nil
	case now != from || m.Status.Phase() != PhaseDeployed:
		return &Refusal{
			Message: fmt.Sprintf("cannot take over machine %s (%s): it is %s and carries the mark of %q", m.Hostname, systemID, m.StatusName, now),
			Hint:    "Name a Deployed machine with the expected mark.", Err: ErrConflict,
		}
	case m.OwnerData[KeyData] != "":
		err = c.Metal.Annotate(ctx, systemID, map[string]string{KeyData: string(to)})
	default:
		description := DescriptionWithMark(m.Description, to, true)
		err = c.Machines.Update(ctx, systemID, MachineUpdate{Description: &description})
	}
	if err != nil {
		return fmt.Errorf("cannot mark %s as made for %s: %w", m.Hostname, to, AsSpecErrors(err))
	}
	return c.forgetRow(ctx, from)
}

// forgetRow drops the ledger's row of a key that nobody uses any more.
func (c Config) forgetRow(ctx context.Context, key Key) error {
	row, err := c.Ledger.Row(ctx, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("cannot read the ledger: %w", err)
	}
	return c.Ledger.Drop(ctx, row)
}
