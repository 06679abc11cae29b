package share

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// phasePredictor learns how long MAAS takes for what this client has begun, so that the
// poller looks when it is likely to be over and not merely often. Machines of
// a fleet are alike: what one took to commission, the next will take.
type phasePredictor struct {
	now      func() time.Time
	interval time.Duration

	mu        sync.Mutex
	visits    map[string]*phaseVisit // by system id
	durations map[engine.Phase][]durationBounds
	scouts    map[engine.Phase]string // system id of the first machine in a phase of which nothing is known
}

func newPhasePredictor(now func() time.Time, interval time.Duration) *phasePredictor {
	return &phasePredictor{
		now: now, interval: interval,
		visits: map[string]*phaseVisit{}, durations: map[engine.Phase][]durationBounds{}, scouts: map[engine.Phase]string{},
	}
}

// phaseVisit is a machine's time in a phase so far.
type phaseVisit struct {
	phase       engine.Phase
	since       time.Time
	startedHere bool      // since is when this client began it, not when it was first seen
	lastSeen    time.Time // the last time that the machine was seen in it
	earlyPolls  int       // looks that came too early although the time seemed over
}

// durationBounds bounds the time that a machine spent in a phase: longer than atLeast,
// as it was then seen in it, and not longer than atMost.
type durationBounds struct{ atLeast, atMost time.Duration }

const (
	// maxDurations is how many of the last stays count.
	maxDurations = 16
	// visitTTL is how long a machine that nobody sees any more is remembered.
	visitTTL = time.Hour
	// maxClosePolls is how many looks follow closely on one that came too early,
	// each a nearly-th part of the interval later.
	maxClosePolls    = 2
	closePollDivisor = 10
)

// noteStart notes that this client has sent a machine into a phase.
func (p *phasePredictor) noteStart(systemID string, phase engine.Phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.visits[systemID] = &phaseVisit{phase: phase, since: now, startedHere: true, lastSeen: now}
	if v := p.visits[p.scouts[phase]]; v == nil || v.phase != phase {
		p.scouts[phase] = systemID
	}
}

// notePhase notes what a machine was seen in. One that was seen in another phase
// before has left that one.
func (p *phasePredictor) notePhase(systemID string, phase engine.Phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	v := p.visits[systemID]
	switch {
	case v == nil:
		p.visits[systemID] = &phaseVisit{phase: phase, since: now, lastSeen: now}
		p.forgetOldVisits(now)
	case v.phase == phase:
		v.lastSeen = now
	default:
		if v.startedHere {
			known := append(p.durations[v.phase], durationBounds{v.lastSeen.Sub(v.since), now.Sub(v.since)})
			p.durations[v.phase] = known[max(0, len(known)-maxDurations):]
		}
		p.visits[systemID] = &phaseVisit{phase: phase, since: now, lastSeen: now}
	}
}

// notePhaseExpected notes in what phase somebody takes a machine to be who waits for it. Of
// what this client has begun, that is no look: he who began it waits for it some
// microseconds later, and the first look would come an interval after that.
func (p *phasePredictor) notePhaseExpected(systemID string, phase engine.Phase) {
	p.mu.Lock()
	v := p.visits[systemID]
	begun := v != nil && v.startedHere && v.phase == phase
	p.mu.Unlock()
	if !begun {
		p.notePhase(systemID, phase)
	}
}

func (p *phasePredictor) forgetOldVisits(now time.Time) {
	for id, v := range p.visits {
		if now.Sub(v.lastSeen) > visitTTL {
			delete(p.visits, id)
		}
	}
}

// nextPoll says when to look at a machine again: an interval after it was last
// seen, but so that one of the looks comes when others have been through.
func (p *phasePredictor) nextPoll(systemID string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.visits[systemID]
	if v == nil {
		return p.now().Add(p.interval)
	}
	if !v.startedHere {
		return v.lastSeen.Add(p.interval)
	}
	expected, known := p.expectedDuration(v.phase)
	if !known {
		// One machine is looked at sooner. If its phase was short, the others are
		// looked at as soon as that is known.
		if !v.lastSeen.After(v.since) && p.scouts[v.phase] == systemID {
			return v.since.Add(p.interval / 2)
		}
		return v.lastSeen.Add(p.interval)
	}
	end := v.since.Add(expected)
	if end.After(v.lastSeen) {
		whole := max(0, end.Sub(v.lastSeen)-p.interval/2) / p.interval
		return end.Add(-whole * p.interval)
	}
	if v.earlyPolls <= maxClosePolls {
		return v.lastSeen.Add(p.interval / closePollDivisor)
	}
	return v.lastSeen.Add(p.interval)
}

// noteUnchanged notes that a look found the machine in the same phase still.
func (p *phasePredictor) noteUnchanged(systemID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.visits[systemID]
	if v == nil || !v.startedHere {
		return
	}
	if expected, known := p.expectedDuration(v.phase); known && v.lastSeen.Sub(v.since) >= expected {
		v.earlyPolls++
	}
}

// expectedDuration is how long a phase is going to take: as long as for the faster of
// the last machines, at most. As long as no machine was seen in it shortly
// before that, it is tried a little earlier each time.
func (p *phasePredictor) expectedDuration(phase engine.Phase) (time.Duration, bool) {
	known := slices.Clone(p.durations[phase])
	if len(known) == 0 {
		return 0, false
	}
	slices.SortFunc(known, func(a, b durationBounds) int { return cmp.Compare(a.atMost, b.atMost) })
	most, least := known[len(known)/4].atMost, time.Duration(0)
	for _, s := range known {
		if s.atLeast < most {
			least = max(least, s.atLeast)
		}
	}
	step := p.interval / closePollDivisor
	return max(most-step, min(most, least+step/2)), true
}
