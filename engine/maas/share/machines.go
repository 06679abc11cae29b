// Package share lets many callers share what is read from a MAAS. Reads of machines that
// arrive at about the same moment become one call. One poller reads all machines that
// callers wait for. Lists that seldom change are cached. The package sends nothing itself.
//
// All types are safe for concurrent use. Results may be shared between callers: do not
// modify them.
package share

import (
	"context"
	"log/slog"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// Fetch reads the machines of the given keys and returns them by key. A key without
// machines is left out.
type Fetch func(ctx context.Context, keys []string) (map[string][]engine.Machine, error)

// Config is what NewMachines needs.
type Config struct {
	// ByID, ByName and ByHost read machines by system id, by hostname and by the name of
	// their VM host.
	ByID, ByName, ByHost Fetch
	MaxHosts             int // keys of one call of ByHost
	// HasOnlyRead reports that this client has written nothing yet. Then it probably runs a
	// refresh or a plan.
	HasOnlyRead func() bool
	// Limit bounds a call that is made for several callers.
	Limit time.Duration
	// Interval is the time between two polls of a watched machine.
	Interval time.Duration
	// Gather is the minimum time that a read waits for other reads to join it.
	Gather time.Duration
	Now    func() time.Time
	Log    *slog.Logger
}

// Machines shares the reads of machines. Reads that arrive at about the same moment become
// one call. One poller reads all machines that callers wait for.
type Machines struct {
	byID   *coalescer
	byName *coalescer
	byHost *coalescer
	polled pollResults
	poller poller
}

// NewMachines returns Machines that have read nothing yet.
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

// ByID reads the machine with a system id. The list is empty if there is none. Within
// pollResultTTL after a change, it returns what the poller read, without a call.
func (m *Machines) ByID(ctx context.Context, systemID string) ([]engine.Machine, error) {
	if found, ok := m.polled.freshMachines(systemID); ok {
		return found, nil
	}
	return m.readAndWake(func() ([]engine.Machine, error) { return m.byID.read(ctx, systemID) }, systemID)
}

// readAndWake reads machines, and wakes the callers that wait for a change of one of them. Each
// read postpones the machine's next poll. So without this, a caller that reads a machine every
// second would keep another caller from the change that it waits for. A machine of ids that was
// not found is gone. The callers that are woken read the machine themselves: only a result of
// the poller is kept for them.
func (m *Machines) readAndWake(read func() ([]engine.Machine, error), ids ...string) ([]engine.Machine, error) {
	watches := m.poller.currentWatches()
	if len(watches) == 0 {
		return read()
	}
	listed, err := read()
	found := map[string][]engine.Machine{}
	if err == nil {
		for _, id := range ids {
			found[id] = nil
		}
		for _, machine := range listed {
			found[machine.SystemID] = append(found[machine.SystemID], machine)
		}
	}
	m.poller.wake(changedWatches(watches, found))
	return listed, err
}

// AnnounceByID notes that ByID of this machine follows soon. If this client only reads, and
// reads several machines at once, the call for it begins now.
func (m *Machines) AnnounceByID(ctx context.Context, systemID string) {
	m.byID.announce(ctx, systemID)
}

// ByName reads the machines with a hostname.
func (m *Machines) ByName(ctx context.Context, hostname string) ([]engine.Machine, error) {
	return m.readAndWake(func() ([]engine.Machine, error) { return m.byName.read(ctx, hostname) })
}

// ByHost reads the VMs on the VM host with this name.
func (m *Machines) ByHost(ctx context.Context, name string) ([]engine.Machine, error) {
	return m.byHost.read(ctx, name)
}

// Watch returns a channel that is closed once the machine differs from seen. The contract
// is that of engine.Machines.
func (m *Machines) Watch(ctx context.Context, seen engine.Machine) <-chan struct{} {
	w := &watch{seen: seen, changed: make(chan struct{})}
	m.poller.phases.notePhaseExpected(seen.SystemID, seen.Status.Phase())
	m.poller.addWatch(ctx, w)
	return w.changed
}

// NotePhase notes the phase in which a machine was read.
func (m *Machines) NotePhase(seen engine.Machine) {
	m.poller.phases.notePhase(seen.SystemID, seen.Status.Phase())
}

// NoteWrite notes that this client has just written to a machine. Poll results from before
// the write are no longer returned.
func (m *Machines) NoteWrite(systemID string) { m.polled.invalidate(systemID) }

// NotePhaseStart notes that this client has just started a phase of a machine.
func (m *Machines) NotePhaseStart(systemID string, phase engine.Phase) {
	m.poller.phases.noteStart(systemID, phase)
}
