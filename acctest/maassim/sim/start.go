package sim

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server is a simulator that listens.
type Server struct {
	*Sim
	// URL is what a client of MAAS is given: http://127.0.0.1:port/MAAS.
	URL string

	http *http.Server
}

// TB is the part of testing.TB that Start needs; so the simulator's binary
// does not link package testing.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// Start serves the world of a model on a loopback port until the test ends.
func Start(t TB, m Model, options ...Option) *Server {
	t.Helper()
	s, err := New(m, options...)
	if err != nil {
		t.Fatal(err)
	}
	server, err := Listen(s, "127.0.0.1:0")
	if err != nil {
		s.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	return server
}

// Listen serves the simulator at an address until Stop.
func Listen(s *Sim, address string) (*Server, error) {
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

// Stop ends the server at once and closes the simulator: nothing of it runs
// any more then.
func (s *Server) Stop() error {
	err := s.http.Close()
	s.Close()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
