package ledger

import (
	"testing"
	"time"
)

// TestDifferenceOf: a clock is compared with the median of all clocks.
func TestDifferenceOf(t *testing.T) {
	t.Parallel()
	hour := time.Hour.Milliseconds()
	for name, tc := range map[string]struct {
		reason     string
		own        int64
		others     []int64
		difference int64
		certain    bool
	}{
		"Alone":       {"The leader of one node is compared with itself.", 0, nil, 0, true},
		"Two":         {"Two that agree are right.", 300, []int64{0}, 300, true},
		"TwoDiffer":   {"Nobody tells which of two is right.", hour, []int64{0}, hour, false},
		"OneBehind":   {"Two outvote one.", -hour, []int64{20, 0}, -hour, true},
		"OneAhead":    {"Also where it leads, and all others seem to be behind.", 0, []int64{-hour, -hour + 100}, hour - 100, true},
		"RightOfThem": {"The one that is wrong does not make others so.", 0, []int64{100, hour}, -100, true},
	} {
		difference, certain := clockDifference(tc.own, tc.others)
		if difference != tc.difference || certain != tc.certain {
			t.Errorf("%s: %s\ngot %d, %t, want %d, %t", name, tc.reason, difference, certain, tc.difference, tc.certain)
		}
	}
}
