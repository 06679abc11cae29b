package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

var _ engine.Leases = (*Ledger)(nil)

// A lease lasts for leaseTerm after its last heartbeat. It outlives some beats
// that come late, on a busy machine.
const (
	leaseTerm = 30 * time.Second
	leaseBeat = 5 * time.Second
	// leaseLook is how often a lease is looked at whose holder cannot be seen.
	leaseLook = 2 * time.Second
)

// hold takes a lease that nobody has, or whose holder is the one who was found
// dead.
//
//	?1 region  ?2 key  ?3 holder  ?4 session  ?5 machine  ?6 pid  ?7 started  ?8 now  ?9 dead holder
//	?10 parent  ?11 when it was started
const hold = `
INSERT INTO leases (region, key, holder, session, machine, pid, started, parent, parent_started, beat_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?10, ?11, ?8)
ON CONFLICT (region, key) DO UPDATE SET
  holder = excluded.holder, session = excluded.session, machine = excluded.machine,
  pid = excluded.pid, started = excluded.started,
  parent = excluded.parent, parent_started = excluded.parent_started, beat_ms = excluded.beat_ms
WHERE leases.holder = ?9`

// lease is one row.
type lease struct {
	holder  string
	process process
	beatMS  int64
}

// Hold implements engine.Leases. What a process of this machine holds that is
// dead is free at once. Of others, only their heartbeat tells: that is waited for.
func (l *Ledger) Hold(ctx context.Context, key engine.Key) (release func(), err error) {
	holder, dead := newToken(), ""
	var first lease
	since := time.Now()
	for {
		me := thisProcess()
		err := l.store.exec(ctx, hold, l.region, key, holder, l.store.beats.session, me.machine, me.pid, me.started, l.now().UnixMilli(), dead, me.parent, me.parentStarted)
		if err != nil {
			return nil, fmt.Errorf("cannot take the lease of %s: %w", key, err)
		}
		have, err := l.lease(ctx, key)
		switch {
		case errors.Is(err, sql.ErrNoRows): // its holder has just given it back
			continue
		case err != nil:
			return nil, fmt.Errorf("cannot read the lease of %s: %w", key, err)
		case have.holder == holder:
			l.store.beats.begin(l)
			return func() { l.letGo(ctx, key, holder) }, nil
		}
		switch lives, seen := have.process.lives(); {
		case seen && !lives:
			dead = have.holder
			continue
		case seen:
			return nil, heldError(key, have.process)
		case first.holder != have.holder:
			first, since = have, time.Now()
		case first.beatMS != have.beatMS:
			return nil, heldError(key, have.process)
		case time.Since(since) >= leaseTerm:
			dead = have.holder
			continue
		}
		sleep(ctx, leaseLook)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

func (l *Ledger) lease(ctx context.Context, key engine.Key) (have lease, err error) {
	p := &have.process
	err = l.store.row(ctx, `SELECT holder, machine, pid, started, parent, parent_started, beat_ms FROM leases WHERE region = ?1 AND key = ?2`,
		[]any{l.region, key}, &have.holder, &p.machine, &p.pid, &p.started, &p.parent, &p.parentStarted, &have.beatMS)
	return have, err
}

// letGo gives a lease back, also where its caller has given up. One that cannot be
// given back ends with the process.
func (l *Ledger) letGo(ctx context.Context, key engine.Key, holder string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseBeat)
	defer cancel()
	defer l.store.beats.end()
	// Not by the region: that of a MAAS may have got another name since.
	_ = l.store.exec(ctx, `DELETE FROM leases WHERE key = ?1 AND holder = ?2`, key, holder)
}

func heldError(key engine.Key, by process) error {
	return &engine.HeldError{Key: key, By: by.String()}
}

// beats keeps the leases of a store alive, by one goroutine as long as there are
// any.
type beats struct {
	session string

	mu    sync.Mutex
	count int
	stop  chan struct{}
}

func (b *beats) begin(l *Ledger) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count++; b.count > 1 {
		return
	}
	b.stop = make(chan struct{})
	go l.beat(b.stop)
}

func (b *beats) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count--; b.count == 0 {
		close(b.stop)
	}
}

// beat writes that this process lives, one write for all that it holds. One that
// fails is left for the next.
func (l *Ledger) beat(stop <-chan struct{}) {
	tick := time.NewTicker(leaseBeat)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			_ = l.store.exec(context.Background(), `UPDATE leases SET beat_ms = ?2 WHERE session = ?1`, l.store.beats.session, l.now().UnixMilli())
		}
	}
}
