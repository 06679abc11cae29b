package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

func TestFileContract(t *testing.T) {
	t.Parallel()
	ledgertest.Contract(t, fileStore)
}

func TestMemoryContract(t *testing.T) {
	t.Parallel()
	ledgertest.Contract(t, func(t *testing.T) ledgertest.Store {
		l := NewMemory(nil)
		t.Cleanup(func() { l.Close() })
		return ledgertest.Store{Open: func(region string) engine.Ledger { return l.Region(region) }}
	})
}

func fileStore(t *testing.T) ledgertest.Store {
	path := filepath.Join(t.TempDir(), "ledger.db")
	var mu sync.Mutex
	var handles []*Ledger
	open := func(region string) engine.Ledger {
		l := openAt(t, path)
		mu.Lock()
		defer mu.Unlock()
		handles = append(handles, l)
		return l.Region(region)
	}
	saved := 0
	save := func() func() {
		saved++
		backup := fmt.Sprint(path, ".", saved)
		l := openAt(t, path)
		if err := errors.Join(l.store.exec(t.Context(), `VACUUM INTO ?1`, backup), l.Close()); err != nil {
			t.Fatal(err)
		}
		return func() {
			for _, l := range handles {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
			handles = nil
			content, err := os.ReadFile(backup)
			if err != nil {
				t.Fatal(err)
			}
			mustWriteFile(t, path, content)
		}
	}
	return ledgertest.Store{Open: open, Save: save}
}

func openAt(t testing.TB, path string) *Ledger {
	t.Helper()
	l, err := OpenFile(t.Context(), path)
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

// newReservation asks for one of the hosts, each of which has this many cores.
func newReservation(t testing.TB, l *Ledger, key engine.Key, cores int64, hosts ...int) engine.Reservation {
	t.Helper()
	tag, err := l.CurrentTag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := engine.Reservation{Key: key, Name: string(key), Need: engine.Need{Cores: 1}, Inventory: tag}
	for n, id := range hosts {
		r.Candidates = append(r.Candidates, engine.Candidate{
			HostKey: fmt.Sprint("h", id), Rank: int64(n), Step: int64(len(hosts)), Free: engine.Need{Cores: cores},
		})
	}
	return r
}

// TestVirtualTime runs a ledger where time passes only while all goroutines wait.
func TestVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory(nil)
		defer l.Close()
		begun := time.Now()
		done := make(chan error)
		go func() {
			time.Sleep(time.Hour)
			_, _, err := l.Place(t.Context(), newReservation(t, l, "web-1", 1, 1))
			done <- err
		}()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		row, err := l.Row(t.Context(), "web-1")
		if want := begun.Add(time.Hour); err != nil || !row.Since.Equal(want) {
			t.Errorf("placed at %s, want %s, %v", row.Since, want, err)
		}
		time.Sleep(time.Minute)
		if rows, err := l.PendingRows(t.Context()); err != nil || len(rows) != 1 || rows[0].Age != time.Minute {
			t.Errorf("a minute later the rows are %+v, %v", rows, err)
		}
	})
}
