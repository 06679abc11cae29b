package ledger

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

func TestFileContract(t *testing.T) {
	t.Parallel()
	ledgertest.Contract(t, func(t *testing.T) func() engine.Ledger {
		path := filepath.Join(t.TempDir(), "ledger.db")
		return func() engine.Ledger { return openAt(t, path) }
	})
}

func TestMemoryContract(t *testing.T) {
	t.Parallel()
	ledgertest.Contract(t, func(t *testing.T) func() engine.Ledger {
		l := NewMemory(nil)
		t.Cleanup(func() { l.Close() })
		return func() engine.Ledger { return l }
	})
}

func openAt(t testing.TB, path string) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// reservation asks for one of the hosts, each of which has so many cores.
func reservation(t testing.TB, l *Ledger, key engine.Key, cores int64, hosts ...int) engine.Reservation {
	t.Helper()
	tag, err := l.Tag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := engine.Reservation{Key: key, Name: string(key), Need: engine.Need{Cores: 1}, Inventory: tag}
	for n, id := range hosts {
		r.Candidates = append(r.Candidates, engine.Candidate{
			HostID: id, Rank: int64(n), Step: int64(len(hosts)), Free: engine.Need{Cores: cores},
		})
	}
	return r
}

// TestVirtualTime runs a ledger where only goroutines that wait for each other
// let time pass.
func TestVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory(nil)
		defer l.Close()
		begun := time.Now()
		done := make(chan error)
		go func() {
			time.Sleep(time.Hour)
			_, _, err := l.Place(t.Context(), reservation(t, l, "web-1", 1, 1))
			done <- err
		}()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		row, err := l.Row(t.Context(), "web-1")
		if want := begun.Add(time.Hour); err != nil || !row.Since.Equal(want) {
			t.Errorf("placed at %s, want %s, %v", row.Since, want, err)
		}
	})
}

// TestRegions keeps the rows of two MAASes apart, whose ids are their own.
func TestRegions(t *testing.T) {
	t.Parallel()
	l := NewMemory(nil)
	t.Cleanup(func() { l.Close() })
	for _, name := range []string{"http://a.example/MAAS", "http://b.example/MAAS"} {
		region := l.Region(name)
		if _, fresh, err := region.Place(t.Context(), reservation(t, l, "web-1", 1, 1)); err != nil || !fresh {
			t.Errorf("%s: fresh %t, %v", name, fresh, err)
		}
		if err := region.Forget(t.Context(), "web-2"); err != nil {
			t.Error(err)
		}
	}
	if _, err := l.Row(t.Context(), "web-1"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a region's row is in another: %v", err)
	}
	if rows, err := l.Region("http://a.example/MAAS").Pending(t.Context()); err != nil || len(rows) != 1 {
		t.Errorf("pending: %+v, %v", rows, err)
	}
}
