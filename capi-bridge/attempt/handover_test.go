package attempt_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/maaslxd/maaslxd/capi-bridge/attempt"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

// file is the ledger of a manager with a file, in the region of a MAAS.
func (w *world) file(region string) ledger.Rows {
	w.t.Helper()
	to, err := ledger.Open(w.t.Context(), filepath.Join(w.t.TempDir(), "ledger.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	all := attempt.HandOver(attempt.Config{Reader: w, Writer: w, Now: w.time, Closes: closes}, ledger.Local{Ledger: to})
	w.t.Cleanup(func() { all.Close() })
	return all.Region(region)
}

// TestHandOver: a manager with a file has the rows of the leader in memory before it. It
// takes their records off the objects.
func TestHandOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		do     func(t *testing.T, w *world, l engine.Ledger)
		state  engine.RowState // of the row; empty: there is none
		want   engine.Row
		room   bool // h1 has room for another VM
	}{
		"Begun": {
			reason: "MAAS may be at it.", do: func(t *testing.T, _ *world, l engine.Ledger) { begin(t, l, "m", "h1") },
			state: engine.RowPending, want: engine.Row{HostKey: "h1", Attempt: 1},
		},
		"SecondAttempt": {
			reason: "What the first one left is looked for.",
			do: func(t *testing.T, _ *world, l engine.Ledger) {
				begin(t, l, "m", "h0")
				r := wish(t, l, "m", "h0", "h1")
				r.Exclude = []string{"h0"}
				row, _, err := l.Move(t.Context(), 2, r)
				if err := errors.Join(err, l.Renew(t.Context(), row)); err != nil {
					t.Fatal(err)
				}
			},
			state: engine.RowPending, want: engine.Row{HostKey: "h1", Attempt: 2, Excluded: []string{"h0"}},
		},
		"Bound": {
			reason: "The VM may bear no mark yet.",
			do: func(t *testing.T, _ *world, l engine.Ledger) {
				row := begin(t, l, "m", "h1")
				row.SystemID = "abc123"
				if err := l.Bind(t.Context(), row); err != nil {
					t.Fatal(err)
				}
			},
			state: engine.RowBound, want: engine.Row{HostKey: "h1", Attempt: 1, SystemID: "abc123"}, room: true,
		},
		"Deleting": {
			reason: "Its room stays taken until it is gone.",
			do: func(t *testing.T, w *world, l engine.Ledger) {
				begin(t, l, "m", "h1")
				if err := w.Delete(t.Context(), machine("m", nil)); err != nil {
					t.Fatal(err)
				}
			},
			state: engine.RowLeaving, want: engine.Row{HostKey: "h1", Attempt: 1},
		},
		"Dropped": {
			reason: "It was refused, and nothing of it is left.",
			do: func(t *testing.T, _ *world, l engine.Ledger) {
				if err := l.Drop(t.Context(), begin(t, l, "m", "h1")); err != nil {
					t.Fatal(err)
				}
			},
			room: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, interceptor.Funcs{}, machine("m", claimed), machine("other", claimed))
			tc.do(t, w, w.leader())
			l := w.file("maas")
			_, _, err := l.Place(t.Context(), wish(t, l, "other", "h1"))
			if tc.room && err != nil { // the inventory is from before the VM was bound
				_, _, err = l.Place(t.Context(), wish(t, l, "other", "h1"))
			}
			if room := err == nil; room != tc.room || !room && !errors.Is(err, engine.ErrBusy) {
				t.Errorf("%s Another VM is placed: %v", tc.reason, err)
			}
			row, err := l.Row(t.Context(), keyOf("m"))
			if tc.state == "" {
				if !errors.Is(err, engine.ErrNotFound) {
					t.Errorf("%s It has %+v, %v", tc.reason, row, err)
				}
				return
			}
			if err != nil || row.State != tc.state || row.HostKey != tc.want.HostKey || row.Attempt != tc.want.Attempt ||
				row.SystemID != tc.want.SystemID || !slices.Equal(row.Excluded, tc.want.Excluded) || row.Age > time.Minute || row.Group != "g" {
				t.Errorf("%s It has %+v, %v", tc.reason, row, err)
			}
			if record := w.recorded("m"); record != "" {
				t.Errorf("%s The record stays: %s", tc.reason, record)
			}
		})
	}
}

