package lxdtest

import (
	"context"
	"io"
	"net"
)

// Forward makes the LXD's HTTPS API reachable at an address of the loopback until Close. It
// returns that address.
func (s *Server) Forward() (string, error) {
	if _, err := s.Run("", "lxc", "config", "set", "core.https_address", "[::]:8443"); err != nil {
		return "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s.closers = append(s.closers, listener)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.relay(conn)
		}
	}()
	return listener.Addr().String(), nil
}

// relay copies data between a connection and the API, both ways.
func (s *Server) relay(conn net.Conn) {
	defer conn.Close()
	api, err := s.Dial(context.Background(), "tcp", "127.0.0.1:8443")
	if err != nil {
		return
	}
	defer api.Close()
	go func() {
		_, _ = io.Copy(api, conn) // either connection ends both
		_ = api.Close()
	}()
	_, _ = io.Copy(conn, api)
}
