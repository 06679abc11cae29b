// Package ledgertest tests what every kind of ledger must do.
package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

// Store is a place for ledgers. It is empty at first.
type Store struct {
	// Open returns another handle on the ledger of a region. All handles see the same rows. The
	// test closes them at its end.
	Open func(region string) engine.Ledger
	// Save copies the store. restore closes all handles, and replaces the store by the copy.
	// Save is nil for a store that ends with its process.
	Save func() (restore func())
}

// Contract runs all tests of the promises of engine.Ledger, on stores of one kind.
func Contract(t *testing.T, store func(*testing.T) Store) {
	for name, test := range map[string]func(*testing.T, func() engine.Ledger){
		"Rows":         checkRows,
		"Tag":          checkTags,
		"Refusals":     checkRefusals,
		"Room":         checkShownRows,
		"Pools":        checkPools,
		"Order":        checkHostOrder,
		"Move":         checkMoves,
		"Floor":        checkFloor,
		"Lists":        checkLists,
		"Drops":        checkDrops,
		"Renews":       checkRenews,
		"Closes":       checkCloses,
		"Handles":      checkHandles,
		"OneWinner":    checkOneWinner,
		"Crowd":        checkCrowd,
		"Spread":       checkSpread,
		"CancelledCtx": checkCancelledCallers,
	} {
		t.Run(name, func(t *testing.T) {
			open := store(t).Open
			test(t, func() engine.Ledger { return open("one") })
		})
	}
	t.Run("Regions", func(t *testing.T) { checkRegions(t, store(t)) })
	t.Run("Openings", func(t *testing.T) { checkOpenings(t, store(t)) })
	t.Run("Lost", func(t *testing.T) { checkLostLedger(t, store) })
	t.Run("NeverOverCommits", func(t *testing.T) { CheckNeverOverCommits(t, store) })
}

const testKey = engine.Key("default/web-1")

// need is the need of the tests' VMs, unless a test names another one.
var need = engine.Need{Cores: 1, MemoryMiB: 1024, HugePagesMiB: 512, DiskBytes: map[string]int64{"default": 8e9}}

// candidate returns a host with room for a number of VMs with that need.
func candidate(id int, zone string, vms int64) engine.Candidate {
	return engine.Candidate{HostKey: fmt.Sprint("h", id), Zone: zone, Rank: int64(id), DefaultPool: "default", Free: engine.Need{
		Cores: vms * need.Cores, MemoryMiB: vms * need.MemoryMiB, HugePagesMiB: vms * need.HugePagesMiB, DiskBytes: map[string]int64{"default": vms * 8e9},
	}}
}

// newReservation asks for one of the hosts, with an inventory that is read now.
func newReservation(t *testing.T, l engine.Ledger, key engine.Key, hosts ...engine.Candidate) engine.Reservation {
	t.Helper()
	tag, err := l.CurrentTag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return engine.Reservation{Key: key, Name: "web-1", Need: need, Candidates: hosts, Inventory: tag}
}

// mustPlace places a VM, which must succeed.
func mustPlace(t *testing.T, l engine.Ledger, key engine.Key, hosts ...engine.Candidate) engine.Row {
	t.Helper()
	row, fresh, err := l.Place(t.Context(), newReservation(t, l, key, hosts...))
	if err != nil || !fresh {
		t.Fatalf("cannot place %s: fresh %t, %v", key, fresh, err)
	}
	return row
}

// DropRow drops the row of a key in its present form. No row is no error.
func DropRow(ctx context.Context, l engine.Ledger, key engine.Key) error {
	row, err := l.Row(ctx, key)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return l.Drop(ctx, row)
}

// dropRowsAfter drops all rows at the end of a case, so that the next case starts empty.
func dropRowsAfter(t *testing.T, l engine.Ledger, keys ...engine.Key) {
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		for _, key := range keys {
			wantNoError(t, DropRow(ctx, l, key))
		}
	})
}

func wantNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func wantError(t *testing.T, reason string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s\ngot %v, want %v", reason, err, want)
	}
}

