package region

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestSentForgets: a compose whose time is over has no say, and no entry, any more.
func TestSentForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 130 * time.Second
		r := New()
		r.NoteComposeSent("old", window)
		time.Sleep(window / 2)
		r.NoteComposeSent("young", window)
		time.Sleep(window / 2)
		r.NoteComposeSent("new", window)
		for token, want := range map[string]bool{"old": false, "young": true, "new": true} {
			if _, noted := r.composesSent.Load(token); noted != want {
				t.Errorf("%s is noted: %v, want %v", token, noted, want)
			}
		}
	})
}