// TestHandOverOfMark: a record that names the MAAS by its address is of the mark's region.
func TestHandOverOfMark(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, machine("m", claimed))
	begin(t, w.leader(), "m", "h1")
	l := w.file("mark")
	if err := l.TakeRegion(t.Context(), "maas"); err != nil {
		t.Fatal(err)
	}
	if row := rowOf(t, l, "m"); row.HostKey != "h1" || row.State != engine.RowPending {
		t.Errorf("it has %+v", row)
	}
}

// TestHandOverFails: where the records cannot be read, or taken off, nothing is placed. The
// next try goes on.
func TestHandOverFails(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	b := &broken{}
	var list error
	w := newWorld(t, interceptor.Funcs{
		Patch: b.Patch,
		List: func(ctx context.Context, c client.WithWatch, all client.ObjectList, options ...client.ListOption) error {
			if list != nil {
				return list
			}
			return c.List(ctx, all, options...)
		},
	}, machine("m", claimed), machine("other", claimed))
	begin(t, w.leader(), "m", "h1")
	l := w.file("maas")
	for _, step := range []struct{ list, patch error }{{down, nil}, {nil, down}} {
		list, b.patch = step.list, step.patch
		if _, _, err := l.Place(t.Context(), wish(t, l, "other", "h2")); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("placed: %v", err)
		}
	}
	list, b.patch = nil, nil
	if _, fresh, err := l.Place(t.Context(), wish(t, l, "other", "h2")); err != nil || !fresh {
		t.Errorf("fresh %t, %v", fresh, err)
	}
	if row := rowOf(t, l, "m"); row.HostKey != "h1" || w.recorded("m") != "" {
		t.Errorf("it has %+v, and the record is %q", row, w.recorded("m"))
	}
}

// TestHandOverOfCloses: a host that the leader in memory had closed stays closed.
func TestHandOverOfCloses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, machine("m", claimed))
	if err := w.leader().CloseHost(t.Context(), engine.Close{HostKey: "h1", Holder: "first", Lease: time.Minute}); err != nil {
		t.Fatal(err)
	}
	l := w.file("maas")
	if row, _, err := l.Place(t.Context(), wish(t, l, "m", "h1")); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("on the closed host: %+v, %v", row, err)
	}
}

// TestHandOverContract: it is a ledger as any other.
func TestHandOverContract(t *testing.T) {
	t.Parallel()
	ledgertest.Contract(t, func(t *testing.T) ledgertest.Store {
		w := newWorld(t, interceptor.Funcs{})
		all := attempt.HandOver(attempt.Config{Reader: w, Writer: w, Closes: closes}, ledger.Local{Ledger: ledger.NewMemory(nil)})
		t.Cleanup(func() { all.Close() })
		return ledgertest.Store{Open: func(region string) engine.Ledger { return all.Region(region) }}
	})
}

// TestForeignRecord: a service lets a manager write no rows of another one. Their composes
// are over after a while; before, nothing is placed.
func TestForeignRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{}, machine("m", claimed), machine("other", claimed))
	begin(t, w.leader(), "m", "h1")
	to := refusing{ledger.Local{Ledger: ledger.NewMemory(w.time)}}
	all := attempt.HandOver(attempt.Config{Reader: w, Writer: w, Now: w.time}, to)
	defer all.Close()
	l := all.Region("maas")
	if _, _, err := l.Place(t.Context(), wish(t, l, "other", "h1")); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("placed: %v", err)
	}
	w.pass(engine.ComposeWindow + time.Minute)
	if _, fresh, err := l.Place(t.Context(), wish(t, l, "other", "h1")); err != nil || !fresh {
		t.Errorf("fresh %t, %v", fresh, err)
	}
}

// refusing are regions in which the row of m belongs to another owner.
type refusing struct{ ledger.Regions }

func (r refusing) Region(name string) ledger.Rows { return refusingRows{r.Regions.Region(name)} }

type refusingRows struct{ portOfMAAS }

// portOfMAAS keeps the field apart from the method Rows.
type portOfMAAS = ledger.Rows

func (r refusingRows) Place(ctx context.Context, want engine.Reservation) (engine.Row, bool, error) {
	if want.Key == keyOf("m") {
		return engine.Row{}, false, engine.ErrForbidden
	}
	return r.portOfMAAS.Place(ctx, want)
}
