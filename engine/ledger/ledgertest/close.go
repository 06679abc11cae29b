package ledgertest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// closing closes the first host of the tests.
func closing(holder string) engine.Close {
	return engine.Close{HostKey: "h1", Holder: holder, Lease: engine.LongestClose, Window: time.Hour}
}

// closes: nothing begins on a host that is closed, and none is closed on which
// something may have begun.
func closes(t *testing.T, handle func() engine.Ledger) {
	l := handle()
	one, two := candidate(1, "az1", 8), candidate(2, "az1", 8)
	other := engine.Key("default/other")

	t.Run("Refuses", func(t *testing.T) {
		old := placed(t, l, other, one) // it has not asked MAAS yet, and not for long
		forgetAfter(t, l, key, other)
		soon := closing("a")
		soon.Window = 0
		ok(t, l.CloseHost(t.Context(), soon))
		ok(t, l.CloseHost(t.Context(), soon))

		is(t, "A row from before must not begin its compose.", l.Renew(t.Context(), old), engine.ErrBusy)
		_, _, err := l.Place(t.Context(), wish(t, l, key, one))
		is(t, "Nothing is placed on it.", err, engine.ErrBusy)
		is(t, "Another one waits for his turn.", l.CloseHost(t.Context(), closing("b")), engine.ErrBusy)
		ok(t, l.OpenHost(t.Context(), "h1", "b"))
		_, _, err = l.Place(t.Context(), wish(t, l, key, one))
		is(t, "Only its holder opens it.", err, engine.ErrBusy)

		row, _, err := l.Place(t.Context(), wish(t, l, key, one, two))
		ok(t, err)
		if row.HostKey != "h2" {
			t.Errorf("placed on %s, want the host that is open", row.HostKey)
		}
		_, _, err = l.Move(t.Context(), 2, wish(t, l, key, one))
		is(t, "Nothing moves there.", err, engine.ErrBusy)

		before := wish(t, l, "default/new", one)
		ok(t, l.OpenHost(t.Context(), "h1", "a"))
		_, _, err = l.Place(t.Context(), before)
		is(t, "What was listed while it was closed does not show what came of it.", err, engine.ErrBusy)
		forgetAfter(t, l, "default/new")
		placed(t, l, "default/new", one)
		ok(t, l.Renew(t.Context(), old))
	})
	t.Run("Composing", func(t *testing.T) {
		row := placed(t, l, key, one)
		forgetAfter(t, l, key)
		is(t, "MAAS may be at it.", l.CloseHost(t.Context(), closing("a")), engine.ErrBusy)
		own := closing("a")
		own.Except = key
		ok(t, l.CloseHost(t.Context(), own))
		ok(t, l.OpenHost(t.Context(), "h1", "a"))
		row.SystemID = "abc123"
		ok(t, l.Bind(t.Context(), row))
		ok(t, l.CloseHost(t.Context(), closing("a"))) // MAAS shows the VM
		ok(t, l.OpenHost(t.Context(), "h1", "a"))
	})
	t.Run("Over", func(t *testing.T) {
		short := closing("a")
		short.Lease = 50 * time.Millisecond
		ok(t, l.CloseHost(t.Context(), short))
		time.Sleep(100 * time.Millisecond)
		forgetAfter(t, l, key)
		for range 2 { // the first try may find that the time is over
			if _, _, err := l.Place(t.Context(), wish(t, l, key, one)); err == nil {
				return
			} else if !errors.Is(err, engine.ErrBusy) {
				t.Fatal(err)
			}
		}
		t.Error("a close whose time is over is in the way for ever")
	})
	t.Run("Ahead", func(t *testing.T) {
		ahead := closing("a clock that is a day ahead")
		ahead.Lease = 24 * time.Hour
		_ = l.CloseHost(t.Context(), ahead) // a ledger may refuse it
		ok(t, l.CloseHost(t.Context(), closing("b")))
		ok(t, l.OpenHost(t.Context(), "h1", "b"))
		_ = l.CloseHost(t.Context(), ahead)
		forgetAfter(t, l, key)
		placed(t, l, key, one) // its inventory is of after a look at the ledger
	})
	t.Run("Race", func(t *testing.T) {
		for range 20 {
			var closed, placed atomic.Bool
			var racing sync.WaitGroup
			r, a, b := wish(t, l, key, one), handle(), handle()
			racing.Go(func() { closed.Store(a.CloseHost(t.Context(), closing("a")) == nil) })
			racing.Go(func() { _, fresh, err := b.Place(t.Context(), r); placed.Store(err == nil && fresh) })
			racing.Wait()
			if closed.Load() == placed.Load() {
				t.Errorf("closed is %v and placed is %v", closed.Load(), placed.Load())
			}
			ok(t, l.OpenHost(t.Context(), "h1", "a"))
			ok(t, Forget(t.Context(), l, key))
		}
	})
}
