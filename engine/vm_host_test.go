package engine

import (
	"fmt"
	"testing"
)

// TestInventoryUnknownHint: what makes an inventory known is what the host's error says, if it
// says it, and patience otherwise.
func TestInventoryUnknownHint(t *testing.T) {
	t.Parallel()
	const patience = "Wait until its LXD answers."
	cases := map[string]struct {
		reason string
		err    error
		want   string
	}{
		"None":      {"The LXD was not reached yet.", nil, patience},
		"Silent":    {"The LXD does not answer.", fmt.Errorf("asked: %w", ErrUnavailable), patience},
		"Untrusted": {"The LXD does not trust the pair.", &Error{Type: HostUnavailable, Hint: "Trust it."}, "Trust it."},
		"NoPair":    {"There is no pair, and the LXD was not asked.", &Refusal{Hint: "Restore it."}, "Restore it."},
		"Wrapped":   {"The same, as an error of the LXD.", &Error{Type: HostUnavailable, Err: &Refusal{Hint: "Restore it."}}, "Restore it."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (VMHost{Err: tc.err}).InventoryUnknownHint(); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
