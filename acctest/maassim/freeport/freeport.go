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
	firstPort = 20000
	lastPort  = 32767
)

// reserved are ports of this process. Each keeps a UDP socket of the same
// number, which no other process can have until this one ends or gives the port
// back. It needs no file, and a killed test leaves nothing behind.
var (
	mu            sync.Mutex
	reservedPorts = map[int]net.PacketConn{}
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
	start := rand.IntN(lastPort - firstPort + 1)
	for i := range lastPort - firstPort + 1 {
		port := firstPort + (start+i)%(lastPort-firstPort+1)
		if reservedPorts[port] != nil {
			continue
		}
		if listener, failed = reservePort(port); failed == nil {
			lock := reservedPorts[port]
			return listener, func() { releasePort(port, lock) }, nil
		}
	}
	return nil, nil, errors.Join(fmt.Errorf("cannot find a free port between %d and %d", firstPort, lastPort), failed)
}

// Address returns the "127.0.0.1:PORT" of one such port.
func Address() (string, error) {
	ports, err := Ports(1)
	if err != nil {
		return "", err
	}
	return loopbackAddress(ports[0]), nil
}

// reservePort keeps other processes from the port and listens on it, unless somebody
// else does.
func reservePort(port int) (net.Listener, error) {
	lock, err := net.ListenPacket("udp", loopbackAddress(port))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", loopbackAddress(port))
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	reservedPorts[port] = lock
	return listener, nil
}

// releasePort ends the reservation of a port. A second call does nothing.
func releasePort(port int, lock net.PacketConn) {
	mu.Lock()
	defer mu.Unlock()
	if reservedPorts[port] == lock {
		delete(reservedPorts, port)
		_ = lock.Close()
	}
}

func loopbackAddress(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
