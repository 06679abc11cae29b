package share

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// poller looks at the machines that somebody waits for, at each of them every
// interval, and when the pace says that it is time.
type poller struct {
	byID  *coalescer
	looks *looks
	log   *slog.Logger
	pace  *pace

	mu      sync.Mutex
	watches map[*watch]struct{}
	stop    context.CancelFunc // of the running goroutine
	sooner  chan struct{}      // tells it of a new watch
}

type watch struct {
	seen    engine.Machine
	changed chan struct{}
	forget  func() bool // the end of its ctx matters no longer
}

func (p *poller) add(ctx context.Context, w *watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watches == nil {
		p.watches = map[*watch]struct{}{}
	}
	p.watches[w] = struct{}{}
	w.forget = context.AfterFunc(ctx, func() { p.remove(w) })
	if len(p.watches) == 1 {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		p.stop, p.sooner = stop, make(chan struct{}, 1)
		go p.run(ctx, p.sooner)
		return
	}
	select {
	case p.sooner <- struct{}{}:
	default: // it has not taken the last one yet
	}
}

// remove forgets a watch, and ends the goroutine with the last one.
func (p *poller) remove(w *watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.watches[w]; !ok {
		return
	}
	delete(p.watches, w)
	w.forget()
	if len(p.watches) == 0 {
		p.stop()
	}
}

// grain is to what due times are rounded up, in parts of the interval, so that
// looks at several machines become one.
const grain = 20

func (p *poller) run(ctx context.Context, sooner <-chan struct{}) {
	for {
		timer := time.NewTimer(p.pause())
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-sooner:
			timer.Stop()
		case <-timer.C:
			p.look(ctx)
		}
	}
}

// pause is the time until the next machine is due.
func (p *poller) pause() time.Duration {
	step := max(p.pace.interval/grain, time.Millisecond)
	now := p.pace.now()
	pause := p.pace.interval
	for _, w := range p.current() {
		pause = min(pause, p.pace.due(w.seen.SystemID).Sub(now))
	}
	return max(step, (pause+step-1)/step*step)
}

// look reads the machines that are due through the coalescer and wakes those
// who wait for one that has changed. What cannot be read is left for the next
// look.
func (p *poller) look(ctx context.Context) {
	now := p.pace.now()
	watches := slices.DeleteFunc(p.current(), func(w *watch) bool { return p.pace.due(w.seen.SystemID).After(now) })
	if len(watches) == 0 {
		return
	}
	l := p.looks.begin()
	found := p.read(ctx, watches)
	var changed []*watch
	for _, w := range watches {
		id := w.seen.SystemID
		if machines, ok := found[id]; !ok {
			p.pace.saw(id, w.seen.Status.Phase()) // a look that failed is not repeated at once
		} else if differs(w.seen, machines) {
			l.keep(id, machines)
			changed = append(changed, w)
		}
		p.pace.missed(id)
	}
	l.end()
	for _, w := range changed {
		p.remove(w)
		close(w.changed)
	}
}

// read returns what MAAS shows of each watched machine, by its id. A machine
// that is gone has an empty list; one that could not be read has none.
func (p *poller) read(ctx context.Context, watches []*watch) map[string][]engine.Machine {
	batches := map[string]*batch{}
	for _, w := range watches {
		if id := w.seen.SystemID; batches[id] == nil {
			batches[id] = p.byID.join(ctx, id)
		}
	}
	p.byID.start() // all that are due are in it
	found := map[string][]engine.Machine{}
	for id, b := range batches {
		machines, err := b.wait(ctx)
		if err != nil {
			p.log.LogAttrs(ctx, slog.LevelDebug, "look at a watched machine failed", slog.Any("error", err))
			continue
		}
		found[id] = machines[id]
	}
	return found
}

func (p *poller) current() []*watch {
	p.mu.Lock()
	defer p.mu.Unlock()
	watches := make([]*watch, 0, len(p.watches))
	for w := range p.watches {
		watches = append(watches, w)
	}
	return watches
}

// differs tells whether a machine is gone or no longer looks as seen.
func differs(seen engine.Machine, found []engine.Machine) bool {
	if len(found) == 0 {
		return true
	}
	now := found[0]
	return now.Status != seen.Status || now.StatusMessage != seen.StatusMessage || now.PowerState != seen.PowerState
}
