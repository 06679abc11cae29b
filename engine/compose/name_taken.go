package compose

import (
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// NameTakenError says that a machine that is not ours has the name.
func NameTakenError(name string, m engine.Machine, more string) error {
	return &engine.SpecError{
		Field:   fieldpath.New("name"),
		Message: fmt.Sprintf("MAAS has a machine %s already (system id %s, %s), and this resource did not make it", name, m.SystemID, m.StatusName),
		Hint:    "Delete it in MAAS, or choose another name." + more,
		Ways:    []engine.Way{engine.WayImport.ForMachine(m.SystemID)},
		Err:     engine.ErrConflict,
	}
}
