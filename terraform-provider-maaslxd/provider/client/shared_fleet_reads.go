package client

import (
	"context"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine/fleet"
)

// fleetJoinWindow is how long a read of the fleet waits for others to join it. Terraform
// starts the reads of a run's data sources within milliseconds.
const fleetJoinWindow = 15 * time.Millisecond

// sharedFleetReads makes one read of the fleet out of several that are asked for at the same
// moment, or while another one runs. A caller only joins a read that has not begun, so it
// misses nothing that was made before.
type sharedFleetReads struct {
	readFleet func(context.Context) (fleet.Fleet, error)
	readSlot  chan struct{} // held by the running read

	mu       sync.Mutex
	nextRead *sharedFleetRead // not begun; nil: there is none
}

func newSharedFleetReads(look func(context.Context) (fleet.Fleet, error)) *sharedFleetReads {
	return &sharedFleetReads{readFleet: look, readSlot: make(chan struct{}, 1)}
}

type sharedFleetRead struct {
	done  chan struct{}
	fleet fleet.Fleet
	err   error
}

// read returns the fleet. The result is shared, so do not change it.
func (l *sharedFleetReads) read(ctx context.Context) (fleet.Fleet, error) {
	look := l.join(ctx)
	select {
	case <-look.done:
		return look.fleet, look.err
	case <-ctx.Done():
		return fleet.Fleet{}, ctx.Err()
	}
}

func (l *sharedFleetReads) join(ctx context.Context) *sharedFleetRead {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nextRead == nil {
		l.nextRead = &sharedFleetRead{done: make(chan struct{})}
		go l.run(context.WithoutCancel(ctx), l.nextRead) // the others stay when the first one leaves
	}
	return l.nextRead
}

func (l *sharedFleetReads) run(ctx context.Context, look *sharedFleetRead) {
	defer close(look.done)
	l.readSlot <- struct{}{}
	defer func() { <-l.readSlot }()
	time.Sleep(fleetJoinWindow)
	l.mu.Lock()
	l.nextRead = nil
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, ReadTimeout)
	defer cancel()
	look.fleet, look.err = l.readFleet(ctx)
}
