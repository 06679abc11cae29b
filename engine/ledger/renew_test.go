package ledger

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
)

// TestRenewOfAnothersRow: a run waits for so long that its row is dropped, and another process
// places the key again. The first run may not compose.
func TestRenewOfAnothersRow(t *testing.T) {
	l := NewMemory(nil)
	defer l.Close()
	ctx := t.Context()
	at := func(host string) engine.Reservation {
		tag, err := l.CurrentTag(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return engine.Reservation{Key: "k", Name: "web-1", Need: engine.Need{Cores: 1, MemoryMiB: 1}, Inventory: tag,
			Candidates: []engine.Candidate{{HostKey: host, Free: engine.Need{Cores: 8, MemoryMiB: 8}}}}
	}
	first, _, err := l.Place(ctx, at("host1")) // its run then waits for longer than any compose
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Drop(ctx, first); err != nil { // the sweep of another process
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

// TestRenewWithinAMillisecond: a host may be closed in the millisecond in which a row was placed
// there. A row that is placed after that must not look renewed.
func TestRenewWithinAMillisecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // no time passes here
		l := NewMemory(nil)
		defer l.Close()
		row, _, err := l.Place(t.Context(), newReservation(t, l, "web-1", 1, 1))
		if err != nil {
			t.Fatal(err)
		}
		closing := engine.HostCloseRequest{HostKey: row.HostKey, Holder: "another run", Lease: time.Minute}
		if err := l.CloseHost(t.Context(), closing); err != nil {
			t.Fatal(err)
		}
		if err := l.Renew(t.Context(), row); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("the host is closed, and Renew says %v, want ErrBusy", err)
		}
	})
}

// TestRenewWithoutTheLease: a run that took the lease of a key and lost it may not renew. A
// caller that never took it, such as the manager, may renew.
func TestRenewWithoutTheLease(t *testing.T) {
	elsewhere := lease.Lease{Key: "k", Holder: "another", Session: "elsewhere", Process: lease.Process{PID: 7}}
	cases := map[string]struct {
		reason string
		holds  bool
		after  func(*testing.T, lease.Table, lease.Lease)
		is     error
		held   bool
	}{
		"Held":  {"The usual case.", true, func(*testing.T, lease.Table, lease.Lease) {}, nil, false},
		"Never": {"A manager is elected, and takes no leases.", false, func(*testing.T, lease.Table, lease.Lease) {}, nil, false},
		"Anothers": {"A run without a lease is not told of others here.", false, func(t *testing.T, all lease.Table, _ lease.Lease) {
			mustTakeLease(t, all, elsewhere, "")
		}, nil, false},
		"Taken": {"Another run makes it by now.", true, func(t *testing.T, all lease.Table, mine lease.Lease) {
			mustTakeLease(t, all, elsewhere, mine.Holder)
		}, engine.ErrConflict, true},
		"TakenAndDone": {"Another run has made it.", true, func(t *testing.T, all lease.Table, mine lease.Lease) {
			mustTakeLease(t, all, elsewhere, mine.Holder)
			if err := all.DropLease(t.Context(), "k", elsewhere.Holder); err != nil {
				t.Fatal(err)
			}
		}, engine.ErrBusy, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := NewMemory(nil)
			defer l.Close()
			if tc.holds {
				release, err := l.Hold(t.Context(), "k")
				if err != nil {
					t.Fatal(err)
				}
				defer release()
			}
			r := newReservation(t, l, "web-1", 1, 1)
			r.Key = "k"
			row, _, err := l.Place(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			have, err := l.LeaseTable().Leases(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			tc.after(t, l.LeaseTable(), append(have, lease.Lease{})[0])
			err = l.Renew(t.Context(), row)
			if _, held := errors.AsType[*engine.HeldError](err); !errors.Is(err, tc.is) || held != tc.held {
				t.Errorf("%s\ngot %v", tc.reason, err)
			}
			now, err := l.Row(t.Context(), "k")
			if err != nil || now.Since.After(row.Since) != (tc.is == nil) {
				t.Errorf("%s\nThe row is %+v, and was %+v, %v", tc.reason, now, row, err)
			}
		})
	}
}

func mustTakeLease(t *testing.T, from lease.Table, mine lease.Lease, dead string) {
	t.Helper()
	if _, err := from.TakeLease(t.Context(), mine, dead); err != nil {
		t.Fatal(err)
	}
}
