package share

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// pace learns how long MAAS takes for what this client has begun, so that the
// poller looks when it is likely to be over and not merely often. Machines of
// a fleet are alike: what one took to commission, the next will take.
type pace struct {
	now      func() time.Time
	interval time.Duration

	mu     sync.Mutex
	visits map[string]*visit // by system id
	stays  map[engine.Phase][]stay
	scouts map[engine.Phase]string // system id of the first machine in a phase of which nothing is known
}

func newPace(now func() time.Time, interval time.Duration) *pace {
	return &pace{
		now: now, interval: interval,
		visits: map[string]*visit{}, stays: map[engine.Phase][]stay{}, scouts: map[engine.Phase]string{},
	}
}

// visit is a machine's time in a phase so far.
type visit struct {
	phase engine.Phase
	since time.Time
	begun bool      // since is when this client began it, not when it was first seen
	seen  time.Time // the last time that the machine was seen in it
	late  int       // looks that came too early although the time seemed over
}

// stay bounds the time that a machine spent in a phase: longer than atLeast,
// as it was then seen in it, and not longer than atMost.
type stay struct{ atLeast, atMost time.Duration }

const (
	// stays is how many of the last stays count.
	stays = 16
	// forgotten is how long a machine that nobody sees any more is remembered.
	forgotten = time.Hour
	// lateLooks is how many looks follow closely on one that came too early,
	// each a nearly-th part of the interval later.
	lateLooks = 2
	nearly    = 10
)

// begin notes that this client has sent a machine into a phase.
func (p *pace) begin(systemID string, phase engine.Phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.visits[systemID] = &visit{phase: phase, since: now, begun: true, seen: now}
	if v := p.visits[p.scouts[phase]]; v == nil || v.phase != phase {
		p.scouts[phase] = systemID
	}
}

// saw notes what a machine was seen in. One that was seen in another phase
// before has left that one.
func (p *pace) saw(systemID string, phase engine.Phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	v := p.visits[systemID]
	switch {
	case v == nil:
		p.visits[systemID] = &visit{phase: phase, since: now, seen: now}
		p.tidy(now)
	case v.phase == phase:
		v.seen = now
	default:
		if v.begun {
			known := append(p.stays[v.phase], stay{v.seen.Sub(v.since), now.Sub(v.since)})
			p.stays[v.phase] = known[max(0, len(known)-stays):]
		}
		p.visits[systemID] = &visit{phase: phase, since: now, seen: now}
	}
}

// expect notes in what phase somebody takes a machine to be who waits for it. Of
// what this client has begun, that is no look: he who began it waits for it some
// microseconds later, and the first look would come an interval after that.
func (p *pace) expect(systemID string, phase engine.Phase) {
	p.mu.Lock()
	v := p.visits[systemID]
	begun := v != nil && v.begun && v.phase == phase
	p.mu.Unlock()
	if !begun {
		p.saw(systemID, phase)
	}
}

func (p *pace) tidy(now time.Time) {
	for id, v := range p.visits {
		if now.Sub(v.seen) > forgotten {
			delete(p.visits, id)
		}
	}
}

// due says when to look at a machine again: an interval after it was last
// seen, but so that one of the looks comes when others have been through.
func (p *pace) due(systemID string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.visits[systemID]
	if v == nil {
		return p.now().Add(p.interval)
	}
	if !v.begun {
		return v.seen.Add(p.interval)
	}
	expected, known := p.expected(v.phase)
	if !known {
		// One machine is looked at sooner. If its phase was short, the others are
		// looked at as soon as that is known.
		if !v.seen.After(v.since) && p.scouts[v.phase] == systemID {
			return v.since.Add(p.interval / 2)
		}
		return v.seen.Add(p.interval)
	}
	end := v.since.Add(expected)
	if end.After(v.seen) {
		whole := max(0, end.Sub(v.seen)-p.interval/2) / p.interval
		return end.Add(-whole * p.interval)
	}
	if v.late <= lateLooks {
		return v.seen.Add(p.interval / nearly)
	}
	return v.seen.Add(p.interval)
}

// missed notes that a look found the machine in the same phase still.
func (p *pace) missed(systemID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.visits[systemID]
	if v == nil || !v.begun {
		return
	}
	if expected, known := p.expected(v.phase); known && v.seen.Sub(v.since) >= expected {
		v.late++
	}
}

// expected is how long a phase is going to take: as long as for the faster of
// the last machines, at most. As long as no machine was seen in it shortly
// before that, it is tried a little earlier each time.
func (p *pace) expected(phase engine.Phase) (time.Duration, bool) {
	known := slices.Clone(p.stays[phase])
	if len(known) == 0 {
		return 0, false
	}
	slices.SortFunc(known, func(a, b stay) int { return cmp.Compare(a.atMost, b.atMost) })
	most, least := known[len(known)/4].atMost, time.Duration(0)
	for _, s := range known {
		if s.atLeast < most {
			least = max(least, s.atLeast)
		}
	}
	step := p.interval / nearly
	return max(most-step, min(most, least+step/2)), true
}
