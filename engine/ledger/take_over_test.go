package ledger

import (
	"errors"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
)

// TestTakeRegion moves the rows of a MAAS from its address to its mark.
func TestTakeRegion(t *testing.T) {
	t.Parallel()
	all := NewMemory(nil)
	byAddress, marked, other := all.Region("10.0.0.1:5240/MAAS"), all.Region("ABCD"), all.Region("10.0.0.2:5240/MAAS")
	for _, of := range []struct {
		ledger *Ledger
		key    engine.Key
		id     string
	}{{byAddress, "a/old", "old111"}, {byAddress, "a/both", "old222"}, {marked, "a/both", "new222"}, {other, "a/other", "oth333"}} {
		if err := of.ledger.Bind(t.Context(), engine.Row{Key: of.key, Name: "x", HostKey: "h", SystemID: of.id}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // a second time changes nothing
		if err := marked.TakeOverRegion(t.Context(), "10.0.0.1:5240/MAAS"); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[engine.Key]string{"a/old": "old111", "a/both": "new222"} {
		if row, err := marked.Row(t.Context(), key); err != nil || row.SystemID != want {
			t.Errorf("%s: got %q, %v, want %q", key, row.SystemID, err, want)
		}
	}
	if _, err := byAddress.Row(t.Context(), "a/old"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("the address still has a/old: %v", err)
	}
	if row, err := other.Row(t.Context(), "a/other"); err != nil || row.SystemID != "oth333" {
		t.Errorf("another MAAS lost its row: %v, %v", row, err)
	}
}
