package realmaas

import (
	"context"
	"strings"
	"sync"
	"time"
)

// Pilot drives the machines of a run through their transitions, where nothing boots.
// A story tells it to hold a machine, or how a transition is to end.
type Pilot struct {
	drive  Drive
	client *Client
	ours   func(Machine) bool // the machines that it may drive
	lent   func(Machine) bool // those of them that run an LXD once they are deployed
	pause  time.Duration
	report func(string)

	mu     sync.Mutex
	orders map[string]order // by hostname
	driven map[string]drivenAt
}

// order is what a story wants of the machine of a hostname.
type order struct {
	held bool
	ends map[Verb]Verb // another verb in the place of one
}

// drivenAt says what was last done to a machine.
type drivenAt struct {
	verb Verb
	when time.Time
}

// again is the time after which a machine that still is as before is driven again.
const again = 15 * time.Second

// NewPilot is a pilot that looks at the machines after each pause. It reports what
// goes wrong.
func NewPilot(c *Client, d Drive, ours, lent func(Machine) bool, pause time.Duration, report func(string)) *Pilot {
	return &Pilot{
		client: c, drive: d, ours: ours, lent: lent, pause: pause, report: report,
		orders: map[string]order{}, driven: map[string]drivenAt{},
	}
}

// Hold leaves the machine of a hostname as it is, until [Pilot.Release].
func (p *Pilot) Hold(hostname string) { p.change(hostname, func(o *order) { o.held = true }) }

// Release lets the machine of a hostname go on.
func (p *Pilot) Release(hostname string) { p.change(hostname, func(o *order) { o.held = false }) }

// End makes a transition of the machine of a hostname end otherwise, once.
func (p *Pilot) End(hostname string, verb, otherwise Verb) {
	p.change(hostname, func(o *order) { o.ends[verb] = otherwise })
}

func (p *Pilot) change(hostname string, edit func(*order)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.orders[hostname]
	if o.ends == nil {
		o.ends = map[Verb]Verb{}
	}
	edit(&o)
	p.orders[hostname] = o
}

// Run drives until ctx ends.
func (p *Pilot) Run(ctx context.Context) {
	for Wait(ctx, p.pause) == nil {
		machines, err := p.client.Machines(ctx)
		if err != nil {
			if ctx.Err() == nil {
				p.report("cannot look at the machines: " + err.Error())
			}
			continue
		}
		var wait sync.WaitGroup
		for _, m := range machines {
			verb, due := p.due(m, time.Now())
			if !due {
				continue
			}
			wait.Go(func() {
				if _, err := p.drive.Run(ctx, verb, m.SystemID); err != nil && ctx.Err() == nil {
					p.report(err.Error())
				}
			})
		}
		wait.Wait()
	}
}

// due is what is to be done to a machine now, if anything. It notes that it is done.
func (p *Pilot) due(m Machine, now time.Time) (Verb, bool) {
	if !p.ours(m) {
		return "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	verb, ok := p.verb(m)
	if !ok {
		delete(p.driven, m.SystemID)
		return "", false
	}
	o := p.orders[strings.ToLower(m.Hostname)]
	last := p.driven[m.SystemID]
	if o.held || last.verb == verb && (verb == Booted || now.Sub(last.when) < again) {
		return "", false
	}
	p.driven[m.SystemID] = drivenAt{verb, now}
	if otherwise, ok := o.ends[verb]; ok {
		delete(o.ends, verb)
		return otherwise, true
	}
	return verb, true
}

// verb is what a machine in this state waits for.
func (p *Pilot) verb(m Machine) (Verb, bool) {
	switch m.StatusName {
	case "Commissioning", "Testing":
		return Commissioned, true
	case "Deploying":
		return Deployed, true
	case "Deployed":
		return Booted, p.lent(m)
	}
	return "", false
}
