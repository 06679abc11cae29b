package vm

import (
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// finishedBeforeError says that an earlier run finished a VM for this key. Another
// configuration may manage it, or this one has lost it.
func finishedBeforeError(name string, m engine.Machine) error {
	renamed := ""
	if m.Hostname != name {
		renamed = ", now named " + m.Hostname
	}
	return &engine.SpecError{
		Field:   fieldpath.New("name"),
		Message: fmt.Sprintf("the VM %s was made for this name earlier and is finished (system id %s, %s%s)", name, m.SystemID, m.StatusName, renamed),
		Ways:    []engine.Way{engine.WayImportLost.ForMachine(m.SystemID), engine.WayMovedBlock, engine.WayDeleteFirst, engine.WayOtherName},
		Err:     engine.ErrConflict,
	}
}

// takenOverError refuses to change or delete a VM that another owner took over since the caller
// learned its system id.
func takenOverError(verb string, ref engine.Ref, m engine.Machine) error {
	if ref.Guessed || !m.IsMarkedByAnotherOwner(ref.Key) || m.VMMark() == ref.NewKey {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("cannot %s VM %s (%s): it is marked as made for %s now, not for %s", verb, m.Hostname, m.SystemID, m.VMMark(), ref.Key),
		Hint:    "If no other owner has taken it over, remove the line with that mark from its description in MAAS.",
		Ways:    []engine.Way{engine.WayForget},
		Err:     engine.ErrConflict,
	}
}
