package sim

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// guard is the lock of the world. Whoever leaves it has opened the endpoints
// of LXDs that came, and closed those of LXDs that went.
type guard struct {
	sync.Mutex
	leave func()
}

// Unlock releases the world.
func (g *guard) Unlock() {
	if g.leave != nil {
		g.leave()
	}
	g.Mutex.Unlock()
}

// endpoint is where an LXD answers: connections of DialContext and, where LXDs
// listen, its sockets.
type endpoint struct {
	sim     *Sim
	lxd     *lxdServer
	http    *http.Server
	tls     *tls.Config
	sockets map[string]net.Listener // by address

	mu    sync.Mutex
	conns map[*rawConn]bool
	ended bool
}

// tendLXDs makes endpoints and LXDs agree. Sim.mu is held.
func (s *Sim) tendLXDs() {
	w := s.world
	if w == nil || s.sockets == nil && len(s.endpoints) == 0 {
		return
	}
	for l, e := range s.endpoints {
		if w.ended || w.lxds[l.address] != l || l.state() == Unreachable {
			delete(s.endpoints, l)
			e.close()
		}
	}
	if s.sockets == nil || w.ended {
		return
	}
	for _, l := range w.lxds {
		if l.state() != Unreachable {
			s.listenFor(l)
		}
	}
}

// listenFor opens the LXD's sockets unless they are open.
func (s *Sim) listenFor(l *lxdServer) {
	e, err := s.endpointOf(l)
	if err != nil {
		log.Printf("maassim: %v", err)
		return
	}
	if l.metal == nil && len(e.sockets) > 0 {
		return // its address never changes
	}
	for _, address := range l.addresses() {
		if _, tried := e.sockets[address]; tried {
			continue
		}
		socket, err := s.sockets.open(address)
		if e.sockets[address] = socket; err != nil {
			log.Printf("maassim: the LXD %s: %v", l.name, err)
			continue
		}
		e.accept(socket)
	}
}

// listeningFor are the sockets of an LXD.
func (s *Sim) listeningFor(l *lxdServer) []string {
	at := []string{}
	if e := s.endpoints[l]; e != nil {
		for _, socket := range sorted(e.sockets) {
			if socket != nil {
				at = append(at, socket.Addr().String())
			}
		}
	}
	return at
}

// endpointOf is the LXD's endpoint, made if there is none.
func (s *Sim) endpointOf(l *lxdServer) (*endpoint, error) {
	if e := s.endpoints[l]; e != nil {
		return e, nil
	}
	shown, err := l.shown()
	if err != nil {
		return nil, err
	}
	e := &endpoint{sim: s, lxd: l, sockets: map[string]net.Listener{}, conns: map[*rawConn]bool{}}
	e.tls = &tls.Config{
		Certificates: []tls.Certificate{shown.pair}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12,
		SessionTicketsDisabled: true, // a ticket is a write that a client in memory may not read in time
	}
	e.http = &http.Server{
		Handler: e, ReadHeaderTimeout: 10 * time.Second, ConnContext: s.ConnContext,
		ErrorLog: log.New(io.Discard, "", 0), // clients that refuse the certificate are their own business
	}
	s.endpoints[l] = e
	return e, nil
}

// accept serves what comes to a socket until it is closed.
func (e *endpoint) accept(socket net.Listener) {
	e.sim.serving.Go(func() {
		for {
			conn, err := socket.Accept()
			if err != nil {
				return
			}
			e.serve(conn)
		}
	})
}

// serve answers on a connection.
func (e *endpoint) serve(conn net.Conn) {
	raw := &rawConn{Conn: conn, of: e}
	e.mu.Lock()
	e.conns[raw] = true
	ended := e.ended
	e.mu.Unlock()
	if ended {
		_ = raw.Close()
		return
	}
	if e.lxd.lent != nil {
		e.sim.serving.Go(func() { e.forward(raw) })
		return
	}
	_ = e.http.Serve(&oneConn{conn: tls.Server(raw, e.tls)}) // returns at once
}

// close ends the sockets and cuts the connections.
func (e *endpoint) close() {
	for _, socket := range e.sockets {
		if socket != nil {
			_ = socket.Close()
		}
	}
	e.mu.Lock()
	e.ended = true
	open := e.conns
	e.conns = map[*rawConn]bool{}
	e.mu.Unlock()
	for conn := range open {
		_ = conn.Conn.Close()
	}
	_ = e.http.Close()
}

// begin counts a handler; false where the endpoint is closed.
func (e *endpoint) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ended {
		e.sim.serving.Add(1)
	}
	return !e.ended
}

// rawConn is a connection below TLS, which close cuts without a word.
type rawConn struct {
	net.Conn
	of *endpoint
}

// Close also forgets the connection.
func (c *rawConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// oneConn is a listener with one connection.
type oneConn struct{ conn net.Conn }

// Accept gives the connection, then none.
func (o *oneConn) Accept() (net.Conn, error) {
	if o.conn == nil {
		return nil, net.ErrClosed
	}
	conn := o.conn
	o.conn = nil
	return conn, nil
}

// Close ends a connection that nobody took; one that was taken lives on.
func (o *oneConn) Close() error {
	if o.conn == nil {
		return nil
	}
	return o.conn.Close()
}

// Addr is of no use here.
func (o *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// DialContext connects to the LXD that listens at host:port as MAAS knows it,
// without sockets; it works inside a testing/synctest bubble, too. Where no
// LXD is, the connection is refused. The client speaks TLS on it.
func (s *Sim) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.world.lxdAt(address)
	if s.world.ended || l == nil || l.state() == Unreachable {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s: %w", address, syscall.ECONNREFUSED)}
	}
	e, err := s.endpointOf(l)
	if err != nil {
		return nil, err
	}
	client, server := net.Pipe()
	e.serve(server)
	return client, nil
}

// LXDTransport is an HTTP transport whose connections go to the simulated
// LXDs. It is what TransportWrapper of github.com/canonical/lxd/client wants.
type LXDTransport struct{ http *http.Transport }

// LXDTransport lets a transport, with its TLS, reach the LXDs by DialContext.
func (s *Sim) LXDTransport(t *http.Transport) *LXDTransport {
	t.Proxy, t.DialContext, t.DialTLSContext = nil, s.DialContext, nil
	return &LXDTransport{http: t}
}

// Transport is the transport itself.
func (t *LXDTransport) Transport() *http.Transport { return t.http }

// RoundTrip sends a request.
func (t *LXDTransport) RoundTrip(r *http.Request) (*http.Response, error) { return t.http.RoundTrip(r) }
