package client

import (
	"context"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine/fleet"
)

// fleetWindow is how long a look at the fleet waits for others to join it:
// Terraform starts the reads of a run's data sources within milliseconds.
const fleetWindow = 15 * time.Millisecond

// fleetLooks makes one look at the fleet of those that are asked for at the
// same moment, or while another is under way. Who asks only ever joins a look
// that has not begun, so that nobody misses what was made before.
type fleetLooks struct {
	look func(context.Context) (fleet.Fleet, error)
	turn chan struct{} // held by the look that is under way

	mu   sync.Mutex
	open *fleetLook // not begun; nil if there is none
}

func newFleetLooks(look func(context.Context) (fleet.Fleet, error)) *fleetLooks {
	return &fleetLooks{look: look, turn: make(chan struct{}, 1)}
}

type fleetLook struct {
	done  chan struct{}
	fleet fleet.Fleet
	err   error
}

// read returns the fleet, which is shared and must not be changed.
func (l *fleetLooks) read(ctx context.Context) (fleet.Fleet, error) {
	look := l.join(ctx)
	select {
	case <-look.done:
		return look.fleet, look.err
	case <-ctx.Done():
		return fleet.Fleet{}, ctx.Err()
	}
}

func (l *fleetLooks) join(ctx context.Context) *fleetLook {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = &fleetLook{done: make(chan struct{})}
		go l.run(context.WithoutCancel(ctx), l.open) // the others stay when the first one leaves
	}
	return l.open
}

func (l *fleetLooks) run(ctx context.Context, look *fleetLook) {
	defer close(look.done)
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	time.Sleep(fleetWindow)
	l.mu.Lock()
	l.open = nil
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, ReadTimeout)
	defer cancel()
	look.fleet, look.err = l.look(ctx)
}
