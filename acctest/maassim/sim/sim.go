package sim

import (
	"fmt"
	"sync"
	"time"
)

// Sim is a simulated MAAS with its LXDs. Its methods may be called from many
// goroutines.
type Sim struct {
	model  Model
	routes []route
	// lxdRoutes are those of each LXD.
	lxdRoutes []lxdRoute
	built     time.Time

	mu      guard
	idle    *sync.Cond // a handler has ended
	running int        // handlers that are under way
	world   *world
	faults  faults
	journal journal

	lender    Lender   // nil: LXDs are simulated
	sockets   *sockets // nil: the LXDs do not listen
	endpoints map[*lxdServer]*endpoint
	serving   sync.WaitGroup // what runs for the endpoints
}

// New builds the world of a model. The error of a contradictory model names
// the field.
func New(m Model, options ...Option) (*Sim, error) {
	if err := m.withDefaults().check(); err != nil {
		return nil, fmt.Errorf("cannot build the model: %w", err)
	}
	sockets, err := openSockets(m.LXDListen)
	if err != nil {
		return nil, fmt.Errorf("cannot build the model: %w", err)
	}
	if sockets != nil {
		m = m.inNetwork(sockets.network)
	}
	m = m.withDefaults()
	s := &Sim{model: m, routes: allRoutes(), lxdRoutes: lxdRoutes(), sockets: sockets, endpoints: map[*lxdServer]*endpoint{}}
	for _, o := range options {
		o(s)
	}
	s.mu.leave = s.tendLXDs
	s.idle = sync.NewCond(&s.mu)
	s.faults.init(m.Seed)
	s.journal.reset()
	s.mu.Lock() // a timer may run soon
	defer s.mu.Unlock()
	s.world = buildWorld(s, m)
	if err := s.world.problem; err != nil {
		s.world.end()
		s.sockets.release()
		return nil, fmt.Errorf("cannot build the model: %w", err)
	}
	return s, nil
}

// APIKey is the API key of the user admin.
func (s *Sim) APIKey() string { return s.model.AdminKey }

// UserAPIKey is the API key of a user without admin rights.
func (s *Sim) UserAPIKey() string { return s.model.UserKey }

// Reset goes back to the model: objects, conditions, faults and journal. Calls
// that are under way end at once with 503, without an effect on the new world.
func (s *Sim) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.end()
	s.world = buildWorld(s, s.model)
	s.faults.init(s.model.Seed)
	s.journal.reset()
}

// Close stops all timers, ends the calls that are under way and the LXDs'
// connections, and waits for them. The world stays readable.
func (s *Sim) Close() {
	s.mu.Lock()
	s.world.end()
	for s.running > 0 {
		s.idle.Wait()
	}
	s.tendLXDs()
	s.sockets.release()
	s.mu.Unlock()
	s.serving.Wait()
}

// Settle finishes every transition and power action of machines, every
// inventory of a VM host and every operation of an LXD that is under way, and
// those that follow from them. Calls go on: a compose that is asleep is not
// over, nor is a fault's delay.
func (s *Sim) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for again := true; again; {
		again = false
		for _, j := range s.world.orphans {
			if j.pending() {
				j.finish()
			}
		}
		for _, m := range sortedMachines(s.world.machines) {
			for _, j := range m.jobs() {
				j.finish()
				again = true
			}
		}
		for _, h := range s.world.hosts {
			if h.inventory != nil {
				h.inventory.finish()
				again = true
			}
		}
	}
}
