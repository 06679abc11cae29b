package ledgertest

import (
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// checkLostLedger replaces the ledger by an empty one, or by a copy, while older inventories are
// still in use. They lack a VM that the new ledger does not know either. Room that neither shows
// would be given away twice.
func checkLostLedger(t *testing.T, store func(*testing.T) Store) {
	cases := map[string]struct {
		reason string
		copied bool
		binds  int // in the ledger that replaces it
	}{
		"Empty":         {"An empty ledger's generation is another.", false, 0},
		"EmptyCaughtUp": {"Its sequence says nothing about an inventory of another generation.", false, 3},
		"Copy":          {"A copy of the moment at which the inventory was read has its very sequence.", true, 0},
		"CopyCaughtUp":  {"A copy's sequence grows past that of an inventory that was read after the copy was made.", true, 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := store(t)
			if tc.copied && s.Save == nil {
				t.Skip("this store cannot be copied")
			}
			before, restore := s.Open("one"), func() { s = store(t) }
			if tc.copied {
				restore = s.Save()
			}
			one := candidate(1, "az1", 1)
			old := newReservation(t, before, "other", one)
			wantNoError(t, before.Bind(t.Context(), withSystemID(mustPlace(t, before, testKey, one), "abc123")))
			newer := old
			newer.Inventory = newReservation(t, before, "other").Inventory

			restore()
			after := s.Open("one")
			for range tc.binds {
				wantNoError(t, after.Bind(t.Context(), engine.Row{Key: "elsewhere", HostKey: "h2", SystemID: "def456"}))
				wantNoError(t, DropRow(t.Context(), after, "elsewhere"))
			}
			for _, r := range []engine.Reservation{old, newer} {
				wantServes(t, after, r.Inventory, false)
				_, _, err := after.Place(t.Context(), r)
				wantError(t, tc.reason, err, engine.ErrBusy)
			}
			mustPlace(t, after, "other", one)
		})
	}
}
