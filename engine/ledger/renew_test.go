package ledger

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// TestRenewOfAnothersRow: who waited for so long that his row was dropped, and the
// key placed anew by another process, may not compose.
func TestRenewOfAnothersRow(t *testing.T) {
	l := NewMemory(nil)
	defer l.Close()
	ctx := t.Context()
	at := func(host string) engine.Reservation {
		tag, err := l.Tag(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return engine.Reservation{Key: "k", Name: "web-1", Need: engine.Need{Cores: 1, MemoryMiB: 1}, Inventory: tag,
			Candidates: []engine.Candidate{{HostKey: host, Free: engine.Need{Cores: 8, MemoryMiB: 8}}}}
	}
	first, _, err := l.Place(ctx, at("host1")) // waits for its turn, for longer than any compose
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Drop(ctx, first); err != nil { // another process's sweep
		t.Fatal(err)
	}
	second, fresh, err := l.Place(ctx, at("host2")) // the same key, another process
	if err != nil || !fresh || second.HostKey != "host2" {
		t.Fatalf("the other process placed %+v, %v, %v", second, fresh, err)
	}
	if err := l.Renew(ctx, first); !errors.Is(err, engine.ErrBusy) {
		t.Errorf("the row of host1 is gone, and its owner may compose there: Renew says %v", err)
	}
}

// TestRenewWithinAMillisecond: a host may be closed in the millisecond in which a row was
// placed there. Nothing that is composed on it then may look as if it were renewed.
func TestRenewWithinAMillisecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // where no time passes
		l := NewMemory(nil)
		defer l.Close()
		row, _, err := l.Place(t.Context(), reservation(t, l, "web-1", 1, 1))
		if err != nil {
			t.Fatal(err)
		}
		closing := engine.Close{HostKey: row.HostKey, Holder: "another run", Lease: time.Minute}
		if err := l.CloseHost(t.Context(), closing); err != nil {
			t.Fatal(err)
		}
		if err := l.Renew(t.Context(), row); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("the host is closed, and Renew says %v, want ErrBusy", err)
		}
	})
}
