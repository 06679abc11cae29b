package sim

import (
	"context"
	"io"
	"net"
	"time"
)

// forward joins a connection and a real LXD, which so see each other's
// certificates. One that is slow is so once for each connection, and one that
// hangs takes connections that lead nowhere.
func (e *endpoint) forward(conn net.Conn) {
	defer conn.Close()
	e.sim.mu.Lock()
	condition := e.lxd.state()
	e.sim.mu.Unlock()
	switch condition {
	case Hanging:
		_, _ = io.Copy(io.Discard, conn) // until somebody gives up
		return
	case Slow:
		time.Sleep(slowness)
	}
	real, err := e.lxd.lent.Dial(context.Background())
	if err != nil {
		return
	}
	defer real.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(real, conn) // ends with either of them
		_ = real.Close()
	}()
	_, _ = io.Copy(conn, real)
	_ = conn.Close()
	<-ended
}
