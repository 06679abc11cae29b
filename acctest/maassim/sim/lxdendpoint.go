package sim

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// lxdEndpoints are the endpoints of all LXDs. Before the lock is released, new LXDs have
// got their endpoints, and those of removed LXDs are closed.
type lxdEndpoints struct {
	*region
	faults  *faultSet
	journal *journal
	routes  []lxd.Route

	sockets   *lxdSockets // nil: the LXDs do not listen
	endpoints map[*world.LXD]*endpoint
	serving   sync.WaitGroup // goroutines of the endpoints
}

// endpoint serves one LXD: for connections of DialContext and, if LXDs listen, on sockets.
type endpoint struct {
	group   *lxdEndpoints
	lxd     *world.LXD
	http    *http.Server
	tls     *tls.Config
	sockets map[string]net.Listener // by address

	mu    sync.Mutex
	conns map[*rawConn]bool
	ended bool
}

// syncEndpoints makes the endpoints agree with the LXDs. The caller holds the lock.
func (all *lxdEndpoints) syncEndpoints() {
	w := all.world
	if w == nil || all.sockets == nil && len(all.endpoints) == 0 {
		return
	}
	for l, e := range all.endpoints {
		if w.Ended || w.LXDs[l.Address] != l || l.EffectiveCondition() == world.ConditionUnreachable {
			delete(all.endpoints, l)
			e.close()
		}
	}
	if all.sockets == nil || w.Ended {
		return
	}
	for _, l := range w.LXDs {
		if l.EffectiveCondition() != world.ConditionUnreachable {
			all.openListeners(l)
		}
	}
}

// openListeners opens the LXD's sockets unless they are open.
func (all *lxdEndpoints) openListeners(l *world.LXD) {
	e, err := all.endpointOf(l)
	if err != nil {
		log.Printf("maassim: %v", err)
		return
	}
	if l.Metal == nil && len(e.sockets) > 0 {
		return // the address of an LXD never changes
	}
	for _, address := range l.Addresses() {
		if _, tried := e.sockets[address]; tried {
			continue
		}
		socket, err := all.sockets.listen(address)
		if e.sockets[address] = socket; err != nil {
			log.Printf("maassim: the LXD %s: %v", l.Name, err)
			continue
		}
		e.acceptFrom(socket)
	}
}

// listenAddresses are the addresses of an LXD's sockets.
func (all *lxdEndpoints) listenAddresses(l *world.LXD) []string {
	at := []string{}
	if e := all.endpoints[l]; e != nil {
		for _, socket := range rest.SortedValues(e.sockets) {
			if socket != nil {
				at = append(at, socket.Addr().String())
			}
		}
	}
	return at
}

// endpointOf is the LXD's endpoint. It makes one if there is none.
func (all *lxdEndpoints) endpointOf(l *world.LXD) (*endpoint, error) {
	if e := all.endpoints[l]; e != nil {
		return e, nil
	}
	shown, err := l.EnsureIdentity()
	if err != nil {
		return nil, err
	}
	e := &endpoint{group: all, lxd: l, sockets: map[string]net.Listener{}, conns: map[*rawConn]bool{}}
	e.tls = &tls.Config{
		Certificates: []tls.Certificate{shown.Pair}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12,
		SessionTicketsDisabled: true, // a session ticket is a write, and a client in memory may not read it in time
	}
	e.http = &http.Server{
		Handler: e, ReadHeaderTimeout: 10 * time.Second, ConnContext: all.journal.ConnContext,
		ErrorLog: log.New(io.Discard, "", 0), // a client that refuses the certificate is no error of the LXD
	}
	all.endpoints[l] = e
	return e, nil
}

// acceptFrom serves the connections of a socket until the socket is closed.
func (e *endpoint) acceptFrom(socket net.Listener) {
	e.group.serving.Go(func() {
		for {
			conn, err := socket.Accept()
			if err != nil {
				return
			}
			e.serveConn(conn)
		}
	})
}

// serveConn serves one connection.
func (e *endpoint) serveConn(conn net.Conn) {
	raw := &rawConn{Conn: conn, endpoint: e}
	e.mu.Lock()
	e.conns[raw] = true
	ended := e.ended
	e.mu.Unlock()
	if ended {
		_ = raw.Close()
		return
	}
	if e.lxd.Lent != nil {
		e.group.serving.Go(func() { e.forwardToRealLXD(raw) })
		return
	}
	_ = e.http.Serve(&oneConnListener{conn: tls.Server(raw, e.tls)}) // returns at once
}

// close closes the sockets and all connections.
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

// beginHandler counts a running handler. It returns false if the endpoint is closed.
func (e *endpoint) beginHandler() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ended {
		e.group.serving.Add(1)
	}
	return !e.ended
}
