package compose

import (
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// NameTakenError says that a machine that is not ours has the name. A machine with a mark of this
// program is somebody's: nobody is told to delete it.
func NameTakenError(name string, m engine.Machine, more string) error {
	why, hint, ways := ", and this resource did not make it", "Choose another name. Or delete the machine in MAAS, if nobody needs it.", []engine.Way{engine.WayImport.ForMachine(m.SystemID)}
	if made := m.MarkedBy(); made != "" {
		why, hint, ways = fmt.Sprintf("; it was made for %q", made), "Choose another name.", []engine.Way{engine.WayImportFormer.ForMachine(m.SystemID)}
	}
	return &engine.SpecError{
		Field:   fieldpath.New("name"),
		Message: fmt.Sprintf("MAAS has a machine %s already (system id %s, %s)", name, m.SystemID, m.StatusName) + why,
		Hint:    hint + more,
		Ways:    ways,
		Err:     engine.ErrConflict,
	}
}
