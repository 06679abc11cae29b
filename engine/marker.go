package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MarkerPrefix begins every marker, and the names of our owner data.
const MarkerPrefix = "maaslxd-"

// unfinishedSuffix ends the marker line of a machine that has not reached what was
// wanted yet. A later run may resume it; a finished one it may not take.
const unfinishedSuffix = " (in progress)"

// MarkerOf returns the name that a key leaves on what is made for it. It fits
// everywhere: as a disk's tag at birth, as a word in the description later.
func MarkerOf(key Key) string {
	sum := sha256.Sum256([]byte(key))
	return MarkerPrefix + hex.EncodeToString(sum[:6])
}

// CarriesBirthMark reports whether the machine still carries its birth marker. Compose
// puts it on the root disk together with the VM itself; commissioning
// replaces the tags of disks, so a machine that carries it was never
// commissioned.
func CarriesBirthMark(m Machine, key Key) bool {
	return slices.ContainsFunc(m.Disks, func(d MachineDisk) bool {
		return slices.Contains(d.Tags, MarkerOf(key))
	})
}

// DescriptionWithMark writes the marker line of a key into a machine's description and
// keeps what else is there.
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

// ourLinePrefixes begin the lines of a description that are ours: the mark, what LXD calls a VM
// that was renamed or when a deployment failed, and the fixed addresses and the network of a
// machine.
var ourLinePrefixes = []string{MarkerPrefix, "maaslxd: ", "fixed by maaslxd: ", "network by maaslxd: ", "network before maaslxd: "}

func isOurLine(line string) bool {
	return slices.ContainsFunc(ourLinePrefixes, func(prefix string) bool { return strings.HasPrefix(line, prefix) })
}

// DescriptionText is what people say in a machine's description: all but our lines,
// without white space at its ends, which MAAS removes (a form's CharField).
func DescriptionText(description string) string {
	return strings.TrimSpace(strings.Join(slices.DeleteFunc(strings.Split(description, "\n"), isOurLine), "\n"))
}

// DescriptionWithText puts a text into a machine's description in the place of what people
// said there, and keeps our lines.
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

// DescriptionProblem says why a text cannot be the description of a machine; empty: it can.
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
				return fmt.Sprintf("Words that begin with %q are marks of this program: %q. Write it otherwise.", MarkerPrefix, word)
			}
		}
		if isOurLine(line) {
			return fmt.Sprintf("A line that begins as %q does is a note of this program. Write it otherwise.", line[:min(len(line), 40)])
		}
	}
	return ""
}

// installationNote begins the line of a description that names the installation of a VM.
const installationNote = "maaslxd: installation "

// InstallationIn is the name of the installation that a description notes (VMSpec.Installation);
// empty: it notes none.
func InstallationIn(description string) string {
	for line := range strings.SplitSeq(description, "\n") {
		if name, found := strings.CutPrefix(line, installationNote); found {
			return name
		}
	}
	return ""
}

// DescriptionWithInstallation notes the name of an installation in a machine's description in
// the place of the former one, and keeps what else is there. An empty name removes the note.
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

// finishedOnceNote is the line of a description that outlives the mark of a finished VM while
// something is installed on it anew.
const finishedOnceNote = "maaslxd: finished once"

// WasFinishedOnce tells whether a VM once reached what was wanted, whatever is made of it now. It
// may have run since, so it is neither made elsewhere nor taken for one that a create left.
func WasFinishedOnce(m Machine) bool {
	_, finished := MarkerIn(m.Description)
	return finished || slices.Contains(strings.Split(m.Description, "\n"), finishedOnceNote)
}

// DescriptionWithFinishedOnce notes in a machine's description that the VM once reached what was
// wanted, and keeps what else is there.
func DescriptionWithFinishedOnce(description string) string {
	if slices.Contains(strings.Split(description, "\n"), finishedOnceNote) {
		return description
	}
	return strings.TrimPrefix(description+"\n"+finishedOnceNote, "\n")
}

