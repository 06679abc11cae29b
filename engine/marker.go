package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

const markerPrefix = "maaslxd-"

// unfinished ends the marker line of a machine that has not reached what was
// wanted yet. A later run may resume it; a finished one it may not take.
const unfinished = " (in progress)"

// marker returns the name that a key leaves on what is made for it. It fits
// everywhere: as a disk's tag at birth, as a word in the description later.
func marker(key Key) string {
	sum := sha256.Sum256([]byte(key))
	return markerPrefix + hex.EncodeToString(sum[:6])
}

// born reports whether the machine still carries its birth marker. Compose
// puts it on the root disk together with the VM itself; commissioning
// replaces the tags of disks, so a machine that carries it was never
// commissioned.
func born(m Machine, key Key) bool {
	return slices.ContainsFunc(m.Disks, func(d MachineDisk) bool {
		return slices.Contains(d.Tags, marker(key))
	})
}

// describe writes the marker line of a key into a machine's description and
// keeps what else is there.
func describe(description string, key Key, finished bool) string {
	line := marker(key) + " " + string(key)
	if !finished {
		line += unfinished
	}
	kept := slices.DeleteFunc(strings.Split(description, "\n"), func(l string) bool {
		return strings.HasPrefix(l, markerPrefix)
	})
	text := strings.TrimRight(strings.Join(kept, "\n"), "\n")
	if text == "" {
		return line
	}
	return text + "\n" + line
}

// markerLine finds the marker line in a description, without its end, and
// whether it says finished. Without one, it is empty.
func markerLine(description string) (line string, finished bool) {
	for line := range strings.SplitSeq(description, "\n") {
		if strings.HasPrefix(line, markerPrefix) {
			line, begun := strings.CutSuffix(line, unfinished)
			return line, !begun
		}
	}
	return "", false
}

// described says whose a description's marker is, and whether it says finished.
// Without one, owner is empty.
func described(description string) (owner string, finished bool) {
	line, finished := markerLine(description)
	owner, _, _ = strings.Cut(line, " ")
	return owner, finished
}

// markedByAnother reports whether the machine says that it is another key's.
func (m Machine) markedByAnother(key Key) bool {
	owner, _ := described(m.Description)
	return owner != "" && owner != marker(key)
}

// MarkedBy says whose the machine is, as it says itself; empty: it carries no
// mark.
func (m Machine) MarkedBy() Key {
	if key, ok := m.OwnerData[keyData]; ok {
		return Key(key)
	}
	key, _ := markedBy(m.Description)
	return key
}

// markedBy reads the key from the marker line of a description, empty if there
// is none.
func markedBy(description string) (key Key, finished bool) {
	line, finished := markerLine(description)
	_, name, _ := strings.Cut(line, " ")
	return Key(name), finished
}
