// Package freeport finds TCP ports of 127.0.0.1. Programs that tests start use them, and
// servers that leave their port for a while and come back to it.
//
// A listener on port 0 gets a free port, too. But it must be closed before the program can
// have that port. By then the kernel may give the port to another test's server, or to an
// outgoing connection.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// A program that asks for any port gets one from 32768 on under Linux, and from 49152 on
// under other systems. So nobody gets one of these ports unasked.
const (
	firstPort = 20000
	lastPort  = 32767
)

// reservedPorts are the ports that this process reserved. Each keeps a UDP socket of the
// same number. No other process can have that socket until this one ends or releases the
// port. This needs no file, and a killed test leaves nothing behind.
var (
	mu            sync.Mutex
	reservedPorts = map[int]net.PacketConn{}
)

// Ports returns n different ports of 127.0.0.1 that nobody listens on. No other call
// returns them before this process ends, not even in another process.
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

// Listen listens on such a port of 127.0.0.1. After you close the listener the port is
// still yours, and you may listen on it again. Only release makes it free for others.
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

// reservePort reserves the port against other processes and listens on it. It fails if
// somebody else does already.
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