// markerLine finds the marker line in a description, without its end, and
// whether it says finished. Without one, it is empty.
func markerLine(description string) (line string, finished bool) {
	for line := range strings.SplitSeq(description, "\n") {
		if strings.HasPrefix(line, MarkerPrefix) {
			line, begun := strings.CutSuffix(line, unfinishedSuffix)
			return line, !begun
		}
	}
	return "", false
}

// MarkerIn says whose a description's marker is, and whether it says finished.
// Without one, owner is empty.
func MarkerIn(description string) (owner string, finished bool) {
	line, finished := markerLine(description)
	owner, _, _ = strings.Cut(line, " ")
	return owner, finished
}

// IsMarkedByAnother reports whether the machine says that it is another key's.
func (m Machine) IsMarkedByAnother(key Key) bool {
	owner, _ := MarkerIn(m.Description)
	return owner != "" && owner != MarkerOf(key)
}

// MarkedBy says whose the machine is, as it says itself; empty: it carries no
// mark.
func (m Machine) MarkedBy() Key {
	if key, ok := m.OwnerData[KeyData]; ok {
		return Key(key)
	}
	key, _ := KeyIn(m.Description)
	return key
}

// KeyIn reads the key from the marker line of a description, empty if there
// is none.
func KeyIn(description string) (key Key, finished bool) {
	line, finished := markerLine(description)
	_, name, _ := strings.Cut(line, " ")
	return Key(name), finished
}

// Owner data by which a machine tells whose it is. MAAS clears them when the
// machine is released, so that nothing of ours outlives the allocation.
const (
	KeyData = "maaslxd-key"
	// RestartData is on a VM that was turned off for a change of its size, its options or its devices.
	RestartData = "maaslxd-restart"
	StateData   = "maaslxd-state"
)

// isOurData tells which owner data are ours.
func isOurData(name string) bool { return strings.HasPrefix(name, MarkerPrefix) }

// The values of StateData.
const (
	StateInProgress = "in progress"
	StateFinished   = "finished"
	// StateAdopting and StateAdopted: installed by someone else, and so never
	// released, finished or not.
	StateAdopting = "adopting"
	StateAdopted  = "adopted"
)

// IsSameOwner tells whether a VM carries the mark of the owner that a key is of.
func IsSameOwner(m Machine, key Key) bool {
	of, _, ok := strings.Cut(string(key), "/")
	has, _, marked := strings.Cut(string(m.VMMark()), "/")
	return ok && marked && of == has
}

// IsMarkedByAnotherOwner tells whether a VM that was made for a key carries the mark of another
// owner by now. One without a mark is still the key's.
func (m Machine) IsMarkedByAnotherOwner(key Key) bool {
	marked := m.VMMark()
	return marked != "" && marked != key && !IsSameOwner(m, key)
}

// VMMark says whose VM the machine is. Its owner data may say at the same time whose
// VM host it is, of an LXD that runs in the VM.
func (m Machine) VMMark() Key {
	if key, _ := KeyIn(m.Description); key != "" {
		return key
	}
	return m.MarkedBy()
}

// MarkRemoval are the owner data that take our marks off the machine.
func (m Machine) MarkRemoval() map[string]string {
	none := map[string]string{}
	for name := range m.OwnerData {
		if isOurData(name) {
			none[name] = ""
		}
	}
	return none
}

// ChangeMark makes a machine that is Deployed another key's: its mark is from, and to
// afterwards. An empty from is of a VM that carries no mark. It writes nothing where
// the mark is to already, and is ErrConflict where it is neither.
//
// A bridge needs it for what it takes over: from a version that marked otherwise,
// from another management cluster, from another provider.
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
			Message: fmt.Sprintf("will not take over machine %s (%s), which is %s and marked as made for %q", m.Hostname, systemID, m.StatusName, now),
			Hint:    "Name a machine that may be taken over.", Err: ErrConflict,
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

// forgetRow drops what the ledger has of a key that nothing is made by any more.
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
