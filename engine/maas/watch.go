package maas

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// poller looks at all machines that somebody waits for, every interval, while
// there are any.
type poller struct {
	client   *Client
	interval time.Duration

	mu      sync.Mutex
	watches map[*watch]struct{}
	stop    context.CancelFunc // of the running goroutine
}

type watch struct {
	seen    engine.Machine
	changed chan struct{}
	forget  func() bool // the end of its ctx matters no longer
}

// Changed implements engine.Machines.
func (c *Client) Changed(ctx context.Context, seen engine.Machine) <-chan struct{} {
	w := &watch{seen: seen, changed: make(chan struct{})}
	c.poller.add(ctx, w)
	return w.changed
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
		p.stop = stop
		go p.run(ctx)
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

func (p *poller) run(ctx context.Context) {
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.look(ctx)
		}
	}
}

// look reads all watched machines through the coalescer and wakes those who
// wait for one that has changed. What cannot be read is left for the next
// look.
func (p *poller) look(ctx context.Context) {
	watches := p.current()
	l := p.client.looks.begin()
	found := p.read(ctx, watches)
	var changed []*watch
	for _, w := range watches {
		id := w.seen.SystemID
		if machines, ok := found[id]; ok && differs(w.seen, machines) {
			l.keep(id, machines)
			changed = append(changed, w)
		}
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
			batches[id] = p.client.byID.join(ctx, id)
		}
	}
	found := map[string][]engine.Machine{}
	for id, b := range batches {
		machines, err := b.wait(ctx)
		if err != nil {
			p.client.log.LogAttrs(ctx, slog.LevelDebug, "look at a watched machine failed", slog.Any("error", err))
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
