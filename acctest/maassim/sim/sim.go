package sim

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/surface"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Sim is a simulated MAAS with its LXDs. Several goroutines may use it at a time.
type Sim struct {
	*region
	*operator
	*inspector
	*faultSet
	*journal
	*lxdEndpoints

	router *surface.Router
}

// newSim makes a simulator without a world.
func newSim(m Model, sockets *lxdSockets) *Sim {
	r := &region{model: m, keeper: world.NewKeeper()}
	s := &Sim{region: r, faultSet: &faultSet{region: r}, journal: &journal{region: r}, router: surface.NewRouter(allRoutes())}
	s.lxdEndpoints = &lxdEndpoints{
		region: r, faults: s.faultSet, journal: s.journal, routes: lxd.Routes(),
		sockets: sockets, endpoints: map[*world.LXD]*endpoint{},
	}
	s.operator, s.inspector = &operator{region: r, lxds: s.lxdEndpoints}, &inspector{region: r, lxds: s.lxdEndpoints}
	r.keeper.BeforeUnlock, r.keeper.OriginalAddress = s.syncEndpoints, sockets.originalAddress
	return s
}

// New builds the world of a model. The error about an invalid model names the field.
func New(m Model, options ...Option) (*Sim, error) {
	if err := m.withDefaults().check(); err != nil {
		return nil, fmt.Errorf("cannot build the model: %w", err)
	}
	sockets, err := openSockets(m.LXDListen)
	if err != nil {
		return nil, fmt.Errorf("cannot build the model: %w", err)
	}
	if sockets != nil {
		m = m.withNetwork(sockets.network)
	}
	m = m.withDefaults()
	s := newSim(m, sockets)
	for _, o := range options {
		o(s)
	}
	s.faultSet.init(m.Seed)
	s.journal.reset()
	s.keeper.Lock() // a timer may run soon
	defer s.keeper.Unlock()
	s.world = buildWorld(s.keeper, m)
	if err := s.world.BuildError; err != nil {
		s.world.End()
		s.lxdEndpoints.sockets.release()
		return nil, fmt.Errorf("cannot build the model: %w", err)
	}
	return s, nil
}

// APIKey is the API key of the user admin.
func (s *Sim) APIKey() string { return s.model.AdminKey }

// UserAPIKey is the API key of a user without admin rights.
func (s *Sim) UserAPIKey() string { return s.model.UserKey }

// Reset restores the model: objects, conditions, faults and the journal. Calls that are
// under way end at once with 503 and do not affect the new world.
func (s *Sim) Reset() {
	s.keeper.Lock()
	defer s.keeper.Unlock()
	s.world.End()
	s.world = buildWorld(s.keeper, s.model)
	s.faultSet.init(s.model.Seed)
	s.journal.reset()
}

// Close stops all timers, the running calls and the LXDs' connections, and waits for their
// ends. The world stays readable.
func (s *Sim) Close() {
	s.keeper.Lock()
	s.world.End()
	s.keeper.AwaitIdle()
	s.syncEndpoints()
	s.lxdEndpoints.sockets.release()
	s.keeper.Unlock()
	s.serving.Wait()
}

// Settle finishes all transitions and power actions of machines, inventories of VM hosts
// and operations of LXDs, and everything that follows from them. It does not end calls: a
// compose that waits stays under way, and so does a fault's delay.
func (s *Sim) Settle() {
	s.keeper.Lock()
	defer s.keeper.Unlock()
	for again := true; again; {
		again = false
		for _, j := range s.world.LXDJobs {
			if j.IsPending() {
				j.Finish()
			}
		}
		for _, m := range world.SortedMachines(s.world.Machines) {
			for _, j := range m.PendingJobs() {
				j.Finish()
				again = true
			}
		}
		for _, h := range s.world.Hosts {
			if h.Inventory != nil {
				h.Inventory.Finish()
				again = true
			}
		}
	}
}

// Server is a simulator that listens on a port.
type Server struct {
	*Sim
	// URL is MAAS's URL for clients: http://127.0.0.1:port/MAAS.
	URL string

	http *http.Server
}

// TB is the part of testing.TB that StartServer needs. So the simulator's binary does not
// link package testing.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// StartServer serves the world of a model on a loopback port until the test ends.
func StartServer(t TB, m Model, options ...Option) *Server {
	t.Helper()
	s, err := New(m, options...)
	if err != nil {
		t.Fatal(err)
	}
	server, err := ServeAt(s, "127.0.0.1:0")
	if err != nil {
		s.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	return server
}

// ServeAt serves the simulator at an address until Stop.
func ServeAt(s *Sim, address string) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	server := &Server{Sim: s, URL: fmt.Sprintf("http://%s/MAAS", l.Addr()), http: &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second,
		ConnContext: s.ConnContext,
	}}
	go func() { _ = server.http.Serve(l) }() // ends with Stop
	return server, nil
}

// Stop ends the server at once and closes the simulator. Afterwards no part of it runs.
func (s *Server) Stop() error {
	err := s.http.Close()
	s.Close()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Option changes a simulator in ways that a model cannot.
type Option func(*Sim)

// WithLXDs makes a simulator borrow real LXDs, for the hosts of its model and for machines
// whose user-data sets up an LXD. Calls of MAAS and of clients reach these LXDs over TLS
// from end to end, and the answers are theirs. Faults, delays and the journal work only
// with simulated LXDs.
func WithLXDs(l world.Lender) Option { return func(s *Sim) { s.keeper.Lender = l } }
