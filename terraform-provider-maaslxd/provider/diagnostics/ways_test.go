package diagnostics

import (
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestWaysHaveWords: Terraform has words for each way out of the engine's.
func TestWaysHaveWords(t *testing.T) {
	t.Parallel()
	for _, way := range engine.AllWays {
		if ways[way] == "" {
			t.Errorf("Terraform has no words for the way %q", way)
		}
	}
	if len(ways) != len(engine.AllWays) {
		t.Errorf("Terraform knows %d ways, and the engine %d", len(ways), len(engine.AllWays))
	}
}

// TestWaysFollowTheHint: a diagnostic shows the hint and then each way, also without a hint.
func TestWaysFollowTheHint(t *testing.T) {
	t.Parallel()
	offered := []engine.Way{engine.WayImport.ForMachine("4y3h7n"), engine.WayRetry}
	const want = "If nothing else manages it, import it: terraform import ADDRESS 4y3h7n. Then apply again."
	for name, err := range map[string]error{
		"Refusal": &engine.Refusal{Message: "taken", Hint: "Rename it.", Ways: offered},
		"Error":   &engine.Error{Message: "taken", Hint: "Rename it.", Ways: offered},
		"Spec":    &engine.SpecError{Message: "taken", Hint: "Rename it.", Ways: offered},
	} {
		if got := ExplainError(err); !strings.HasSuffix(got, "\n\nRename it. "+want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := ExplainError(&engine.Refusal{Message: "taken", Ways: offered, Err: engine.ErrConflict}); !strings.HasSuffix(got, "\n\n"+want) {
		t.Errorf("without a hint: got %q", got)
	}
}