func withSystemID(row engine.Row, systemID string) engine.Row {
	row.SystemID = systemID
	return row
}

// checkRows takes a row through its states, and sends every write twice.
func checkRows(t *testing.T, handle func() engine.Ledger) {
	free := []engine.Candidate{candidate(1, "az1", 4), candidate(2, "az2", 4)}
	first := engine.Row{Key: testKey, Name: "web-1", HostKey: "h1", Zone: "az1", Need: need, Attempt: 1, State: engine.RowPending}
	found := engine.Row{Key: testKey, Name: "web-1", HostKey: "h2", Zone: "az2", Group: "web", Need: need, SystemID: "abc123"}
	cases := map[string]struct {
		reason string
		bound  string // system id of the row at the beginning
		do     func(*testing.T, engine.Ledger) error
		err    error
		want   engine.Row // zero: no row
	}{
		"Placed": {
			reason: "A row says where.",
			do:     func(*testing.T, engine.Ledger) error { return nil },
			want:   first,
		},
		"PlacedAgain": {
			reason: "A second place changes nothing, and says that it is not the first.",
			do: func(t *testing.T, l engine.Ledger) error {
				again := newReservation(t, l, testKey, free[1])
				again.Name, again.Need.Cores = "other", 2
				if _, fresh, err := l.Place(t.Context(), again); fresh || err != nil {
					t.Errorf("fresh %t, %v", fresh, err)
				}
				return nil
			},
			want: first,
		},
		"PlacedAgainWithoutRoom": {
			reason: "A reservation stays after the hosts have filled up.",
			do: func(t *testing.T, l engine.Ledger) error {
				_, _, err := l.Place(t.Context(), newReservation(t, l, testKey, candidate(1, "az1", 0)))
				return err
			},
			want: first,
		},
		"Bound": {
			reason: "Binding notes the system id.",
			do: func(t *testing.T, l engine.Ledger) error {
				return l.Bind(t.Context(), engine.Row{Key: testKey, HostKey: "h1", SystemID: "abc123"})
			},
			want: changeRow(first, func(r *engine.Row) { r.State, r.SystemID = engine.RowBound, "abc123" }),
		},
		"BoundElsewhere": {
			reason: "Where a VM is counts more than where it was to be.",
			do: func(t *testing.T, l engine.Ledger) error {
				return l.Bind(t.Context(), engine.Row{Key: testKey, HostKey: "h2", Zone: "az2", SystemID: "abc123"})
			},
			want: changeRow(first, func(r *engine.Row) {
				r.State, r.SystemID, r.HostKey, r.Zone = engine.RowBound, "abc123", "h2", "az2"
			}),
		},
		"BoundAnew": {
			reason: "The VM that is there now counts.",
			bound:  "abc123",
			do:     func(t *testing.T, l engine.Ledger) error { return l.Bind(t.Context(), withSystemID(first, "def456")) },
			want:   changeRow(first, func(r *engine.Row) { r.State, r.SystemID = engine.RowBound, "def456" }),
		},
		"BoundIntoEmpty": {
			reason: "A VM found by its mark gets back into a ledger that lost it.",
			do: func(t *testing.T, l engine.Ledger) error {
				wantNoError(t, DropRow(t.Context(), l, testKey))
				return l.Bind(t.Context(), found)
			},
			want: changeRow(found, func(r *engine.Row) { r.State, r.Attempt = engine.RowBound, 1 }),
		},
		"BoundWithoutID": {
			reason: "Nothing can be bound to nothing.",
			do:     func(t *testing.T, l engine.Ledger) error { return l.Bind(t.Context(), first) },
			err:    engine.ErrInvalid,
			want:   first,
		},
		"Leaving": {
			reason: "A row that leaves keeps what it knows.",
			bound:  "abc123",
			do:     func(t *testing.T, l engine.Ledger) error { return l.MarkLeaving(t.Context(), testKey) },
			want:   changeRow(first, func(r *engine.Row) { r.State, r.SystemID = engine.RowLeaving, "abc123" }),
		},
		"BoundWhileLeaving": {
			reason: "A VM that is being deleted cannot come back, but who deletes it must find it.",
			do: func(t *testing.T, l engine.Ledger) error {
				wantNoError(t, l.MarkLeaving(t.Context(), testKey))
				return l.Bind(t.Context(), withSystemID(first, "abc123"))
			},
			err:  engine.ErrBusy,
			want: changeRow(first, func(r *engine.Row) { r.State, r.SystemID = engine.RowLeaving, "abc123" }),
		},
		"MovedWhileLeaving": {
			reason: "A VM that is being deleted gets no further attempt.",
			do: func(t *testing.T, l engine.Ledger) error {
				wantNoError(t, l.MarkLeaving(t.Context(), testKey))
				_, _, err := l.Move(t.Context(), 2, newReservation(t, l, testKey, free...))
				return err
			},
			err:  engine.ErrBusy,
			want: changeRow(first, func(r *engine.Row) { r.State = engine.RowLeaving }),
		},
		"Forgotten": {
			reason: "Forgetting and leaving what is not there are no errors.",
			do: func(t *testing.T, l engine.Ledger) error {
				wantNoError(t, DropRow(t.Context(), l, testKey))
				return l.MarkLeaving(t.Context(), testKey)
			},
		},
		"OthersForgotten": {
			reason: "Another key is another row.",
			do:     func(t *testing.T, l engine.Ledger) error { return DropRow(t.Context(), l, "other") },
			want:   first,
		},
	}
	l := handle()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := time.Now().Truncate(time.Millisecond)
			mustPlace(t, l, testKey, free...)
			dropRowsAfter(t, l, testKey)
			if tc.bound != "" {
				wantNoError(t, l.Bind(t.Context(), withSystemID(first, tc.bound)))
			}
			for range 2 {
				wantError(t, tc.reason, tc.do(t, l), tc.err)
			}
			got, err := l.Row(t.Context(), testKey)
			if tc.want.Key == "" {
				wantError(t, tc.reason, err, engine.ErrNotFound)
				return
			}
			wantNoError(t, err)
			if got.Since.Before(before) || got.Since.After(time.Now()) {
				t.Errorf("placed at %s, not between %s and now", got.Since, before)
			}
			if got.Age < 0 || got.Age > time.Since(before) {
				t.Errorf("it is %s old, placed %s ago", got.Age, time.Since(before))
			}
			got.Since, got.Age, got.Token = time.Time{}, 0, ""
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func changeRow(row engine.Row, change func(*engine.Row)) engine.Row {
	change(&row)
	return row
}

// checkTags checks which writes change the tag.
func checkTags(t *testing.T, handle func() engine.Ledger) {
	l := handle()
	host := candidate(1, "az1", 4)
	row := mustPlace(t, l, testKey, host)
	for _, step := range []struct {
		name string
		do   func() error
		by   int64
	}{
		{"a repeated place", func() error { _, _, err := l.Place(t.Context(), newReservation(t, l, testKey, host)); return err }, 0},
		{"a move", func() error { _, _, err := l.Move(t.Context(), 2, newReservation(t, l, testKey, host)); return err }, 1},
		{"a bind", func() error { return l.Bind(t.Context(), withSystemID(row, "abc123")) }, 1},
		{"a repeated bind", func() error { return l.Bind(t.Context(), withSystemID(row, "abc123")) }, 0},
		{"leaving", func() error { return l.MarkLeaving(t.Context(), testKey) }, 1},
		{"leaving again", func() error { return l.MarkLeaving(t.Context(), testKey) }, 0},
		{"forgetting", func() error { return DropRow(t.Context(), l, testKey) }, 1},
		{"forgetting again", func() error { return DropRow(t.Context(), l, testKey) }, 0},
		{"a bind into nothing", func() error { return l.Bind(t.Context(), withSystemID(row, "abc123")) }, 1},
	} {
		before, err := l.CurrentTag(t.Context())
		wantNoError(t, err)
		wantNoError(t, step.do())
		after, err := l.CurrentTag(t.Context())
		wantNoError(t, err)
		if after.Generation != before.Generation || after.Generation == "" || after.Sequence != before.Sequence+step.by {
			t.Errorf("%s led from %v to %v, want %d further", step.name, before, after, step.by)
		}
	}
}

// checkRefusals checks reservations that must fail and must leave no row.
func checkRefusals(t *testing.T, handle func() engine.Ledger) {
	l := handle()
	host := candidate(1, "az1", 2)
	cases := map[string]struct {
		reason string
		change func(*engine.Reservation)
		want   error
	}{
		"NoTag":      {"Without a tag, no one knows what the inventory shows.", func(r *engine.Reservation) { r.Inventory = engine.Tag{} }, engine.ErrInvalid},
		"Negative":   {"A VM that gives room back is a mistake.", func(r *engine.Reservation) { r.Need.Cores = -1 }, engine.ErrInvalid},
		"NoPages":    {"So is one that gives huge pages back.", func(r *engine.Reservation) { r.Need.HugePagesMiB = -1 }, engine.ErrInvalid},
		"NoDisk":     {"So is a disk that gives room back.", func(r *engine.Reservation) { r.Need.DiskBytes = map[string]int64{"default": -1} }, engine.ErrInvalid},
		"Generation": {"The rows of another ledger are lost, and with them what the inventory lacks.", func(r *engine.Reservation) { r.Inventory.Generation = "another" }, engine.ErrBusy},
		"Future":     {"A ledger that is older than the inventory was restored.", func(r *engine.Reservation) { r.Inventory.Sequence++ }, engine.ErrBusy},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newReservation(t, l, testKey, host)
			before := r.Inventory
			tc.change(&r)
			wantServes(t, l, r.Inventory, r.Inventory == before)
			_, _, err := l.Place(t.Context(), r)
			wantError(t, tc.reason, err, tc.want)
			_, err = l.Row(t.Context(), testKey)
			wantError(t, "A refusal leaves no row.", err, engine.ErrNotFound)
		})
	}
	huge := engine.Row{Key: testKey, Name: "web-1", HostKey: "h1", SystemID: "abc123", Need: engine.Need{Cores: 1 << 62}}
	wantError(t, "Two such rows could not be added up.", l.Bind(t.Context(), huge), engine.ErrInvalid)
	for name, hosts := range map[string][]engine.Candidate{"NoHosts": nil, "TooLarge": {candidate(1, "az1", 0)}} {
		t.Run(name, func(t *testing.T) {
			_, _, err := l.Place(t.Context(), newReservation(t, l, testKey, hosts...))
			if e, ok := errors.AsType[*engine.Error](err); !ok || e.Type != engine.InsufficientResources || errors.Is(err, engine.ErrBusy) {
				t.Errorf("No wait brings room that no reservation takes.\ngot %v", err)
			}
		})
	}
}

// checkHandles checks that all handles of a store see the same rows.
func checkHandles(t *testing.T, handle func() engine.Ledger) {
	a, b := handle(), handle()
	row := mustPlace(t, a, testKey, candidate(1, "az1", 1))
	got, err := b.Row(t.Context(), testKey)
	if err != nil || !sameRow(row, got) {
		t.Errorf("want %+v, got %+v, %v", row, got, err)
	}
	_, _, err = b.Place(t.Context(), newReservation(t, b, "other", candidate(1, "az1", 1)))
	wantError(t, "One handle's reservation takes the room of all.", err, engine.ErrBusy)
	wantNoError(t, DropRow(t.Context(), b, testKey))
	mustPlace(t, a, "other", candidate(1, "az1", 1))
}

// sameRow reports whether two reads returned the same row. Their ages differ, because they were
// read at different times.
func sameRow(a, b engine.Row) bool {
	a.Age, b.Age = 0, 0
	return cmp.Equal(a, b)
}
