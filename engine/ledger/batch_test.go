package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

// openAsReplicated opens a file as if it were a database on several nodes.
func openAsReplicated(t *testing.T, path string) *Ledger {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	judgeFile := func(err error) (error, bool) {
		if errors.Is(err, context.DeadlineExceeded) {
			return err, true
		}
		return classifySQLiteError(path, err)
	}
	l, err := OpenDatabase(t.Context(), Database{DB: db, ClassifyError: judgeFile, MaxStatements: 8, Replicated: true}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestBatchContract: writes in batches pass the same tests as single ones.
func TestBatchContract(t *testing.T) {
	t.Parallel()
	ledgertest.Contract(t, func(t *testing.T) ledgertest.Store {
		path := filepath.Join(t.TempDir(), "ledger.db")
		return ledgertest.Store{Open: func(region string) engine.Ledger { return openAsReplicated(t, path).Region(region) }}
	})
}

// TestBatchesOfWrites: many callers write at once. Some writes are refused or given up, and all others
// are done. Each batch begins right after the one before.
func TestBatchesOfWrites(t *testing.T) {
	t.Parallel()
	l := openAsReplicated(t, filepath.Join(t.TempDir(), "ledger.db"))
	exec := func(ctx context.Context, statement string, args ...any) error {
		return l.store.exec(ctx, statement, args...)
	}
	if err := exec(t.Context(), `CREATE TABLE done (writer INTEGER, n INTEGER, PRIMARY KEY (writer, n))`); err != nil {
		t.Fatal(err)
	}
	const writers, each = 8, 100
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range each {
				if n%10 == 0 {
					if err := exec(t.Context(), `INSERT INTO nowhere VALUES (1)`); err == nil {
						t.Error("a write that cannot be done was done")
					}
					gone, cancel := context.WithCancel(t.Context())
					cancel()
					if err := exec(gone, `DELETE FROM done`); !errors.Is(err, context.Canceled) {
						t.Errorf("of a caller who has gone: %v", err)
					}
				}
				if err := exec(t.Context(), `INSERT INTO done VALUES (?1, ?2)`, w, n); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	var count int
	if err := l.store.queryRow(t.Context(), `SELECT count(*) FROM done`, nil, &count); err != nil || count != writers*each {
		t.Errorf("%d of %d writes were done, %v", count, writers*each, err)
	}
}

// TestBatchOfReservations batches reservations of two inventories, groups and MAASes, and a
// close. Each counts the room that those before it took.
func TestBatchOfReservations(t *testing.T) {
	t.Parallel()
	l := openAsReplicated(t, filepath.Join(t.TempDir(), "ledger.db"))
	before := mustReadTag(t, l)
	// An older inventory does not show it.
	bound := engine.Row{Key: "o/bound", Name: "bound", HostKey: "h1", SystemID: "abc", Need: engine.Need{Cores: 1}}
	if err := l.Region("Tags").Bind(t.Context(), bound); err != nil {
		t.Fatal(err)
	}
	now := mustReadTag(t, l)
	place := func(region, key, group string, tag engine.Tag, cores int64) func(context.Context) string {
		return func(ctx context.Context) string {
			row, _, err := l.Region(region).Place(ctx, engine.Reservation{
				Key: engine.Key(key), Name: key, Group: group, Need: engine.Need{Cores: 1}, Inventory: tag, Candidates: []engine.Candidate{
					{HostKey: "h1", Zone: "az1", Rank: 1, Free: engine.Need{Cores: cores}}, {HostKey: "h2", Zone: "az2", Rank: 2, Free: engine.Need{Cores: cores}},
				},
			})
			if err != nil {
				return "none"
			}
			return row.HostKey
		}
	}
	closeHost := func(ctx context.Context) string {
		return fmt.Sprint(l.Region("Close").CloseHost(ctx, engine.HostCloseRequest{HostKey: "h2", Holder: "me", Lease: time.Minute, Window: time.Minute}))
	}
	for name, tc := range map[string]struct {
		calls []func(context.Context) string
		want  []string
	}{
		"Tags":   {[]func(context.Context) string{place("Tags", "a", "", now, 1), place("Tags", "b", "", before, 2), place("Tags", "c", "", before, 2), place("Tags", "d", "", now, 2)}, []string{"h1", "h2", "h2", "h1"}},
		"Groups": {[]func(context.Context) string{place("Groups", "a", "web", now, 9), place("Groups", "b", "db", now, 9), place("Groups", "c", "web", now, 9), place("Groups", "d", "db", now, 9)}, []string{"h1", "h1", "h2", "h2"}},
		"MAASes": {[]func(context.Context) string{place("MAASes", "a", "", now, 1), place("other", "a", "", now, 1), place("MAASes", "b", "", now, 1)}, []string{"h1", "h1", "h2"}},
		"Close":  {[]func(context.Context) string{place("Close", "a", "", now, 1), closeHost, place("Close", "b", "", now, 1)}, []string{"h1", "<nil>", "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runInOneBatch(t, l, tc.calls); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// runInOneBatch makes the calls in one batch, in their order.
func runInOneBatch(t *testing.T, l *Ledger, calls []func(context.Context) string) []string {
	t.Helper()
	b := &l.store.batchWriter
	for isIdle := false; !isIdle; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		isIdle = !b.running
		b.running = true
		b.mu.Unlock()
	}
	got := make([]string, len(calls))
	var all sync.WaitGroup
	for n, call := range calls {
		all.Go(func() { got[n] = call(t.Context()) })
		for b.countWaiting() <= n {
			time.Sleep(time.Millisecond)
		}
	}
	b.processQueue()
	all.Wait()
	return got
}

func mustReadTag(t *testing.T, l *Ledger) engine.Tag {
	t.Helper()
	tag, err := l.CurrentTag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

// TestCloseGivenUp: a caller that gives up a close reads no variable that the write may still
// change.
func TestCloseGivenUp(t *testing.T) {
	t.Parallel()
	l := openAsReplicated(t, filepath.Join(t.TempDir(), "ledger.db"))
	given := 0
	for n := range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n%40)*50*time.Microsecond)
		err := l.CloseHost(ctx, engine.HostCloseRequest{HostKey: fmt.Sprint("h", n), Holder: "me", Lease: time.Minute, Window: time.Minute})
		if cancel(); errors.Is(err, context.DeadlineExceeded) {
			given++
		} else if err != nil {
			t.Error(err)
		}
	}
	if given == 0 {
		t.Error("none was given up: this proves nothing")
	}
}

// TestEachWriteChangesSomething: each write to a replicated ledger changes something, so that most nodes must agree
// to it.
func TestEachWriteChangesSomething(t *testing.T) {
	t.Parallel()
	l := openAsReplicated(t, filepath.Join(t.TempDir(), "ledger.db"))
	changes := func() (count int) {
		if err := l.store.queryRow(t.Context(), `SELECT count FROM fence`, nil, &count); err != nil {
			t.Fatal(err)
		}
		return count
	}
	bound := engine.Row{Key: "o/a", Name: "a", HostKey: "h1", SystemID: "abc"}
	for name, write := range map[string]struct {
		do     func() error
		fences int
	}{
		"DropNothing": {func() error { return l.Drop(t.Context(), engine.Row{Key: "o/none"}) }, 1},
		"OpenNothing": {func() error { return l.OpenHost(t.Context(), "h9", "me") }, 1},
		"Bind":        {func() error { return l.Bind(t.Context(), bound) }, 0},
	} {
		before := changes()
		if err := write.do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := changes() - before; got != write.fences {
			t.Errorf("%s: %d changes of the fence, want %d", name, got, write.fences)
		}
	}
}
