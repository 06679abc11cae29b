package controllertest

import (
	"slices"
	"strings"
	"testing"
)

// WantSentences checks that no two events say the same. It also checks that no
// event only repeats its reason, or MAAS's word for a state.
func WantSentences(t *testing.T, told []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, event := range told {
		parts := strings.SplitN(event, " ", 3) // type, reason, note
		note := parts[2]
		if seen[note] {
			t.Errorf("told twice: %s", event)
		}
		seen[note] = true
		last := note[strings.LastIndex(note, ": ")+1:]
		if !strings.Contains(note, " ") || strings.Contains(note, parts[1]) ||
			slices.Contains([]string{"Ready", "Released", "Releasing", "Deployed", "Deploying", "Commissioning"}, strings.TrimSpace(last)) {
			t.Errorf("no sentence: %s", event)
		}
	}
}
