package lxdtest

import (
	"context"
	"io"
	"net"
)

// Forward lets the API that the LXD serves over HTTPS be reached at an address
// of the loopback, which it returns, until Close.
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

// relay lets a connection and the API speak with each other.
func (s *Server) relay(conn net.Conn) {
	defer conn.Close()
	api, err := s.Dial(context.Background(), "tcp", "127.0.0.1:8443")
	if err != nil {
		return
	}
	defer api.Close()
	go func() {
		_, _ = io.Copy(api, conn) // ends with either of them
		_ = api.Close()
	}()
	_, _ = io.Copy(conn, api)
}
