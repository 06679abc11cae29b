// Package freeport finds TCP ports of 127.0.0.1 for programs that tests start.
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
// number, which no other process can have until this one ends. It needs no
// file, and a killed test leaves nothing behind.
var (
	mu       sync.Mutex
	reserved = map[int]net.PacketConn{}
)

// Ports returns n different ports of 127.0.0.1 that nobody listens on. No other
// call returns them until this process ends, in other processes neither.
func Ports(n int) ([]int, error) {
	mu.Lock()
	defer mu.Unlock()
	var (
		ports  []int
		failed error
	)
	start := rand.IntN(last - first + 1)
	for i := 0; i <= last-first && len(ports) < n; i++ {
		port := first + (start+i)%(last-first+1)
		if reserved[port] != nil {
			continue
		}
		if err := reserve(port); err != nil {
			failed = err
			continue
		}
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, errors.Join(fmt.Errorf("cannot find %d free ports between %d and %d", n, first, last), failed)
	}
	return ports, nil
}

// Address returns the "127.0.0.1:PORT" of one such port.
func Address() (string, error) {
	ports, err := Ports(1)
	if err != nil {
		return "", err
	}
	return address(ports[0]), nil
}

// reserve keeps other processes from the port, unless somebody listens there.
func reserve(port int) error {
	lock, err := net.ListenPacket("udp", address(port))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		lock.Close()
		return err
	}
	listener.Close()
	reserved[port] = lock
	return nil
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
