package assembly_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
)

// frontEndLedger is a ledger as front ends use it.
type frontEndLedger interface{ ledger.RegionLedger }

// pausingLedger is the ledger of a program that stands still at its first Renew.
type pausingLedger struct {
	frontEndLedger
	answered bool          // the ledger has renewed, and the answer waits for the program
	paused   chan struct{} // closed when it stands
	resume   chan struct{}
}

// Renew implements engine.Ledger.
func (p *pausingLedger) Renew(ctx context.Context, row engine.Row) (err error) {
	select {
	case <-p.paused:
		return p.frontEndLedger.Renew(ctx, row)
	default:
	}
	if p.answered {
		err = p.frontEndLedger.Renew(ctx, row)
	}
	close(p.paused)
	<-p.resume
	if !p.answered {
		err = p.frontEndLedger.Renew(ctx, row)
	}
	return err
}

// TestPausedOwner: a program on another machine stands still between its reservation and
// its compose, until the next run has taken its lease. It composes nothing then, whatever
// the next run has done by that time.
func TestPausedOwner(t *testing.T) {
	const lease, window = 30 * time.Second, 130 * time.Second
	for name, tc := range map[string]struct {
		reason   string
		answered bool
		goesOn   time.Duration // after the lease is taken
	}{
		"NextWaits":       {"The next run waits for a compose that may be under way.", false, 40 * time.Second},
		"NextBegins":      {"The next run reserves anew and composes.", false, window - lease},
		"NextIsDone":      {"The VM is there.", false, 10 * time.Minute},
		"LateAnswer":      {"The answer says that it may compose, and is too old for that.", true, 40 * time.Second},
		"VeryLateAnswer":  {"The next run has reserved anew since.", true, window + time.Second},
		"AnswerAfterThat": {"The VM is there.", true, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := fleetOf(t, 2, 4, "az1")
				service := newLedgerService(t, map[string]string{"first": "default", "next": "default"})
				rows := service.start(filepath.Join(service.folder, "ledger.db"))
				t.Cleanup(service.stop)
				first := &pausingLedger{frontEndLedger: service.open(t, "first"), answered: tc.answered, paused: make(chan struct{}), resume: make(chan struct{})}
				next := service.open(t, "next")

				release := holdElsewhere(t, first, rows)
				defer release()
				ended := make(chan error)
				p := r.start(t, first, 0, breakage{})
				p.breaker.compose = func() { t.Errorf("%s\nThe program that stood still sends a compose.", tc.reason) }
				go func() {
					_, err := p.applyVM(smallVM("web-1", engine.Placement{}))
					ended <- err
				}()
				<-first.paused

				releaseNext, err := next.Hold(t.Context(), vmKey)
				if err != nil {
					t.Fatalf("The lease of a run that gives no sign of life is free: %v", err)
				}
				q := r.start(t, next, 0, breakage{})
				done := make(chan engine.VM, 1)
				go func() {
					defer close(done)
					defer releaseNext()
					vm, err := q.applyVM(smallVM("web-1", engine.Placement{}))
					if err != nil {
						t.Errorf("the next run: %v", err)
					}
					done <- vm
				}()
				time.Sleep(tc.goesOn)
				close(first.resume)
				err = <-ended
				if !errors.Is(err, engine.ErrConflict) {
					t.Errorf("%s\nwant that another run makes it or has made it, got %v", tc.reason, err)
				}
				vm := <-done
				<-done // it has given its lease back
				if n := r.countComposes(); n != 1 {
					t.Errorf("%s\n%d composes, want that of the next run alone", tc.reason, n)
				}
				if instances := r.sim.Instances(); len(instances) != 1 || instances[0].MachineID != vm.SystemID {
					t.Errorf("%s\nwant the VM of the next run, got %+v", tc.reason, instances)
				}
			})
		})
	}
}

// holdElsewhere takes the lease of web-1 for a program, as if it ran on another machine and
// stood still from now on. Nobody here sees its process, and its heartbeat does not change.
func holdElsewhere(t *testing.T, mine ledger.RegionLedger, rows *ledger.Ledger) (release func()) {
	t.Helper()
	release, err := mine.Hold(t.Context(), vmKey)
	if err != nil {
		t.Fatal(err)
	}
	table := rows.LeaseTable()
	held, err := table.Leases(t.Context(), string(vmKey))
	if err != nil || len(held) != 1 {
		t.Fatalf("%d leases, %v", len(held), err)
	}
	there := held[0]
	there.Session, there.Process = "stands still", lease.Process{PID: 7}
	if err := table.DropLease(t.Context(), there.Key, there.Holder); err != nil {
		t.Fatal(err)
	}
	if _, err := table.TakeLease(t.Context(), there, ""); err != nil {
		t.Fatal(err)
	}
	return release
}

// open is the ledger of a program of an owner's.
func (v *ledgerService) open(t *testing.T, owner string) ledger.RegionLedger {
	t.Helper()
	client, err := remote.New(v.clients[owner])
	if err != nil {
		t.Fatal(fmt.Errorf("the client of %s: %w", owner, err))
	}
	t.Cleanup(func() { client.Close() })
	return client.Region(regionMark)
}
