package ledger

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

// likeReplicated opens a file as if several nodes had it.
func likeReplicated(t *testing.T, path string) *Ledger {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	judgeFile := func(err error) (error, bool) {
		if errors.Is(err, context.DeadlineExceeded) {
			return err, true
		}
		return judge(path, err)
	}
	l, err := OpenDatabase(t.Context(), Database{DB: db, Judge: judgeFile, AtOnce: 8, Replicated: true}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestBatchContract: writes that go together keep to all that single ones keep to.
func TestBatchContract(t *testing.T) {
	t.Parallel()
	ledgertest.Contract(t, func(t *testing.T) ledgertest.Store {
		path := filepath.Join(t.TempDir(), "ledger.db")
		return ledgertest.Store{Open: func(region string) engine.Ledger { return likeReplicated(t, path).Region(region) }}
	})
}

// TestBatches: many writers at once, some of whose writes are refused or given up, and
// each other one is done. Batches follow each other as closely as they can.
func TestBatches(t *testing.T) {
	t.Parallel()
	l := likeReplicated(t, filepath.Join(t.TempDir(), "ledger.db"))
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
	if err := l.store.row(t.Context(), `SELECT count(*) FROM done`, nil, &count); err != nil || count != writers*each {
		t.Errorf("%d of %d writes were done, %v", count, writers*each, err)
	}
}
