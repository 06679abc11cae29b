package assembly_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
)

// chaosLedger is a ledger with its history: it can be lost, and be restored from a
// copy that was taken earlier.
type chaosLedger struct {
	s    *schedule
	kind string
	dir  string // empty: in memory
	// service serves the ledger to the programs; nil: each has the file, or the memory.
	service *ledgerService

	mu        sync.Mutex
	rows      *ledger.Ledger
	edition   int // another one for each ledger that was lost
	path      string
	yesterday string // a copy; empty: there is none
	users     map[*programRun]bool
}

func newChaosLedger(s *schedule, kind string, onDisk bool) *chaosLedger {
	b := &chaosLedger{s: s, kind: kind, users: map[*programRun]bool{}}
	if onDisk {
		b.kind += ", on disk"
		b.dir = makeScratchFolder(s.t)
		b.path = filepath.Join(b.dir, "0.db")
	}
	b.open()
	s.t.Cleanup(b.close)
	return b
}

// makeScratchFolder is a folder in memory where there is one: what is written there is
// not waited for.
func makeScratchFolder(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "chaos")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (b *chaosLedger) open() {
	if b.service != nil {
		b.rows = b.service.start(b.path)
		return
	}
	if b.dir == "" {
		b.rows = ledger.NewMemory(nil)
		return
	}
	rows, err := ledger.OpenFile(context.Background(), b.path)
	if err != nil {
		b.s.t.Fatal(err)
	}
	b.rows = rows
}

func (b *chaosLedger) close() {
	if b.service != nil {
		b.service.stop()
		return
	}
	b.s.checkNoError(b.rows.Close())
}

// reopen opens the ledger that there is, after its service has died.
func (b *chaosLedger) reopen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open()
}

// lend gives the ledger to a program, until it returns it.
func (b *chaosLedger) lend(l *programRun) (rows engine.Ledger, edition int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.users[l] = true
	if b.service == nil {
		return b.rows, b.edition
	}
	client, err := remote.New(b.service.clients[l.owner.name])
	if err != nil {
		b.s.t.Fatal(err)
	}
	l.hangUp = client.Close
	return client.Region(regionMark), b.edition
}

func (b *chaosLedger) giveBack(l *programRun) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.users, l)
}

// copyAside keeps a copy of the ledger as it is.
func (b *chaosLedger) copyAside() {
	b.mu.Lock()
	defer b.mu.Unlock()
	copied := filepath.Join(b.dir, fmt.Sprintf("copy-%d.db", b.edition))
	if b.dir == "" || b.yesterday == copied {
		return
	}
	db, err := sql.Open("sqlite", b.path)
	if err != nil {
		b.s.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`VACUUM INTO ?`, copied); err != nil {
		b.s.t.Fatal(err)
	}
	b.yesterday = copied
	b.s.note("world", "the ledger (%s) was copied", b.kind)
}

// lose puts an empty ledger, or yesterday's, in the place of the one that
// there is. Nobody survives that.
func (b *chaosLedger) lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for l := range b.users {
		l.crash("with its ledger")
	}
	b.close()
	b.edition++
	what := "empty"
	if b.dir != "" {
		b.path = filepath.Join(b.dir, fmt.Sprintf("%d.db", b.edition))
	}
	if b.yesterday != "" {
		what = "yesterday's"
		b.s.checkNoError(os.Rename(b.yesterday, b.path))
		b.yesterday = ""
	}
	b.open()
	b.s.note("world", "the ledger (%s) is lost: an %s one is in its place", b.kind, what)
}

// loseLedgers does so at random times in some schedules.
func (s *schedule) loseLedgers(stop <-chan struct{}) {
	for _, o := range s.owners {
		d := s.newDice("ledger", o.name)
		if d.IntN(3) > 0 {
			continue
		}
		if !s.pause(stop, time.Duration(d.IntN(120_000))*time.Millisecond) {
			return
		}
		o.ledger.copyAside()
		if !s.pause(stop, time.Duration(d.IntN(120_000))*time.Millisecond) {
			return
		}
		o.ledger.lose()
	}
}

