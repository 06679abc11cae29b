package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// SetHost gives a name addresses, as /etc/hosts would, for endpoints whose
// names MAAS does not know. A call without addresses removes the name.
func (w *Workloads) SetHost(name string, addresses ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hosts[name] = addresses; len(addresses) == 0 {
		delete(w.hosts, name)
	}
}

// resolveName finds a name's addresses: those of SetHost, else MAAS's.
func (w *Workloads) resolveName(ctx context.Context, name string) ([]string, error) {
	w.mu.Lock()
	addresses, found := w.hosts[name]
	w.mu.Unlock()
	if found {
		return addresses, nil
	}
	return w.site.Resolve(ctx, name)
}

// listenAddress maps the host:port of an API server to the address where it
// really listens.
func (w *Workloads) listenAddress(address string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return valueOr(w.listenAddresses[address], address)
}

// Dial connects to host:port, where the host may be a name in MAAS's DNS. It
// tries its addresses in turn. Where the machines are elsewhere, this system's
// resolver finds the names that MAAS does not know.
func (w *Workloads) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses := []string{host}
	if _, err := netip.ParseAddr(host); err != nil {
		if addresses, err = w.resolveName(ctx, host); err != nil {
			return nil, fmt.Errorf("cannot resolve %s: %w", host, err)
		}
		if len(addresses) == 0 && w.mapsAddresses {
			addresses = []string{host} // for example MAAS's own name, which this system's resolver may know
		}
	}
	failed := fmt.Errorf("no such host: MAAS's DNS has no address for %s", host)
	for _, ip := range addresses {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, w.listenAddress(net.JoinHostPort(ip, port)))
		if err == nil {
			return connection, nil
		}
		failed = err
	}
	return nil, failed
}

// Environment are the variables that let a program reach the published
// endpoints by their names. Requests to loopback addresses do not use the
// proxy.
func (w *Workloads) Environment() []string {
	return []string{"HTTPS_PROXY=" + w.ProxyURL()}
}

// ProxyURL is the proxy of [Workloads.Environment], for clients in this
// process.
func (w *Workloads) ProxyURL() string { return "http://" + w.proxy.address }

// proxy is an HTTP proxy for TLS only, with a resolver of its own.
type proxy struct {
	address string
	http    *http.Server
	dial    func(ctx context.Context, network, address string) (net.Conn, error)

	mu      sync.Mutex
	tunnels map[net.Conn]bool
}

// startProxy starts a proxy that listens at an address.
func startProxy(address string, dial func(context.Context, string, string) (net.Conn, error)) (*proxy, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	p := &proxy{address: l.Addr().String(), dial: dial, tunnels: map[net.Conn]bool{}}
	p.http = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.http.Serve(l) }() // stop ends it
	return p, nil
}

// stop ends the proxy and its tunnels.
func (p *proxy) stop() {
	_ = p.http.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for connection := range p.tunnels {
		_ = connection.Close()
	}
}

// ServeHTTP answers CONNECT with a tunnel to the host.
func (p *proxy) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(rw, "this proxy makes tunnels only", http.StatusMethodNotAllowed)
		return
	}
	there, err := p.dial(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadGateway)
		return
	}
	here, buffered, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		_ = there.Close()
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	p.trackTunnels(here, there)
	defer p.closeTunnels(here, there)
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	relay(here, buffered, there)
}

// relay copies in both directions until both have ended.
func relay(here net.Conn, from io.Reader, there net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { copyAll(there, from) })
	both.Go(func() { copyAll(here, there) })
	both.Wait()
}

// copyAll copies until the end, and closes the other side's writing. A broken
// connection ends both directions.
func copyAll(to net.Conn, from io.Reader) {
	_, err := io.Copy(to, from)
	half, ok := to.(interface{ CloseWrite() error })
	if err != nil && !errors.Is(err, io.EOF) || !ok {
		_ = to.Close()
		return
	}
	_ = half.CloseWrite()
}

func (p *proxy) trackTunnels(connections ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range connections {
		p.tunnels[c] = true
	}
}

func (p *proxy) closeTunnels(connections ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range connections {
		_ = c.Close()
		delete(p.tunnels, c)
	}
}
