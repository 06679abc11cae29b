package ledger

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// TestCloseClockPutBack: a clock was a day ahead, and dated rows. They prevent the close of a
// host for as long as a compose can take, not for a day.
func TestCloseClockPutBack(t *testing.T) {
	t.Parallel()
	const window = 130 * time.Second
	closing := engine.HostCloseRequest{HostKey: "h1", Holder: "b", Lease: time.Minute, Window: window}
	cases := map[string]struct {
		reason string
		write  func(t *testing.T, ahead *Ledger)
		busy   bool // at first
	}{
		"Row": {"MAAS may be at it still, whatever its date.", func(t *testing.T, ahead *Ledger) {
			if _, _, err := ahead.Place(t.Context(), newReservation(t, ahead, "web-1", 1, 1)); err != nil {
				t.Fatal(err)
			}
		}, true},
		"Leaving": {"The row is given up while MAAS may be composing.", func(t *testing.T, ahead *Ledger) {
			if _, _, err := ahead.Place(t.Context(), newReservation(t, ahead, "web-1", 1, 1)); err != nil {
				t.Fatal(err)
			}
			if err := ahead.MarkLeaving(t.Context(), "web-1"); err != nil {
				t.Fatal(err)
			}
		}, true},
		"Close": {"Nobody closes a host for so long.", func(t *testing.T, ahead *Ledger) {
			if err := ahead.CloseHost(t.Context(), engine.HostCloseRequest{HostKey: "h1", Holder: "a", Lease: time.Minute, Window: window}); err != nil {
				t.Fatal(err)
			}
		}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := NewMemory(nil)
				defer l.Close()
				tc.write(t, &Ledger{store: l.store, region: l.region, now: func() time.Time { return time.Now().Add(24 * time.Hour) }})
				if err := l.CloseHost(t.Context(), closing); errors.Is(err, engine.ErrBusy) != tc.busy || err != nil && !tc.busy {
					t.Errorf("%s\nAt first: %v", tc.reason, err)
				}
				time.Sleep(window - time.Second)
				if err := l.CloseHost(t.Context(), closing); errors.Is(err, engine.ErrBusy) != tc.busy || err != nil && !tc.busy {
					t.Errorf("%s\nWhile MAAS may be at it: %v", tc.reason, err)
				}
				time.Sleep(time.Second)
				if err := l.CloseHost(t.Context(), closing); err != nil {
					t.Errorf("%s\nAfter that: %v", tc.reason, err)
				}
			})
		})
	}
}

// TestCloseAheadOpens: a close that is dated ahead stops nobody, not even a compose.
func TestCloseAheadOpens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory(nil)
		defer l.Close()
		ahead := &Ledger{store: l.store, region: l.region, now: func() time.Time { return time.Now().Add(24 * time.Hour) }}
		if err := ahead.CloseHost(t.Context(), engine.HostCloseRequest{HostKey: "h1", Holder: "a", Lease: time.Minute}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.Place(t.Context(), newReservation(t, l, "web-1", 1, 1)); err != nil {
			t.Error(err)
		}
		if err := l.CloseHost(t.Context(), engine.HostCloseRequest{HostKey: "h2", Holder: "a", Lease: engine.MaxCloseLease}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.Place(t.Context(), newReservation(t, l, "web-2", 1, 2)); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("the longest close does not count: %v", err)
		}
	})
}
