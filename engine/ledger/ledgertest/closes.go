package ledgertest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// newClose closes the first host of the tests.
func newClose(holder string) engine.HostCloseRequest {
	return engine.HostCloseRequest{HostKey: "h1", Holder: holder, Lease: engine.MaxCloseLease, Window: time.Hour}
}

// checkCloses checks that nothing begins on a closed host, and that no host is closed while a
// compose may run there.
func checkCloses(t *testing.T, handle func() engine.Ledger) {
	l := handle()
	one, two := candidate(1, "az1", 8), candidate(2, "az1", 8)
	other := engine.Key("default/other")

	t.Run("Refuses", func(t *testing.T) {
		old := mustPlace(t, l, other, one) // it has not asked MAAS, and counts only within the window of a close
		dropRowsAfter(t, l, testKey, other)
		soon := newClose("a")
		soon.Window = 0
		wantNoError(t, l.CloseHost(t.Context(), soon))
		wantNoError(t, l.CloseHost(t.Context(), soon))

		wantError(t, "A row from before must not begin its compose.", l.Renew(t.Context(), old), engine.ErrBusy)
		_, _, err := l.Place(t.Context(), newReservation(t, l, testKey, one))
		wantError(t, "Nothing is placed on it.", err, engine.ErrBusy)
		wantError(t, "Another one waits for his turn.", l.CloseHost(t.Context(), newClose("b")), engine.ErrBusy)
		wantNoError(t, l.OpenHost(t.Context(), "h1", "b"))
		_, _, err = l.Place(t.Context(), newReservation(t, l, testKey, one))
		wantError(t, "Only its holder opens it.", err, engine.ErrBusy)

		row, _, err := l.Place(t.Context(), newReservation(t, l, testKey, one, two))
		wantNoError(t, err)
		if row.HostKey != "h2" {
			t.Errorf("placed on %s, want the host that is open", row.HostKey)
		}
		_, _, err = l.Move(t.Context(), 2, newReservation(t, l, testKey, one))
		wantError(t, "Nothing moves there.", err, engine.ErrBusy)

		before := newReservation(t, l, "default/new", one)
		wantNoError(t, l.OpenHost(t.Context(), "h1", "a"))
		_, _, err = l.Place(t.Context(), before)
		wantError(t, "An inventory from before the host was opened does not show the result.", err, engine.ErrBusy)
		dropRowsAfter(t, l, "default/new")
		mustPlace(t, l, "default/new", one)
		wantNoError(t, l.Renew(t.Context(), old))
	})
	t.Run("Composing", func(t *testing.T) {
		row := mustPlace(t, l, testKey, one)
		dropRowsAfter(t, l, testKey)
		wantError(t, "MAAS may be at it.", l.CloseHost(t.Context(), newClose("a")), engine.ErrBusy)
		own := newClose("a")
		own.Except = testKey
		wantNoError(t, l.CloseHost(t.Context(), own))
		wantNoError(t, l.OpenHost(t.Context(), "h1", "a"))
		row.SystemID = "abc123"
		wantNoError(t, l.Bind(t.Context(), row))
		wantNoError(t, l.CloseHost(t.Context(), newClose("a"))) // MAAS shows the VM
		wantNoError(t, l.OpenHost(t.Context(), "h1", "a"))
	})
	t.Run("Over", func(t *testing.T) {
		short := newClose("a")
		short.Lease = 50 * time.Millisecond
		wantNoError(t, l.CloseHost(t.Context(), short))
		time.Sleep(100 * time.Millisecond)
		dropRowsAfter(t, l, testKey)
		for range 2 { // the first try may remove the ended close
			if _, _, err := l.Place(t.Context(), newReservation(t, l, testKey, one)); err == nil {
				return
			} else if !errors.Is(err, engine.ErrBusy) {
				t.Fatal(err)
			}
		}
		t.Error("a close whose time is over is in the way for ever")
	})
	t.Run("Ahead", func(t *testing.T) {
		ahead := newClose("a clock that is a day ahead")
		ahead.Lease = 24 * time.Hour
		_ = l.CloseHost(t.Context(), ahead) // a ledger may refuse it
		wantNoError(t, l.CloseHost(t.Context(), newClose("b")))
		wantNoError(t, l.OpenHost(t.Context(), "h1", "b"))
		_ = l.CloseHost(t.Context(), ahead)
		dropRowsAfter(t, l, testKey)
		mustPlace(t, l, testKey, one) // its inventory was read after the ledger removed the close
	})
	t.Run("Race", func(t *testing.T) {
		for range 20 {
			var closed, placed atomic.Bool
			var racing sync.WaitGroup
			r, a, b := newReservation(t, l, testKey, one), handle(), handle()
			racing.Go(func() { closed.Store(a.CloseHost(t.Context(), newClose("a")) == nil) })
			racing.Go(func() { _, fresh, err := b.Place(t.Context(), r); placed.Store(err == nil && fresh) })
			racing.Wait()
			if closed.Load() == placed.Load() {
				t.Errorf("closed is %v and placed is %v", closed.Load(), placed.Load())
			}
			wantNoError(t, l.OpenHost(t.Context(), "h1", "a"))
			wantNoError(t, DropRow(t.Context(), l, testKey))
		}
	})
}
