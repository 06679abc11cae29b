package lxdtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Dial connects to an address in the LXD's network. A socket stays in the network in which
// its thread made it, and Dial moves the thread back. The thread must not end: processes
// that were started from it may end with it.
func (s *Server) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	runtime.LockOSThread()
	outside, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer outside.Close()
	conn, err := s.dialInside(ctx, network, address)
	if back := unix.Setns(int(outside.Fd()), unix.CLONE_NEWNET); back != nil {
		// Nothing else may run on the thread. It now ends with the goroutine.
		return nil, errors.Join(err, fmt.Errorf("cannot leave the network of an LXD: %w", back))
	}
	runtime.UnlockOSThread()
	return conn, err
}

func (s *Server) dialInside(ctx context.Context, network, address string) (net.Conn, error) {
	inside, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", s.pid))
	if err != nil {
		return nil, err
	}
	defer inside.Close()
	if err := unix.Setns(int(inside.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("cannot enter the network of an LXD: %w", err)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}
