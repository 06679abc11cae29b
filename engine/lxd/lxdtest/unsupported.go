//go:build !linux

package lxdtest

import (
	"context"
	"fmt"
	"net"
)

// runKeeper fails: LXD runs only on Linux.
func (s *Server) runKeeper(started chan<- error) {
	started <- fmt.Errorf("%w: it needs Linux", ErrMissing)
}

// Dial fails: LXD runs only on Linux.
func (s *Server) Dial(context.Context, string, string) (net.Conn, error) { return nil, ErrMissing }
