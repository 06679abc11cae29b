package assembly_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/host"
	"github.com/maaslxd/maaslxd/engine/machine"
	"github.com/maaslxd/maaslxd/engine/vm"
)

// TestStatesAreTold: docs/reference/states.md shows, in the section of each kind, what the kind
// does in each phase, in the order of its table.
func TestStatesAreTold(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/states.md")
	if err != nil {
		t.Fatal(err)
	}
	for section, rows := range map[string][]engine.PhaseActs{"VM": vm.Phases(), "Machine": machine.Phases(), "Host": host.Phases()} {
		t.Run(section, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(rows, statesTable(string(page), section)); diff != "" {
				t.Errorf("docs/reference/states.md, section %s (-does +says):\n%s", section, diff)
			}
		})
	}
}

// statesTable reads the rows of the table in a section that begins with the column "in".
func statesTable(page, section string) (rows []engine.PhaseActs) {
	_, rest, _ := strings.Cut(page, fmt.Sprintf("\n## %s\n", section))
	rest, _, _ = strings.Cut(rest, "\n## ")
	_, table, _ := strings.Cut(rest, "| in | reconcile | delete |\n|---|---|---|\n")
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 3 {
			break
		}
		rows = append(rows, engine.PhaseActs{In: cells[0], Reconcile: cells[1], Delete: cells[2]})
	}
	return rows
}
