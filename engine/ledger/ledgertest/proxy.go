package ledgertest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy forwards connections to a service that may die and come back at another address. It can
// lose the replies of the service. It does not look at the data.
type Proxy struct {
	listener net.Listener

	mu     sync.Mutex
	target string // empty: it closes each connection
	links  map[*link]bool
}

// NewProxy listens at a free port until the test ends. It has no target at first.
func NewProxy(t testing.TB) *Proxy {
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: door, links: map[*link]bool{}}
	go p.acceptConns()
	t.Cleanup(func() {
		door.Close()
		p.ForwardTo("")
	})
	return p
}

// Address returns the address at which the proxy listens.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// ForwardTo forwards new connections to an address, and cuts open ones. With an empty address,
// the proxy closes each connection.
func (p *Proxy) ForwardTo(to string) {
	p.mu.Lock()
	p.target = to
	p.mu.Unlock()
	p.forEachLink((*link).close)
}

// LoseReplies forwards requests, but no replies. After a while it cuts the connections that lost
// replies.
func (p *Proxy) LoseReplies(during time.Duration) {
	muted := p.forEachLink(func(l *link) { l.muted.Store(true) })
	time.Sleep(during)
	for _, l := range muted {
		l.close()
	}
}

// forEachLink calls a function with each open connection, and returns them.
func (p *Proxy) forEachLink(do func(*link)) (all []*link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		do(l)
		all = append(all, l)
	}
	return all
}

func (p *Proxy) acceptConns() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		to := p.target
		p.mu.Unlock()
		go p.carry(client, to)
	}
}

// carry forwards data between a client and the service until one of them closes the connection.
func (p *Proxy) carry(client net.Conn, to string) {
	defer client.Close()
	service, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	l := &link{client: client, service: service}
	p.mu.Lock()
	p.links[l] = true
	current := p.target == to
	p.mu.Unlock()
	if !current { // the target has changed meanwhile
		l.close()
	}
	go func() {
		defer l.close()
		_, _ = io.Copy(service, client)
	}()
	_, _ = io.Copy(l, service)
	l.close()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// link is a connection between a client and the service.
type link struct {
	client, service net.Conn
	muted           atomic.Bool
}

// Write forwards a reply of the service to the client.
func (l *link) Write(reply []byte) (int, error) {
	if l.muted.Load() {
		return len(reply), nil
	}
	return l.client.Write(reply)
}

func (l *link) close() {
	l.client.Close()
	l.service.Close()
}
