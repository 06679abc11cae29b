// Package lease records which run makes the object of a key. So no other run
// takes the object for an unfinished leftover. A lease is a row in a table of a
// ledger, which may be on another machine. A run that wants a lease decides
// whether its holder lives. It can see a process of the same machine. For any
// other it relies on the heartbeat.
package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// A lease lasts for term after its last heartbeat. On a busy machine it
// survives some late heartbeats.
const (
	leaseTerm         = 30 * time.Second
	heartbeatInterval = 5 * time.Second
	// holderPollInterval is how often a lease is read whose holder is on
	// another machine.
	holderPollInterval = 2 * time.Second
)

// Lease is one row of the table.
type Lease struct {
	Key     engine.Key
	Holder  string // new for each call that takes a lease
	Session string // of the holder's process: one heartbeat serves all its leases
	Process Process
	// BeatMS changes with each heartbeat. It is a time of the table's clock. So
	// is Age, the time since the last heartbeat.
	BeatMS int64
	Age    time.Duration
}

// Table stores the leases of one region. Every write may be sent twice.
type Table interface {
	// TakeLease gives a lease to mine.Holder if nobody has it, or if dead has
	// it. It returns the resulting lease. ErrNotFound if somebody has just
	// given it back.
	TakeLease(ctx context.Context, mine Lease, dead string) (Lease, error)
	// DropLease ends the lease of a holder. A missing lease is no error.
	DropLease(ctx context.Context, key engine.Key, holder string) error
	// BeatLeases records that the process of a session lives.
	BeatLeases(ctx context.Context, session string) error
	// Leases lists the leases of the keys with a prefix, sorted by key.
	Leases(ctx context.Context, prefix string) ([]Lease, error)
}

// Keeper takes leases for this process. One goroutine keeps them alive as long
// as there are any. All its tables must be of one store.
type Keeper struct {
	session string

	mu      sync.Mutex
	holders map[engine.Key]string // of the leases that this process holds
	count   int
	stop    chan struct{}
}

// NewKeeper returns a keeper that holds nothing.
func NewKeeper() *Keeper { return &Keeper{session: rand.Text(), holders: map[engine.Key]string{}} }

// Holder returns the holder name under which this process took the lease of a
// key. Another run may have taken the lease since. Empty: this process holds
// none.
func (k *Keeper) Holder(key engine.Key) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.holders[key]
}

// Hold implements engine.Leases. A lease whose dead holder ran on this machine
// is free at once. For other holders, Hold waits for the end of the heartbeat.
func (k *Keeper) Hold(ctx context.Context, table Table, key engine.Key) (release func(), err error) {
	mine := Lease{Key: key, Holder: rand.Text(), Session: k.session, Process: thisProcess()}
	var w observedLease
	for dead := ""; ; {
		have, err := table.TakeLease(ctx, mine, dead)
		switch {
		case errors.Is(err, engine.ErrNotFound): // its holder has just given it back
			continue
		case err != nil:
			return nil, fmt.Errorf("cannot take the lease of %s: %w", key, err)
		case have.Holder == mine.Holder:
			k.addLease(table, mine)
			return func() { k.giveBack(ctx, table, mine) }, nil
		}
		free, err := w.observe(have)
		if err != nil {
			return nil, err
		}
		if free {
			dead = have.Holder
			continue
		}
		sleepWithContext(ctx, holderPollInterval)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// observedLease is what we have seen of another holder's lease.
type observedLease struct {
	first Lease
	since time.Time
}

// observe reports whether the holder of a lease is dead. If the holder lives,
// the error is an *engine.HeldError. Otherwise it is not known yet.
func (w *observedLease) observe(have Lease) (bool, error) {
	switch lives, seen := have.Process.isAlive(); {
	case seen && !lives:
		return true, nil
	case seen:
		return false, heldError(have)
	case w.first.Holder != have.Holder:
		w.first, w.since = have, time.Now()
	case w.first.BeatMS != have.BeatMS:
		return false, heldError(have)
	case time.Since(w.since) >= leaseTerm:
		return true, nil
	}
	return false, nil
}

func heldError(have Lease) error {
	return &engine.HeldError{Key: have.Key, By: have.Process.String()}
}

// giveBack gives back a lease, even after its caller has given up. A lease that
// cannot be given back ends with the process.
func (k *Keeper) giveBack(ctx context.Context, table Table, mine Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), heartbeatInterval)
	defer cancel()
	defer k.removeLease(mine)
	_ = table.DropLease(ctx, mine.Key, mine.Holder)
}

func (k *Keeper) addLease(table Table, mine Lease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.holders[mine.Key] = mine.Holder
	if k.count++; k.count > 1 {
		return
	}
	k.stop = make(chan struct{})
	go k.sendHeartbeats(table, k.stop)
}

func (k *Keeper) removeLease(mine Lease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.holders[mine.Key] == mine.Holder {
		delete(k.holders, mine.Key)
	}
	if k.count--; k.count == 0 {
		close(k.stop)
	}
}

// sendHeartbeats records that this process lives, with one write for all its
// leases. The next heartbeat makes up for a failed one.
func (k *Keeper) sendHeartbeats(table Table, stop <-chan struct{}) {
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			ctx, cancel := context.WithTimeout(context.Background(), leaseTerm/2)
			_ = table.BeatLeases(ctx, k.session)
			cancel()
		}
	}
}

func sleepWithContext(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
