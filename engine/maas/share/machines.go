// Package share lets many callers share what is read of a MAAS: reads of machines that
// come at the same moment become one call, one poller looks at all machines that
// somebody waits for, and lists that seldom change are cached. It sends nothing itself.
//
// All of it is safe for concurrent use. What is returned may be shared between callers
// and must not be modified.
package share

import (
	"context"
	"log/slog"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Fetch reads the machines of the given keys, by key. A key without machines is
// left out.
type Fetch func(ctx context.Context, keys []string) (map[string][]engine.Machine, error)

// Config is what Machines are made of.
type Config struct {
	// ByHost reads the VMs on VM hosts, by the names of those.
	ByID, ByName, ByHost Fetch
	MaxHosts             int // in one call
	// HasOnlyRead tells that nothing was written yet: a refresh or a plan is likely
	// under way.
	HasOnlyRead func() bool
	// Limit of a call that is made for several callers.
	Limit time.Duration
	// Interval is the time between two looks at a machine that somebody waits for.
	Interval time.Duration
	// Gather is how long a read waits for others to join it, at least.
	Gather time.Duration
	Now    func() time.Time
	Log    *slog.Logger
}

// Machines shares the reads of machines: those that come at the same moment
// become one call, and one poller looks at all machines that somebody waits for.
type Machines struct {
	byID   *coalescer
	byName *coalescer
	byHost *coalescer
	polled pollResults
	poller poller
}

// NewMachines makes them. It reads nothing.
func NewMachines(c Config) *Machines {
	m := &Machines{
		byID:   newCoalescer(c, maxIDs, c.ByID),
		byName: newCoalescer(c, maxNames, c.ByName),
		byHost: newCoalescer(c, c.MaxHosts, c.ByHost),
		polled: pollResults{now: c.Now},
	}
	m.poller = poller{byID: m.byID, polled: &m.polled, log: c.Log, phases: newPhasePredictor(c.Now, c.Interval)}
	return m
}

// ByID reads the machine of a system id: none, if there is none. What the poller has
// just seen serves those whom it woke.
func (m *Machines) ByID(ctx context.Context, systemID string) ([]engine.Machine, error) {
	if found, ok := m.polled.freshMachines(systemID); ok {
		return found, nil
	}
	return m.byID.read(ctx, systemID)
}

// ByName reads the machines of a hostname.
func (m *Machines) ByName(ctx context.Context, hostname string) ([]engine.Machine, error) {
	return m.byName.read(ctx, hostname)
}

// ByHost reads the VMs on a VM host, by its name.
func (m *Machines) ByHost(ctx context.Context, name string) ([]engine.Machine, error) {
	return m.byHost.read(ctx, name)
}

// Watch returns a channel that is closed once the machine no longer looks as
// seen, as engine.Machines wants it.
func (m *Machines) Watch(ctx context.Context, seen engine.Machine) <-chan struct{} {
	w := &watch{seen: seen, changed: make(chan struct{})}
	m.poller.phases.notePhaseExpected(seen.SystemID, seen.Status.Phase())
	m.poller.addWatch(ctx, w)
	return w.changed
}

// NotePhase notes in what phase a machine was read.
func (m *Machines) NotePhase(seen engine.Machine) {
	m.poller.phases.notePhase(seen.SystemID, seen.Status.Phase())
}

// NoteWrite notes that a machine was just written to: what was seen of it before is not
// served any more.
func (m *Machines) NoteWrite(systemID string) { m.polled.invalidate(systemID) }

// NotePhaseStart notes that this client has just sent a machine into a phase.
func (m *Machines) NotePhaseStart(systemID string, phase engine.Phase) {
	m.poller.phases.noteStart(systemID, phase)
}
