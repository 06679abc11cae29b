package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// TestRestoreRow: a row comes back unchanged, and replaces no existing row.
func TestRestoreRow(t *testing.T) {
	t.Parallel()
	l := ledger.NewMemory(nil)
	defer l.Close()
	since := time.Now().Add(-time.Minute).Truncate(time.Millisecond).UTC()
	for name, row := range map[string]engine.Row{
		"Pending": {Key: "p", Name: "p", HostKey: "h1", Attempt: 2, Excluded: []string{"h0"}, State: engine.RowPending, Since: since, Token: "t1"},
		"Bound":   {Key: "b", Name: "b", HostKey: "h1", Attempt: 1, State: engine.RowBound, SystemID: "abc123", Since: since, Token: "t2", Need: engine.Need{Cores: 2}},
		"Leaving": {Key: "l", Name: "l", HostKey: "h1", Attempt: 1, State: engine.RowLeaving, Since: since, Token: "t3"},
	} {
		if err := ledger.RestoreRow(t.Context(), l, row); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		other := row
		other.HostKey = "h9"
		if err := ledger.RestoreRow(t.Context(), l, other); err != nil {
			t.Errorf("%s again: %v", name, err)
		}
		got, err := l.Row(t.Context(), row.Key)
		if got.Age < time.Minute {
			t.Errorf("%s: the row is %v old, and was begun a minute ago", name, got.Age)
		}
		got.Age = 0
		if err != nil || !cmp.Equal(got, row) {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(row, got))
		}
	}
	if rows, err := l.PendingRows(t.Context()); err != nil || len(rows) != 2 {
		t.Errorf("pending are %+v, %v", rows, err)
	}
	if err := ledger.RestoreRow(t.Context(), l, engine.Row{Key: "x", State: engine.RowPending, Need: engine.Need{Cores: -1}}); err == nil {
		t.Error("a need below zero is restored")
	}
}
