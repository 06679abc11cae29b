package assembly_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
)

// TestOldReservationsGiveWay fills a host with what runs that were cut off left
// in the ledger, and wants a later create to find its room.
func TestOldReservationsGiveWay(t *testing.T) {
	cases := map[string]struct {
		reason string
		leave  func(t *testing.T, r testMAAS, rows engine.Ledger)
		age    time.Duration
		fits   bool
		waits  bool // for a compose window to end
	}{
		"Pending": {
			reason: "MAAS can no longer be composing it.", age: 10 * time.Minute, fits: true,
			leave: func(t *testing.T, r testMAAS, rows engine.Ledger) { reserve(t, r, rows) },
		},
		"JustPending": {
			reason: "MAAS may still be composing it.", age: time.Second, fits: true, waits: true,
			leave: func(t *testing.T, r testMAAS, rows engine.Ledger) { reserve(t, r, rows) },
		},
		"Leaving": {
			reason: "It was being deleted, and is gone.", age: 10 * time.Minute, fits: true,
			leave: func(t *testing.T, r testMAAS, rows engine.Ledger) {
				reserve(t, r, rows)
				if err := rows.MarkLeaving(t.Context(), "default/old"); err != nil {
					t.Fatal(err)
				}
			},
		},
		"Composed": {
			reason: "The VM is there: its row is bound, and its room stays taken.", age: 10 * time.Minute, fits: false,
			leave: func(t *testing.T, r testMAAS, rows engine.Ledger) {
				p := r.start(t, rows, 0, breakage{})
				if _, err := p.applyVM(smallVM("old", engine.Placement{})); err != nil {
					t.Fatal(err)
				}
				if err := ledgertest.DropRow(t.Context(), rows, "default/old"); err != nil {
					t.Fatal(err)
				}
				reserve(t, r, rows)
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleetOf(t, 1, 1, "az1")
				rows := ledger.NewMemory(nil)
				tc.leave(t, r, rows)
				time.Sleep(tc.age)
				began := time.Now()
				spec := smallVM("new", engine.Placement{})
				p := r.start(t, rows, 0, breakage{})
				_, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "default/new", Name: "new"}, spec))
				if tc.fits != (err == nil) {
					t.Errorf("%s\nfits is %v: %v", tc.reason, err == nil, err)
				}
				if took := time.Since(began); tc.fits && tc.waits != (took > 2*time.Minute) {
					t.Errorf("%s\nit took %v", tc.reason, took)
				}
				for _, excess := range r.sim.Overcommits() {
					t.Error(excess)
				}
			})
		})
	}
}

// ownRowsLedger lets one owner write his own rows alone, as a service of several owners does.
type ownRowsLedger struct{ engine.Ledger }

func (o ownRowsLedger) MayWrite(_ context.Context, key engine.Key) error {
	if !strings.HasPrefix(string(key), "default/") {
		return fmt.Errorf("the row of %s is another owner's: %w", key, engine.ErrForbidden)
	}
	return nil
}

func (o ownRowsLedger) Drop(ctx context.Context, row engine.Row) error {
	if err := o.MayWrite(ctx, row.Key); err != nil {
		return err
	}
	return o.Ledger.Drop(ctx, row)
}

// TestOthersReservationsStay: what another owner left in a shared ledger cannot be
// cleared, and keeps nobody from clearing what is his own.
func TestOthersReservationsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fleetOf(t, 1, 1, "az1")
		rows := ledger.NewMemory(nil)
		tag, err := rows.CurrentTag(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		host := engine.Candidate{HostKey: r.hostMachine(t, "lxd1"), Zone: "az1"}
		_, _, err = rows.Place(t.Context(), engine.Reservation{Key: "another/gone", Name: "gone", Inventory: tag, Group: "web", Candidates: []engine.Candidate{host}})
		if err != nil {
			t.Fatal(err)
		}
		reserve(t, r, rows)
		time.Sleep(10 * time.Minute)
		p := r.start(t, ownRowsLedger{rows}, 0, breakage{})
		if _, err := engine.WaitUntilDone(p.ctx, p.engine.VMs.Steps(engine.Ref{Key: "default/new", Name: "new"}, smallVM("new", engine.Placement{Group: "web"}))); err != nil {
			t.Errorf("its own row gives way: %v", err)
		}
		if _, err := rows.Row(t.Context(), "another/gone"); err != nil {
			t.Errorf("the other owner's row: %v", err)
		}
	})
}

// reserve promises all the room of the first host to a VM called old.
func reserve(t *testing.T, r testMAAS, rows engine.Ledger) {
	t.Helper()
	tag, err := rows.CurrentTag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = rows.Place(t.Context(), engine.Reservation{
		Key: "default/old", Name: "old", Need: engine.Need{Cores: 2, MemoryMiB: 2048}, Inventory: tag,
		Candidates: []engine.Candidate{{HostKey: r.hostMachine(t, "lxd1"), Zone: "az1", Free: engine.Need{Cores: 2, MemoryMiB: 2048}}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRowDatedAhead: a row was written while the clock was ahead, by a run that
// died. Nobody waits for longer than MAAS can compose.
func TestRowDatedAhead(t *testing.T) {
	cases := map[string]struct {
		reason string
		want   string
	}{
		"SameKey": {"The next run of the VM itself waits for what the compose may bear.", "old"},
		"Another": {"Another VM waits for its room.", "new"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleetOf(t, 1, 1, "az1")
				ahead := 24 * time.Hour
				rows := ledger.NewMemory(func() time.Time { return time.Now().Add(ahead) })
				reserve(t, r, rows)
				ahead = 0 // the clock is put right
				p := r.start(t, rows, 0, breakage{})
				ctx, cancel := context.WithTimeout(p.ctx, time.Hour)
				defer cancel()
				began := time.Now()
				_, err := engine.WaitUntilDone(ctx, p.engine.VMs.Steps(engine.Ref{Key: engine.Key("default/" + tc.want), Name: tc.want}, smallVM(tc.want, engine.Placement{})))
				if took := time.Since(began); err != nil || took > 3*time.Minute {
					t.Errorf("%s\nafter %v: %v", tc.reason, took, err)
				}
			})
		})
	}
}
