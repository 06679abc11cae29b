package report

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// SaveJournal writes the journal of a step to a file in a directory, which it
// makes. Without a directory it does nothing.
func SaveJournal(dir, name string, j sim.Journal) error {
	if dir == "" {
		return nil
	}
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".json"), text, 0o600)
}
