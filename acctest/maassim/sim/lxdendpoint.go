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

// lxdEndpoints are where the LXDs answer. Whoever leaves the world has opened
// those of LXDs that came, and closed those of LXDs that went.
type lxdEndpoints struct {
	*region
	faults  *faultSet
	journal *journal
	routes  []lxd.Route

	sockets   *lxdSockets // nil: the LXDs do not listen
	endpoints map[*world.LXD]*endpoint
	serving   sync.WaitGroup // what runs for them
}

// endpoint is where an LXD answers: connections of DialContext and, where LXDs
// listen, its sockets.
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

// syncEndpoints makes endpoints and LXDs agree. The lock is held.
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
		return // its address never changes
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

// listenAddresses are the sockets of an LXD.
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

// endpointOf is the LXD's endpoint, made if there is none.
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
		SessionTicketsDisabled: true, // a ticket is a write that a client in memory may not read in time
	}
	e.http = &http.Server{
		Handler: e, ReadHeaderTimeout: 10 * time.Second, ConnContext: all.journal.ConnContext,
		ErrorLog: log.New(io.Discard, "", 0), // clients that refuse the certificate are their own business
	}
	all.endpoints[l] = e
	return e, nil
}

// acceptFrom serves what comes to a socket until it is closed.
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

// serveConn answers on a connection.
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

// beginHandler counts a handler; false where the endpoint is closed.
func (e *endpoint) beginHandler() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ended {
		e.group.serving.Add(1)
	}
	return !e.ended
}
