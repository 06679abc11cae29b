package ledger

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
)

const key = engine.Key("default/web-1")

func TestMemory(t *testing.T) {
	placed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	moved := placed.Add(time.Hour)
	row := engine.Row{Key: key, Name: "web-1", HostID: 1, Attempt: 1, State: engine.RowPending, Since: placed}
	cases := map[string]struct {
		reason string
		do     func(*testing.T, *Memory)
		want   engine.Row // zero: no row
	}{
		"Placed": {
			reason: "A row says where, and since when.",
			do:     func(*testing.T, *Memory) {},
			want:   row,
		},
		"PlacedTwice": {
			reason: "A second place changes nothing, and says so.",
			do: func(t *testing.T, l *Memory) {
				got, fresh, err := l.Place(t.Context(), key, "other", 2)
				if err != nil || fresh {
					t.Errorf("fresh %t, %v", fresh, err)
				}
				if diff := cmp.Diff(row, got); diff != "" {
					t.Error(diff)
				}
			},
			want: row,
		},
		"Moved": {
			reason: "Another attempt has its own host and time.",
			do:     func(t *testing.T, l *Memory) { must(t)(l.Move(t.Context(), key, 2, 7)) },
			want:   engine.Row{Key: key, Name: "web-1", HostID: 7, Attempt: 2, State: engine.RowPending, Since: moved},
		},
		"MovedTwice": {
			reason: "A repeated move is the same move.",
			do: func(t *testing.T, l *Memory) {
				must(t)(l.Move(t.Context(), key, 2, 7))
				must(t)(l.Move(t.Context(), key, 2, 8))
			},
			want: engine.Row{Key: key, Name: "web-1", HostID: 7, Attempt: 2, State: engine.RowPending, Since: moved},
		},
		"Bound": {
			reason: "Binding notes the system id, as often as it is sent.",
			do: func(t *testing.T, l *Memory) {
				ok(t, l.Bind(t.Context(), key, "web-1", 1, "abc123"))
				ok(t, l.Bind(t.Context(), key, "web-1", 1, "abc123"))
			},
			want: engine.Row{Key: key, Name: "web-1", HostID: 1, Attempt: 1, State: engine.RowBound, SystemID: "abc123", Since: placed},
		},
		"BoundIntoEmpty": {
			reason: "A VM found by its mark gets back into a ledger that lost it.",
			do: func(t *testing.T, l *Memory) {
				ok(t, l.Forget(t.Context(), key))
				ok(t, l.Bind(t.Context(), key, "web-1", 3, "abc123"))
			},
			want: engine.Row{Key: key, Name: "web-1", HostID: 3, Attempt: 1, State: engine.RowBound, SystemID: "abc123", Since: moved},
		},
		"Leaving": {
			reason: "A row that leaves keeps what it knows.",
			do: func(t *testing.T, l *Memory) {
				ok(t, l.Bind(t.Context(), key, "web-1", 1, "abc123"))
				ok(t, l.Leaving(t.Context(), key))
			},
			want: engine.Row{Key: key, Name: "web-1", HostID: 1, Attempt: 1, State: engine.RowLeaving, SystemID: "abc123", Since: placed},
		},
		"Forgotten": {
			reason: "Forgetting twice, or what never was, is no error.",
			do: func(t *testing.T, l *Memory) {
				ok(t, l.Forget(t.Context(), key))
				ok(t, l.Forget(t.Context(), key))
				ok(t, l.Leaving(t.Context(), key))
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now := placed
			l := NewMemory(func() time.Time { defer func() { now = moved }(); return now })
			if _, fresh, err := l.Place(t.Context(), key, "web-1", 1); err != nil || !fresh {
				t.Fatalf("fresh %t, %v", fresh, err)
			}
			tc.do(t, l)
			got, err := l.Row(t.Context(), key)
			if tc.want.Key == "" && !errors.Is(err, engine.ErrNotFound) {
				t.Errorf("%s\ngot %+v, %v; want no row", tc.reason, got, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMemoryPending(t *testing.T) {
	l := NewMemory(nil)
	for i := range 4 {
		k := engine.Key(fmt.Sprintf("vm-%d", i))
		_, _, err := l.Place(t.Context(), k, string(k), 1)
		ok(t, err)
	}
	ok(t, l.Bind(t.Context(), "vm-1", "vm-1", 1, "abc123"))
	ok(t, l.Leaving(t.Context(), "vm-2"))
	rows, err := l.Pending(t.Context())
	ok(t, err)
	var got []engine.Key
	for _, r := range rows {
		got = append(got, r.Key)
	}
	// vm-2 is being deleted, but MAAS may still be composing it.
	if diff := cmp.Diff([]engine.Key{"vm-0", "vm-2", "vm-3"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestMemoryPlacesOnce lets many place one key: one of them gets it.
func TestMemoryPlacesOnce(t *testing.T) {
	l := NewMemory(nil)
	var mu sync.Mutex
	var wg sync.WaitGroup
	winners := 0
	for host := range 32 {
		wg.Go(func() {
			_, fresh, err := l.Place(t.Context(), key, "web-1", host)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if fresh {
				winners++
			}
		})
	}
	wg.Wait()
	if winners != 1 {
		t.Errorf("%d of 32 got the row", winners)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func must(t *testing.T) func(engine.Row, error) {
	return func(_ engine.Row, err error) {
		t.Helper()
		ok(t, err)
	}
}
