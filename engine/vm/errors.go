package vm

import (
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// finishedBeforeError says that a VM was finished for this key before: whoever did that
// knows it, or lost it.
func finishedBeforeError(name string, m engine.Machine) error {
	renamed := ""
	if m.Hostname != name {
		renamed = ", called " + m.Hostname + " by now"
	}
	return &engine.SpecError{
		Field:   fieldpath.New("name"),
		Message: fmt.Sprintf("the VM %s was made for this name before and is finished (system id %s, %s%s)", name, m.SystemID, m.StatusName, renamed),
		Hint: fmt.Sprintf("If another configuration manages it, choose another name or another owner. If this one does and lost it, import it by its system id %s. "+
			"A VM that is to be replaced must go first: create_before_destroy cannot keep a name.", m.SystemID),
		Err: engine.ErrConflict,
	}
}

// takenOverError refuses to change or delete a VM that was taken over since the caller
// learned its system id.
func takenOverError(verb string, ref engine.Ref, m engine.Machine) error {
	if ref.Guessed || !m.IsMarkedByAnotherOwner(ref.Key) || m.VMMark() == ref.NewKey {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("cannot %s VM %s (%s): it is marked as made for %s by now, not for %s", verb, m.Hostname, m.SystemID, m.VMMark(), ref.Key),
		Hint: "If another configuration or cluster has taken it over, remove it from this state. " +
			"Else import it again, or take the line with that mark out of its description in MAAS.",
		Err: engine.ErrConflict,
	}
}
