package ledger

import (
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestResentCalls sends calls again whose replies were lost. Each time the ledger tells the call that
// made the row so, and no other call.
func TestResentCalls(t *testing.T) {
	t.Parallel()
	l := NewMemory(nil)
	defer l.Close()
	r := newReservation(t, l, "web-1", 4, 1, 2)
	want := func(reason string, fresh bool, call func() (engine.Row, bool, error)) {
		t.Helper()
		for range 2 {
			if _, got, err := call(); err != nil || got != fresh {
				t.Errorf("%s\nfresh %t, want %t, %v", reason, got, fresh, err)
			}
		}
	}
	place := func(token string) func() (engine.Row, bool, error) {
		return func() (engine.Row, bool, error) { return l.PlaceWithToken(t.Context(), token, r) }
	}
	move := func(token string) func() (engine.Row, bool, error) {
		return func() (engine.Row, bool, error) { return l.MoveWithToken(t.Context(), token, 2, r) }
	}
	want("It made the row.", true, place("first"))
	want("Another call finds the row.", false, place("second"))
	want("It moved the row.", true, move("third"))
	want("Another one finds it moved.", false, move("fourth"))
	want("The row is another call's by now.", false, place("first"))
}

// TestTakeKeys moves the rows of one owner from another name of a MAAS, and leaves the rows of
// other owners.
func TestTakeKeys(t *testing.T) {
	t.Parallel()
	all := NewMemory(nil)
	defer all.Close()
	from, to := all.Region("http://maas.example"), all.Region("mark")
	for _, key := range []engine.Key{"ci/web-1", "ci%/web-1", "other/web-1"} {
		if err := from.Bind(t.Context(), engine.Row{Key: key, HostKey: "h1", SystemID: "abc123"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := to.TakeOverKeys(t.Context(), "http://maas.example", "ci/"); err != nil {
			t.Fatal(err)
		}
	}
	for l, want := range map[*Ledger]int{from: 2, to: 1} {
		if rows, err := l.Rows(t.Context()); err != nil || len(rows) != want {
			t.Errorf("%d rows in %s, want %d, %v", len(rows), l.region, want, err)
		}
	}
}
