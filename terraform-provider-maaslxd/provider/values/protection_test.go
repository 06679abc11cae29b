package values

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// TestProtectionAfterFailure: after a failed update, the state says whether our lock is on the
// object.
func TestProtectionAfterFailure(t *testing.T) {
	t.Parallel()
	null, yes, no := types.BoolNull(), types.BoolValue(true), types.BoolValue(false)
	cases := map[string]struct {
		reason      string
		plan, state types.Bool
		applied     bool
		want        bool
	}{
		"NeverLocked":    {"The update failed before it set the lock.", yes, no, false, false},
		"Locked":         {"The update failed after it set the lock.", yes, yes, false, true},
		"Others":         {"An import found a lock that somebody else had set.", null, yes, false, false},
		"OthersOff":      {"The configuration wants no lock, and the update failed before it removed the lock of somebody else.", no, yes, false, false},
		"StillLocked":    {"The update failed before it removed our lock.", no, yes, true, true},
		"LineGone":       {"The line was removed, and the update failed before it removed our lock.", null, yes, true, true},
		"Unlocked":       {"The update failed after it removed our lock.", no, no, true, false},
		"UnlockedByHand": {"Somebody removed our lock in MAAS, but the configuration still wants it.", yes, no, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := IsProtectedAfterFailure(tc.plan, tc.state, tc.applied); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
}
