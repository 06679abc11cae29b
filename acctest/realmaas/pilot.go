package realmaas

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"
)

// Pilot drives the machines of a run through their transitions, where they do
// not boot. A story can tell it to hold a machine, or how a transition ends.
type Pilot struct {
	drive  Drive
	client *Client
	isOurs func(Machine) bool // machines that it may drive
	isLent func(Machine) bool // machines that run an LXD once they are deployed
	pause  time.Duration
	report func(string)
	// CommandTimeout is how long a command may run. It is then killed, and
	// called again later.
	CommandTimeout time.Duration
	// RetryAfter is the time after which a machine whose status has not changed
	// is driven again.
	RetryAfter time.Duration

	mu     sync.Mutex
	orders map[string]order // by hostname
	driven map[string]driveState
}

// order is what a story wants for the machine of a hostname.
type order struct {
	held         bool
	replacements map[Verb]Verb // a verb and the one that replaces it
}

// driveState is what is being done to a machine, or was done last.
type driveState struct {
	verb       Verb
	begun      time.Time
	ended      time.Time
	running    bool // its command runs
	succeeded  bool // its command has exited with 0
	leftStatus bool // the machine left the status while the command ran
}

// NewPilot makes a pilot that reads the machines after each pause. It reports
// errors.
func NewPilot(c *Client, d Drive, ours, lent func(Machine) bool, pause time.Duration, report func(string)) *Pilot {
	return &Pilot{
		client: c, drive: d, isOurs: ours, isLent: lent, pause: pause, report: report, CommandTimeout: 10 * time.Minute, RetryAfter: 15 * time.Second,
		orders: map[string]order{}, driven: map[string]driveState{},
	}
}

// Hold leaves the machine of a hostname in its state, until [Pilot.Release].
func (p *Pilot) Hold(hostname string) { p.changeOrder(hostname, func(o *order) { o.held = true }) }

// Release drives the machine of a hostname again.
func (p *Pilot) Release(hostname string) { p.changeOrder(hostname, func(o *order) { o.held = false }) }

// ReplaceVerb ends one transition of the machine of a hostname with another
// verb, once.
func (p *Pilot) ReplaceVerb(hostname string, verb, otherwise Verb) {
	p.changeOrder(hostname, func(o *order) { o.replacements[verb] = otherwise })
}

func (p *Pilot) changeOrder(hostname string, edit func(*order)) {
	hostname = strings.ToLower(hostname) // as MAAS writes it
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.orders[hostname]
	if o.replacements == nil {
		o.replacements = map[Verb]Verb{}
	}
	edit(&o)
	p.orders[hostname] = o
}

// Run drives machines until ctx ends. Each machine has a command of its own, so
// a slow one does not delay the others.
func (p *Pilot) Run(ctx context.Context) {
	var commands sync.WaitGroup
	defer commands.Wait()
	for WaitFor(ctx, p.pause) == nil {
		asked := time.Now()
		machines, err := p.client.Machines(ctx)
		if err != nil {
			if ctx.Err() == nil {
				p.report("cannot look at the machines: " + err.Error())
			}
			continue
		}
		for _, m := range machines {
			if verb, ordered, due := p.startDue(m, asked); due {
				commands.Go(func() { p.runCommand(ctx, m, verb, ordered) })
			}
		}
	}
}

// runCommand calls the command for a machine, and stores how it ended.
func (p *Pilot) runCommand(ctx context.Context, m Machine, verb, ordered Verb) {
	limited, cancel := context.WithTimeout(ctx, p.CommandTimeout)
	defer cancel()
	_, err := p.drive.Run(limited, ordered, m.SystemID)
	if err != nil && ctx.Err() == nil {
		p.report(errors.Join(err, limited.Err()).Error())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.driven[m.SystemID]
	last.ended, last.running, last.succeeded = time.Now(), false, err == nil
	if p.driven[m.SystemID] = last; last.leftStatus {
		delete(p.driven, m.SystemID)
	}
	if o := p.orders[strings.ToLower(m.Hostname)]; err == nil && ordered != verb && o.replacements[verb] == ordered {
		delete(o.replacements, verb)
	}
}

// startDue returns what is to be done to a machine now: the verb of its status,
// and the verb that a story ordered instead. It stores that this was started.
// asked is when the machine was requested. An answer from before the last
// command's end shows an old status.
func (p *Pilot) startDue(m Machine, asked time.Time) (verb, ordered Verb, due bool) {
	if !p.isOurs(m) {
		return "", "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	verb, waits := p.verbFor(m)
	last := p.driven[m.SystemID]
	o := p.orders[strings.ToLower(m.Hostname)]
	switch {
	case last.running:
		last.leftStatus = last.leftStatus || !waits || verb != last.verb
		p.driven[m.SystemID] = last
		return "", "", false
	case asked.Before(last.ended):
		return "", "", false
	case !waits:
		delete(p.driven, m.SystemID)
		return "", "", false
	case o.held, last.verb == verb && (last.succeeded && verb == VerbBooted || asked.Sub(last.begun) < p.RetryAfter):
		return "", "", false
	}
	p.driven[m.SystemID] = driveState{verb: verb, begun: time.Now(), running: true}
	return verb, cmp.Or(o.replacements[verb], verb), true
}

// verbFor is the verb for a machine in this state.
func (p *Pilot) verbFor(m Machine) (Verb, bool) {
	switch m.StatusName {
	case "Commissioning", "Testing":
		return VerbCommissioned, true
	case "Deploying":
		return VerbDeployed, true
	case "Deployed":
		return VerbBooted, p.isLent(m)
	}
	return "", false
}
