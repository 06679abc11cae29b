package region

import (
	"testing"
	"time"
)

// TestNamesLeftForgets: what a key waited for once, or a delete that failed left, has
// no say in what comes later.
func TestNamesLeftForgets(t *testing.T) {
	t0 := time.Unix(1_800_000_000, 0)
	n := newLeavingNames()
	if !n.CountWait("o/web-1", t0) {
		t.Error("a key does not wait for a name at all")
	}
	if !n.CountWait("o/web-1", t0.Add(time.Hour)) {
		t.Error("a key got its name, and does not wait for the next one an hour later")
	}
	if !n.CountWait("o/web-1", t0.Add(time.Hour+nameGracePeriod-NamePollInterval)) || n.CountWait("o/web-1", t0.Add(time.Hour+nameGracePeriod)) {
		t.Errorf("a key does not wait for %s", nameGracePeriod)
	}
	n.NoteLeaving("abc123", "web-1", "", t0)
	n.NoteLeaving("def456", "web-2", "", t0.Add(leaveTTL))
	if len(n.leaving) != 1 {
		t.Errorf("a delete that failed is remembered for good: %v", n.leaving)
	}
}

// TestNamesLeftGoesOn: nobody gives up while others get their names, and of those who
// wait in vain one gives up at a time, which may be enough for the others.
func TestNamesLeftGoesOn(t *testing.T) {
	t0 := time.Unix(1_800_000_000, 0)
	at := func(n int) time.Time { return t0.Add(time.Duration(n) * nameGracePeriod / 2) }
	n := newLeavingNames()
	for turn := range 10 {
		if !n.CountWait("o/a", at(turn)) || !n.CountWait("o/b", at(turn)) {
			t.Fatal("it gives up although things go on")
		}
		n.NoteLeft("abc123", "o/c", at(turn))
	}
	n.CountWait("o/a", at(10))
	n.CountWait("o/b", at(10))
	if n.CountWait("o/a", at(11)) {
		t.Error("it waits although nothing goes on")
	}
	if !n.CountWait("o/b", at(11)) {
		t.Error("it gives up although another one has just made room")
	}
	if n.CountWait("o/b", at(13)) {
		t.Error("it waits for ever")
	}
}
