package maas

import "testing"

// TestTooNew: the versions are compared as numbers.
func TestTooNew(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"": false, "4.0.9": false, "5.21.3": false, "6.6": false, "6.7": true, "6.10": true, "7.0": true, "10.1": true, "git": false,
	} {
		if got := isTooNewForMAAS(version); got != want {
			t.Errorf("LXD %q: got %t", version, got)
		}
	}
}
