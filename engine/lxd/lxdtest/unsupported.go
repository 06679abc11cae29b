//go:build !linux

package lxdtest

import (
	"context"
	"fmt"
	"net"
)

// runKeeper starts nothing: LXD is for Linux.
func (s *Server) runKeeper(started chan<- error) {
	started <- fmt.Errorf("%w: it needs Linux", ErrMissing)
}

// Dial connects to nothing.
func (s *Server) Dial(context.Context, string, string) (net.Conn, error) { return nil, ErrMissing }
