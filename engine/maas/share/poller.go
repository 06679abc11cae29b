package share

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// poller reads the machines that callers watch. It polls each of them once per interval,
// and also when the phase predictor expects the end of the phase.
type poller struct {
	byID   *coalescer
	polled *pollResults
	log    *slog.Logger
	phases *phasePredictor

	mu       sync.Mutex
	watches  map[*watch]struct{}
	stop     context.CancelFunc // ends runLoop
	newWatch chan struct{}      // wakes runLoop for a new watch
}

type watch struct {
	seen        engine.Machine
	changed     chan struct{}
	stopContext func() bool // detaches the watch from its ctx
}

// addWatch adds a watch until its ctx ends. The first watch starts runLoop.
func (p *poller) addWatch(ctx context.Context, w *watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watches == nil {
		p.watches = map[*watch]struct{}{}
	}
	p.watches[w] = struct{}{}
	w.stopContext = context.AfterFunc(ctx, func() { p.removeWatch(w) })
	if len(p.watches) == 1 {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		p.stop, p.newWatch = stop, make(chan struct{}, 1)
		go p.runLoop(ctx, p.newWatch)
		return
	}
	select {
	case p.newWatch <- struct{}{}:
	default: // runLoop has not received the last signal yet
	}
}

// removeWatch forgets a watch, and tells whether it was still there. With the last one it stops
// runLoop.
func (p *poller) removeWatch(w *watch) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.watches[w]; !ok {
		return false
	}
	delete(p.watches, w)
	w.stopContext()
	if len(p.watches) == 0 {
		p.stop()
	}
	return true
}

// dueTimeDivisor rounds due times up to a fortieth of the interval, so that polls of
// several machines become one call. A release takes half an interval: a coarser step would
// lengthen a destroy by its share of that.
const dueTimeDivisor = 40

func (p *poller) runLoop(ctx context.Context, sooner <-chan struct{}) {
	for {
		timer := time.NewTimer(p.untilNextPoll())
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-sooner:
			timer.Stop()
		case <-timer.C:
			p.pollDue(ctx)
		}
	}
}

// untilNextPoll returns the time until the next machine is due.
func (p *poller) untilNextPoll() time.Duration {
	step := max(p.phases.interval/dueTimeDivisor, time.Millisecond)
	now := p.phases.now()
	pause := p.phases.interval
	for _, w := range p.currentWatches() {
		pause = min(pause, p.phases.nextPoll(w.seen.SystemID).Sub(now))
	}
	return max(step, (pause+step-1)/step*step)
}

// pollDue reads the due machines through the coalescer. It wakes the callers whose machine
// has changed. A machine that cannot be read waits for the next poll.
func (p *poller) pollDue(ctx context.Context) {
	now := p.phases.now()
	watches := slices.DeleteFunc(p.currentWatches(), func(w *watch) bool { return p.phases.nextPoll(w.seen.SystemID).After(now) })
	if len(watches) == 0 {
		return
	}
	l := p.polled.startRun()
	found := p.readMachines(ctx, watches)
	for _, w := range watches {
		id := w.seen.SystemID
		if _, ok := found[id]; !ok {
			p.phases.notePhase(id, w.seen.Status.Phase()) // a failed poll is not repeated at once
		}
		p.phases.noteUnchanged(id)
	}
	changed := changedWatches(watches, found)
	for _, w := range changed {
		l.add(w.seen.SystemID, found[w.seen.SystemID])
	}
	l.finish()
	p.wake(changed)
}

// changedWatches returns the watches of the machines that have changed. A machine that was not
// read has no entry in found.
func changedWatches(watches []*watch, found map[string][]engine.Machine) (changed []*watch) {
	for _, w := range watches {
		if machines, ok := found[w.seen.SystemID]; ok && hasChanged(w.seen, machines) {
			changed = append(changed, w)
		}
	}
	return changed
}

// wake ends watches and wakes their callers.
func (p *poller) wake(watches []*watch) {
	for _, w := range watches {
		if p.removeWatch(w) {
			close(w.changed)
		}
	}
}

// readMachines returns what MAAS shows of each watched machine, by system id. A machine
// that is gone has an empty list. A machine that could not be read has no entry.
func (p *poller) readMachines(ctx context.Context, watches []*watch) map[string][]engine.Machine {
	batches := map[string]*batch{}
	for _, w := range watches {
		if id := w.seen.SystemID; batches[id] == nil {
			batches[id] = p.byID.joinBatch(ctx, id)
		}
	}
	p.byID.startBatch() // every due machine is in the batch
	found := map[string][]engine.Machine{}
	for id, b := range batches {
		machines, err := b.wait(ctx)
		if err != nil {
			p.log.LogAttrs(ctx, slog.LevelDebug, "poll of a watched machine failed", slog.Any("error", err))
			continue
		}
		found[id] = machines[id]
	}
	return found
}

func (p *poller) currentWatches() []*watch {
	p.mu.Lock()
	defer p.mu.Unlock()
	watches := make([]*watch, 0, len(p.watches))
	for w := range p.watches {
		watches = append(watches, w)
	}
	return watches
}

// hasChanged reports whether a machine is gone or differs from seen.
func hasChanged(seen engine.Machine, found []engine.Machine) bool {
	if len(found) == 0 {
		return true
	}
	now := found[0]
	return now.Status != seen.Status || now.StatusMessage != seen.StatusMessage || now.PowerState != seen.PowerState
}
