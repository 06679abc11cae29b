// Package freeport finds TCP ports of 127.0.0.1 for programs that tests start, and
// for servers that leave their port for a while and come back to it.
//
// A listener on port 0 gets a free port, too. But it must be closed before the
// program can have that port, and by then the kernel may give it to somebody
// else: to another test's server, or to a connection that goes out.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The kernel gives ports from 32768 on to those who ask for any, on Linux; on
// other systems from 49152 on. So nobody gets one of these unasked.
const (
	first = 20000
	last  = 32767
)

// reserved are ports of this process. Each keeps a UDP socket of the same
// number, which no other process can have until this one ends or gives the port
// back. It needs no file, and a killed test leaves nothing behind.
var (
	mu       sync.Mutex
	reserved = map[int]net.PacketConn{}
)

// Ports returns n different ports of 127.0.0.1 that nobody listens on. No other
// call returns them until this process ends, in other processes neither.
func Ports(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		listener, _, err := Listen()
		if err != nil {
			return nil, err
		}
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
		if err := listener.Close(); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// Listen listens on such a port of 127.0.0.1. Who closes the listener still has the
// port, and may listen on it again. release gives it to others.
func Listen() (listener net.Listener, release func(), err error) {
	mu.Lock()
	defer mu.Unlock()
	var failed error
	start := rand.IntN(last - first + 1)
	for i := range last - first + 1 {
		port := first + (start+i)%(last-first+1)
		if reserved[port] != nil {
			continue
		}
		if listener, failed = reserve(port); failed == nil {
			lock := reserved[port]
			return listener, func() { giveBack(port, lock) }, nil
		}
	}
	return nil, nil, errors.Join(fmt.Errorf("cannot find a free port between %d and %d", first, last), failed)
}

// Address returns the "127.0.0.1:PORT" of one such port.
func Address() (string, error) {
	ports, err := Ports(1)
	if err != nil {
		return "", err
	}
	return address(ports[0]), nil
}

// reserve keeps other processes from the port and listens on it, unless somebody
// else does.
func reserve(port int) (net.Listener, error) {
	lock, err := net.ListenPacket("udp", address(port))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	reserved[port] = lock
	return listener, nil
}

// giveBack ends the reservation of a port. A second call does nothing.
func giveBack(port int, lock net.PacketConn) {
	mu.Lock()
	defer mu.Unlock()
	if reserved[port] == lock {
		delete(reserved, port)
		_ = lock.Close()
	}
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
