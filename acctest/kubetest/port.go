package kubetest

import (
	"fmt"
	"net"
)

// loopback is the only address that anything listens on.
const loopback = "127.0.0.1"

// freePorts are n different ports of 127.0.0.1 that nobody listens on.
// Another process may take one before it is used: who starts a server there
// tries again.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", loopback+":0")
		if err != nil {
			return nil, fmt.Errorf("cannot find a free port: %w", err)
		}
		defer l.Close() // all stay taken until n are found
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
