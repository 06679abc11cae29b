package host

import (
	"testing"
	"time"
)

// TestProbeAfter: a first boot is waited for little longer than it takes, with one look more
// than pauses take that double.
func TestProbeAfter(t *testing.T) {
	t.Parallel()
	doubling := func(looks int) time.Duration { return min(10*time.Second, time.Second<<min(max(0, looks-2)/2, 4)) }
	looksUntil := func(end time.Duration, pause func(int) time.Duration) (looks int, at time.Duration) {
		for at < end {
			looks++
			at += pause(looks)
		}
		return looks, at
	}
	for end := time.Second; end <= 5*time.Minute; end += 100 * time.Millisecond {
		looks, at := looksUntil(end, probePause)
		most, _ := looksUntil(end, doubling)
		if looks > most+1 {
			t.Errorf("a boot of %v is looked at %d times, want at most %d", end, looks, most+1)
		}
		if end >= 11*time.Second && end <= 23*time.Second && at > end*4/3 || at > end+probeInterval {
			t.Errorf("a boot of %v is seen after %v", end, at)
		}
	}
}
