package ledgertest

import (
	"fmt"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// checkOpenings checks that a run gets its room although others keep opening the ledger. The run
// lists the hosts, and then places with that list.
func checkOpenings(t *testing.T, s Store) {
	host := candidate(1, "az1", 100)
	t.Run("BetweenListAndPlace", func(t *testing.T) {
		l := s.Open("one")
		for n := range 20 {
			r := newReservation(t, l, engine.Key(fmt.Sprint("a-", n)), host)
			for range n % 3 {
				s.Open("one")
			}
			wantServes(t, l, r.Inventory, true)
			row, fresh, err := l.Place(t.Context(), r)
			if err != nil || !fresh {
				t.Fatalf("Openings by others do not make an inventory older.\nround %d: fresh %t, %v", n, fresh, err)
			}
			wantNoError(t, l.Bind(t.Context(), withSystemID(row, fmt.Sprint("id-a-", n))))
		}
	})
	t.Run("Alternating", func(t *testing.T) {
		a := s.Open("one")
		for n := range 10 { // each run opens the ledger while the other one lists hosts
			ra := newReservation(t, a, engine.Key(fmt.Sprint("b-", n)), host)
			b := s.Open("one")
			rb := newReservation(t, b, engine.Key(fmt.Sprint("c-", n)), host)
			if _, fresh, err := a.Place(t.Context(), ra); err != nil || !fresh {
				t.Fatalf("round %d, the first one: fresh %t, %v", n, fresh, err)
			}
			a = s.Open("one")
			if _, fresh, err := b.Place(t.Context(), rb); err != nil || !fresh {
				t.Fatalf("round %d, the second one: fresh %t, %v", n, fresh, err)
			}
		}
	})
	t.Run("Floor", func(t *testing.T) {
		l := s.Open("one")
		mustPlace(t, l, "d-1", host)
		r := newReservation(t, l, "d-2", host)
		s.Open("one")
		wantNoError(t, DropRow(t.Context(), l, "d-1"))
		s.Open("one")
		wantServes(t, l, r.Inventory, false)
		_, _, err := l.Place(t.Context(), r)
		wantError(t, "A compose that was given up ends every inventory, also one of a former generation.", err, engine.ErrBusy)
	})
	t.Run("Rows", func(t *testing.T) {
		l := s.Open("one")
		full := candidate(2, "az1", 1)
		r := newReservation(t, l, "e-2", full)
		other := s.Open("one")
		wantNoError(t, other.Bind(t.Context(), withSystemID(mustPlace(t, other, "e-1", full), "id-e-1")))
		s.Open("one")
		_, _, err := l.Place(t.Context(), r)
		wantError(t, "A row that was bound after an inventory counts beside it, whoever opened the ledger since.", err, engine.ErrBusy)
	})
}

// wantServes wants AcceptsInventory to give this answer. Place decides in the same way.
func wantServes(t *testing.T, l engine.Ledger, inventory engine.Tag, want bool) {
	t.Helper()
	if serves, err := l.AcceptsInventory(t.Context(), inventory); err != nil || serves != want {
		t.Errorf("an inventory of %+v serves: %t, %v, want %t", inventory, serves, err, want)
	}
}
