package values

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// TestProtectionAfterFailure goes through wanted and existing locks after a failed update.
func TestProtectionAfterFailure(t *testing.T) {
	t.Parallel()
	null, yes, no := types.BoolNull(), types.BoolValue(true), types.BoolValue(false)
	cases := map[string]struct {
		reason      string
		plan, state types.Bool
		applied     bool
		want        bool
	}{
		"NeverLocked":    {"It failed before it was locked.", yes, no, false, false},
		"Locked":         {"It failed after it was locked.", yes, yes, false, true},
		"Others":         {"An import has seen the lock of somebody else.", null, yes, false, false},
		"OthersOff":      {"It should be taken off, but was not yet.", no, yes, false, false},
		"StillLocked":    {"Our lock was not taken off yet.", no, yes, true, true},
		"LineGone":       {"Here it was not taken off yet either.", null, yes, true, true},
		"Unlocked":       {"It was taken off.", no, no, true, false},
		"UnlockedByHand": {"Somebody has taken it off, but it is still wanted.", yes, no, true, true},
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
