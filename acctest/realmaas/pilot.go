package realmaas

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"
)

// Pilot drives the machines of a run through their transitions, where nothing boots.
// A story tells it to hold a machine, or how a transition is to end.
type Pilot struct {
	drive  Drive
	client *Client
	isOurs func(Machine) bool // the machines that it may drive
	isLent func(Machine) bool // those of them that run an LXD once they are deployed
	pause  time.Duration
	report func(string)
	// CommandTimeout is how long a command may run. It is killed then, and called again later.
	CommandTimeout time.Duration
	// RetryAfter is the time after which a machine that still is as before is driven again.
	RetryAfter time.Duration

	mu     sync.Mutex
	orders map[string]order // by hostname
	driven map[string]driveState
}

// order is what a story wants of the machine of a hostname.
type order struct {
	held         bool
	replacements map[Verb]Verb // another verb in the place of one
}

// driveState says what is being done to a machine, or was last done.
type driveState struct {
	verb       Verb
	begun      time.Time
	ended      time.Time
	running    bool // its command runs
	succeeded  bool // its command has ended with 0
	leftStatus bool // the machine has left the status while the command ran
}

// NewPilot is a pilot that looks at the machines after each pause. It reports what
// goes wrong.
func NewPilot(c *Client, d Drive, ours, lent func(Machine) bool, pause time.Duration, report func(string)) *Pilot {
	return &Pilot{
		client: c, drive: d, isOurs: ours, isLent: lent, pause: pause, report: report, CommandTimeout: 10 * time.Minute, RetryAfter: 15 * time.Second,
		orders: map[string]order{}, driven: map[string]driveState{},
	}
}

// Hold leaves the machine of a hostname as it is, until [Pilot.Release].
func (p *Pilot) Hold(hostname string) { p.changeOrder(hostname, func(o *order) { o.held = true }) }

// Release lets the machine of a hostname go on.
func (p *Pilot) Release(hostname string) { p.changeOrder(hostname, func(o *order) { o.held = false }) }

// ReplaceVerb makes a transition of the machine of a hostname end otherwise, once.
func (p *Pilot) ReplaceVerb(hostname string, verb, otherwise Verb) {
	p.changeOrder(hostname, func(o *order) { o.replacements[verb] = otherwise })
}

func (p *Pilot) changeOrder(hostname string, edit func(*order)) {
	hostname = strings.ToLower(hostname) // as MAAS has it
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.orders[hostname]
	if o.replacements == nil {
		o.replacements = map[Verb]Verb{}
	}
	edit(&o)
	p.orders[hostname] = o
}

// Run drives until ctx ends. Each machine has a command of its own: one that takes long
// holds up no other machine.
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

// runCommand calls the command for what is due, and notes how it ended.
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

// startDue is what is to be done to a machine now, if anything: the verb of its status, and
// what a story orders in its place. It notes that it is being done. The machine was
// asked for at that time: an answer that was under way while a command ended shows the
// status from before it.
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

// verbFor is what a machine in this state waits for.
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