// pause sleeps, and reports whether the schedule still goes on.
func (s *schedule) pause(stop <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-timer.C:
		return true
	}
}

// crashableLedger is the ledger as a program sees it: what is dead writes nothing, and
// some die just before or after they have written.
type crashableLedger struct {
	engine.Ledger
	life *programRun
}

func (m crashableLedger) writeOrCrash(what string, key engine.Key, do func() error) error {
	if m.life.dead.Load() {
		return context.Canceled
	}
	d := m.life.newDice("ledger " + what + " " + string(key))
	fate := d.Float64()
	if !m.life.undisturbed && fate < m.life.s.disturbances.death/2 {
		m.life.crash("before " + what + " " + string(key))
		return context.Canceled
	}
	err := do()
	if !m.life.undisturbed && fate > 1-m.life.s.disturbances.death/2 {
		m.life.crash("after " + what + " " + string(key))
		return context.Canceled
	}
	return err
}

// CurrentTag implements engine.Ledger.
func (m crashableLedger) CurrentTag(ctx context.Context) (tag engine.Tag, err error) {
	if m.life.dead.Load() {
		return engine.Tag{}, context.Canceled
	}
	return m.Ledger.CurrentTag(ctx)
}

// AcceptsInventory implements engine.Ledger.
func (m crashableLedger) AcceptsInventory(ctx context.Context, inventory engine.Tag) (bool, error) {
	if m.life.dead.Load() {
		return false, context.Canceled
	}
	return m.Ledger.AcceptsInventory(ctx, inventory)
}

// Row implements engine.Ledger.
func (m crashableLedger) Row(ctx context.Context, key engine.Key) (engine.Row, error) {
	if m.life.dead.Load() {
		return engine.Row{}, context.Canceled
	}
	return m.Ledger.Row(ctx, key)
}

// Place implements engine.Ledger.
func (m crashableLedger) Place(ctx context.Context, r engine.Reservation) (row engine.Row, fresh bool, err error) {
	m.life.s.witness.noteReservation(r.Key)
	err = m.writeOrCrash("place", r.Key, func() error {
		row, fresh, err = m.Ledger.Place(ctx, r)
		m.life.s.note(m.life.name, "placed %s: host %s, attempt %d, %s, fresh %t, %v", r.Key, row.HostKey, row.Attempt, row.State, fresh, err)
		return err
	})
	return row, fresh, err
}

// Move implements engine.Ledger.
func (m crashableLedger) Move(ctx context.Context, attempt int, r engine.Reservation) (row engine.Row, fresh bool, err error) {
	m.life.s.witness.noteReservation(r.Key)
	err = m.writeOrCrash("move", r.Key, func() error {
		row, fresh, err = m.Ledger.Move(ctx, attempt, r)
		m.life.s.note(m.life.name, "moved %s: host %s, attempt %d, %s, fresh %t, %v", r.Key, row.HostKey, row.Attempt, row.State, fresh, err)
		return err
	})
	return row, fresh, err
}

// Bind implements engine.Ledger.
func (m crashableLedger) Bind(ctx context.Context, row engine.Row) error {
	return m.writeOrCrash("bind", row.Key, func() error { return m.Ledger.Bind(ctx, row) })
}

// MarkLeaving implements engine.Ledger.
func (m crashableLedger) MarkLeaving(ctx context.Context, key engine.Key) error {
	return m.writeOrCrash("leaving", key, func() error { return m.Ledger.MarkLeaving(ctx, key) })
}

// Drop implements engine.Ledger.
func (m crashableLedger) Drop(ctx context.Context, row engine.Row) error {
	return m.writeOrCrash("drop", row.Key, func() error { return m.Ledger.Drop(ctx, row) })
}
