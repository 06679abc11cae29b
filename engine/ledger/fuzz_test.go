package ledger

import (
	"errors"
	"testing"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

// FuzzPlace: whatever a reservation contains, its row never exceeds the free room in the
// inventory, and no row stays after it was dropped.
func FuzzPlace(f *testing.F) {
	f.Add("o/a", "n", "h1", "z", "g", "pool", int64(1), int64(1024), int64(512), int64(8), int64(4), int64(1<<40))
	f.Add("o/'\"", "n\x00", "h\"1", "$.x", "[", "po\"ol\\", int64(1<<62), int64(-1), int64(1<<62), int64(1<<62), int64(1<<62), int64(-1))
	l := NewMemory(nil)
	f.Fuzz(func(t *testing.T, key, name, host, zone, group, pool string, cores, memory, pages, disk, free, freeDisk int64) {
		tag, err := l.CurrentTag(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		row, _, err := l.Place(t.Context(), engine.Reservation{
			Key: engine.Key(key), Name: name, Group: group, Inventory: tag,
			Need: engine.Need{Cores: cores, MemoryMiB: memory, HugePagesMiB: pages, DiskBytes: map[string]int64{pool: disk}},
			Candidates: []engine.Candidate{{
				HostKey: host, Zone: zone, Rank: 1, Step: 1, DefaultPool: "d",
				Free: engine.Need{Cores: free, MemoryMiB: free, HugePagesMiB: free, DiskBytes: map[string]int64{pool: freeDisk, "d": freeDisk}},
			}},
		})
		switch {
		case err != nil:
		case cores > free || memory > free || pages > free || disk > freeDisk:
			t.Fatalf("over-committed: %+v", row)
		case row.HostKey != host:
			t.Fatalf("host %q became %q", host, row.HostKey)
		}
		if err := ledgertest.DropRow(t.Context(), l, engine.Key(key)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Row(t.Context(), engine.Key(key)); !errors.Is(err, engine.ErrNotFound) {
			t.Fatal(err)
		}
	})
}
