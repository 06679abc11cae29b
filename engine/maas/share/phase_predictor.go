package share

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// phasePredictor learns how long MAAS needs for phases that this client has started. So the
// poller can poll when a phase probably ends. Machines of a fleet are alike: the next
// commissioning takes as long as the last one.
type phasePredictor struct {
	now      func() time.Time
	interval time.Duration

	mu        sync.Mutex
	visits    map[string]*phaseVisit // by system id
	durations map[engine.Phase][]durationBounds
	scouts    map[engine.Phase]string // system id of the first machine in a phase of unknown duration
}

func newPhasePredictor(now func() time.Time, interval time.Duration) *phasePredictor {
	return &phasePredictor{
		now: now, interval: interval,
		visits: map[string]*phaseVisit{}, durations: map[engine.Phase][]durationBounds{}, scouts: map[engine.Phase]string{},
	}
}

// phaseVisit is the time that a machine has spent in its current phase so far.
type phaseVisit struct {
	phase       engine.Phase
	since       time.Time
	startedHere bool      // since is when this client started the phase, not when a poll first saw it
	lastSeen    time.Time // when a read last showed this phase
	earlyPolls  int       // polls after the expected end that still saw this phase
}

// durationBounds bounds the time that a machine spent in a phase. At atLeast a read still
// saw the phase; at atMost a read saw the next one.
type durationBounds struct{ atLeast, atMost time.Duration }

const (
	// maxDurations is how many durations of a phase are kept. The expected duration is the
	// fastest quarter's, so a dozen must be kept for a steady value. Fewer make the polls of
	// many machines at once less precise, and more of them too early.
	maxDurations = 48
	// visitTTL is how long a machine is remembered after its last read.
	visitTTL = time.Hour
	// After the expected end, maxClosePolls polls follow closely, each
	// interval/closePollDivisor after the last.
	maxClosePolls    = 2
	closePollDivisor = 10
)

// noteStart notes that this client has started a phase of a machine.
func (p *phasePredictor) noteStart(systemID string, phase engine.Phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.visits[systemID] = &phaseVisit{phase: phase, since: now, startedHere: true, lastSeen: now}
	if v := p.visits[p.scouts[phase]]; v == nil || v.phase != phase {
		p.scouts[phase] = systemID
	}
}

// notePhase notes the phase that a read showed. If it differs from the phase before, the
// machine has left that phase, and its duration is kept.
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

// notePhaseExpected notes the phase in which a caller begins to watch a machine. It does
// not count as a read if this client started that phase. Otherwise the watch, which begins
// microseconds after the start, would delay the first poll by an interval.
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

// nextPoll returns when to poll a machine again. This is usually one interval after the
// last read. If the duration of the phase is known, the polls are moved so that one of them
// falls on the expected end.
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
		// One machine, the scout, is polled sooner. If its phase was short, the others are
		// polled as soon as that is known.
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

// noteUnchanged counts a poll that still found the phase after its expected end.
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

// expectedDuration returns how long a phase probably takes. It is at most the upper bound
// of the fastest quarter of the last machines. While the bounds are wide, it is a little
// shorter each time, until a poll comes just before the end.
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
