package sim

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/driver"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// forwardToRealLXD connects a client and a real LXD, so that each sees the other's
// certificate. A slow LXD delays each connection once. A hanging LXD accepts connections
// and forwards nothing.
func (e *endpoint) forwardToRealLXD(conn net.Conn) {
	defer conn.Close()
	e.group.keeper.Lock()
	condition := e.lxd.EffectiveCondition()
	e.group.keeper.Unlock()
	switch condition {
	case world.ConditionHanging:
		_, _ = io.Copy(io.Discard, conn) // until a side closes the connection
		return
	case world.ConditionSlow:
		time.Sleep(driver.SlowDelay)
	}
	real, err := driver.LentTo(e.lxd).Dial(context.Background())
	if err != nil {
		return
	}
	defer real.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(real, conn) // ends with either connection
		_ = real.Close()
	}()
	_, _ = io.Copy(conn, real)
	_ = conn.Close()
	<-ended
}

// rawConn is the connection below TLS. Closing it ends the session without a TLS alert.
type rawConn struct {
	net.Conn
	endpoint *endpoint
}

// Close also removes the connection from the endpoint.
func (c *rawConn) Close() error {
	c.endpoint.mu.Lock()
	delete(c.endpoint.conns, c)
	c.endpoint.mu.Unlock()
	return c.Conn.Close()
}

// oneConnListener is a listener with a single connection.
type oneConnListener struct{ conn net.Conn }

// Accept returns the connection once, then an error.
func (o *oneConnListener) Accept() (net.Conn, error) {
	if o.conn == nil {
		return nil, net.ErrClosed
	}
	conn := o.conn
	o.conn = nil
	return conn, nil
}

// Close closes the connection unless it was accepted.
func (o *oneConnListener) Close() error {
	if o.conn == nil {
		return nil
	}
	return o.conn.Close()
}

// Addr returns an empty address, because nobody needs it.
func (o *oneConnListener) Addr() net.Addr { return &net.TCPAddr{} }

// DialContext connects to the LXD that listens at host:port, the address that MAAS knows.
// It uses no sockets, so it works inside a testing/synctest bubble, too. It refuses the
// connection if no LXD is there. The client does TLS on the connection.
func (all *lxdEndpoints) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all.keeper.Lock()
	defer all.keeper.Unlock()
	l := all.world.LXDAt(address)
	if all.world.Ended || l == nil || l.EffectiveCondition() == world.ConditionUnreachable {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s: %w", address, syscall.ECONNREFUSED)}
	}
	e, err := all.endpointOf(l)
	if err != nil {
		return nil, err
	}
	client, server := net.Pipe()
	e.serveConn(server)
	return client, nil
}

// LXDTransport is an HTTP transport whose connections go to the simulated LXDs.
// TransportWrapper of github.com/canonical/lxd/client accepts it.
type LXDTransport struct{ http *http.Transport }

// LXDTransport makes a transport with TLS connect to the LXDs by DialContext.
func (all *lxdEndpoints) LXDTransport(t *http.Transport) *LXDTransport {
	t.Proxy, t.DialContext, t.DialTLSContext = nil, all.DialContext, nil
	return &LXDTransport{http: t}
}

// Transport is the transport itself.
func (t *LXDTransport) Transport() *http.Transport { return t.http }

// RoundTrip sends a request.
func (t *LXDTransport) RoundTrip(r *http.Request) (*http.Response, error) { return t.http.RoundTrip(r) }
