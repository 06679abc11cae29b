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

// forwardToRealLXD joins a connection and a real LXD, which so see each other's
// certificates. One that is slow is so once for each connection, and one that
// hangs takes connections that lead nowhere.
func (e *endpoint) forwardToRealLXD(conn net.Conn) {
	defer conn.Close()
	e.group.keeper.Lock()
	condition := e.lxd.EffectiveCondition()
	e.group.keeper.Unlock()
	switch condition {
	case world.ConditionHanging:
		_, _ = io.Copy(io.Discard, conn) // until somebody gives up
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
		_, _ = io.Copy(real, conn) // ends with either of them
		_ = real.Close()
	}()
	_, _ = io.Copy(conn, real)
	_ = conn.Close()
	<-ended
}

// rawConn is a connection below TLS, which close cuts without a word.
type rawConn struct {
	net.Conn
	endpoint *endpoint
}

// Close also forgets the connection.
func (c *rawConn) Close() error {
	c.endpoint.mu.Lock()
	delete(c.endpoint.conns, c)
	c.endpoint.mu.Unlock()
	return c.Conn.Close()
}

// oneConnListener is a listener with one connection.
type oneConnListener struct{ conn net.Conn }

// Accept gives the connection, then none.
func (o *oneConnListener) Accept() (net.Conn, error) {
	if o.conn == nil {
		return nil, net.ErrClosed
	}
	conn := o.conn
	o.conn = nil
	return conn, nil
}

// Close ends a connection that nobody took; one that was taken lives on.
func (o *oneConnListener) Close() error {
	if o.conn == nil {
		return nil
	}
	return o.conn.Close()
}

// Addr is of no use here.
func (o *oneConnListener) Addr() net.Addr { return &net.TCPAddr{} }

// DialContext connects to the LXD that listens at host:port as MAAS knows it,
// without sockets; it works inside a testing/synctest bubble, too. Where no
// LXD is, the connection is refused. The client speaks TLS on it.
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

// LXDTransport is an HTTP transport whose connections go to the simulated
// LXDs. It is what TransportWrapper of github.com/canonical/lxd/client wants.
type LXDTransport struct{ http *http.Transport }

// LXDTransport lets a transport, with its TLS, reach the LXDs by DialContext.
func (all *lxdEndpoints) LXDTransport(t *http.Transport) *LXDTransport {
	t.Proxy, t.DialContext, t.DialTLSContext = nil, all.DialContext, nil
	return &LXDTransport{http: t}
}

// Transport is the transport itself.
func (t *LXDTransport) Transport() *http.Transport { return t.http }

// RoundTrip sends a request.
func (t *LXDTransport) RoundTrip(r *http.Request) (*http.Response, error) { return t.http.RoundTrip(r) }
