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

// checkLists checks which rows are listed, with all their fields.
func checkLists(t *testing.T, handle func() engine.Ledger) {
	l := handle()
	for name, list := range map[string]func(context.Context) ([]engine.Row, error){"Pending": l.PendingRows, "Rows": l.Rows} {
		if rows, err := list(t.Context()); err != nil || len(rows) != 0 {
			t.Errorf("%s of an empty ledger: %+v, %v", name, rows, err)
		}
	}
	for i := range 5 {
		mustPlace(t, l, engine.Key(fmt.Sprintf("vm-%d", 4-i)), candidate(1, "az1", 5))
	}
	for _, k := range []engine.Key{"vm-1", "vm-4"} {
		wantNoError(t, l.Bind(t.Context(), engine.Row{Key: k, HostKey: "h1", SystemID: "abc-" + string(k)}))
	}
	wantNoError(t, l.MarkLeaving(t.Context(), "vm-1"))
	wantNoError(t, l.MarkLeaving(t.Context(), "vm-2"))
	for name, tc := range map[string]struct {
		reason string
		list   func(context.Context) ([]engine.Row, error)
		want   []engine.Key
	}{
		"Pending": {"vm-2 is being deleted, but MAAS may still be composing it.", l.PendingRows, []engine.Key{"vm-0", "vm-2", "vm-3"}},
		"Rows":    {"Bound and leaving rows are listed, too.", l.Rows, []engine.Key{"vm-0", "vm-1", "vm-2", "vm-3", "vm-4"}},
	} {
		list, err := tc.list(t.Context())
		wantNoError(t, err)
		var got []engine.Key
		for _, r := range list {
			got = append(got, r.Key)
			if want, err := l.Row(t.Context(), r.Key); err != nil || !sameRow(want, r) {
				t.Errorf("%s: want %+v, got %+v, %v", name, want, r, err)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s\n-want +got:\n%s", name, tc.reason, diff)
		}
	}
}

// checkRegions checks that two MAASes in one store are independent, even with equal ids.
func checkRegions(t *testing.T, s Store) {
	one, other := s.Open("http://a.example/MAAS"), s.Open("http://b.example/MAAS")
	host := candidate(1, "az1", 1)
	for _, l := range []engine.Ledger{one, other} {
		mustPlace(t, l, testKey, host)
		wantNoError(t, DropRow(t.Context(), l, "web-2"))
	}
	wantNoError(t, other.Bind(t.Context(), engine.Row{Key: testKey, HostKey: "h1", SystemID: "abc123"}))
	wantNoError(t, other.MarkLeaving(t.Context(), testKey))
	wantNoError(t, DropRow(t.Context(), other, testKey))
	if row, err := one.Row(t.Context(), testKey); err != nil || row.State != engine.RowPending {
		t.Errorf("What happens in a region stays there.\ngot %+v, %v", row, err)
	}
	for name, want := range map[engine.Ledger]int{one: 1, other: 0} {
		rows, err := name.Rows(t.Context())
		if err != nil || len(rows) != want {
			t.Errorf("A region lists its own rows, which are %d.\ngot %+v, %v", want, rows, err)
		}
	}
}

// checkDrops checks that a row is dropped only if it has not changed since it was read.
func checkDrops(t *testing.T, handle func() engine.Ledger) {
	l := handle()
	row := func() engine.Row {
		r, err := l.Row(t.Context(), testKey)
		wantNoError(t, err)
		return r
	}
	mustPlace(t, l, testKey, candidate(1, "az1", 2))
	pending := row()
	wantNoError(t, l.Bind(t.Context(), engine.Row{Key: testKey, HostKey: "h1", SystemID: "abc123"}))
	bound := row()
	wantNoError(t, l.MarkLeaving(t.Context(), testKey))
	for _, old := range []engine.Row{pending, bound} {
		wantNoError(t, l.Drop(t.Context(), old))
		if row().State != engine.RowLeaving {
			t.Errorf("a row that has moved on since it was read as %+v was dropped", old)
		}
	}
	wantNoError(t, l.Drop(t.Context(), row()))
	if _, err := l.Row(t.Context(), testKey); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("the row is still there: %v", err)
	}
	mustPlace(t, l, testKey, candidate(1, "az1", 2)) // its room is free again
	wantNoError(t, l.Drop(t.Context(), engine.Row{Key: "nobody"}))
}

// checkRenews checks that only the reserved attempt may begin, and that Since is the time when
// it began.
func checkRenews(t *testing.T, handle func() engine.Ledger) {
	l := handle()
	mustPlace(t, l, testKey, candidate(1, "az1", 2), candidate(2, "az1", 2))
	first, err := l.Row(t.Context(), testKey)
	wantNoError(t, err)
	time.Sleep(5 * time.Millisecond)
	wantNoError(t, l.Renew(t.Context(), first))
	now, err := l.Row(t.Context(), testKey)
	wantNoError(t, err)
	if !now.Since.After(first.Since) || now.Attempt != first.Attempt || now.HostKey != first.HostKey {
		t.Errorf("want the same row, since later: got %+v, was %+v", now, first)
	}
	wantNoError(t, l.Drop(t.Context(), first)) // the row has changed since: nothing happens
	wantNoError(t, l.Renew(t.Context(), now))
	wantNoError(t, l.Bind(t.Context(), engine.Row{Key: testKey, HostKey: "h1", SystemID: "abc123"}))
	if err := l.Renew(t.Context(), now); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("a bound row was renewed: %v", err)
	}
	wantNoError(t, DropRow(t.Context(), l, testKey))
	if err := l.Renew(t.Context(), now); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("a row that is gone was renewed: %v", err)
	}
}
