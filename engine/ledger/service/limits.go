package service

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"sync"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// Limits for one client of the service, so that others are served beside it. A
// run has one connection. Several runs and managers may share an address.
const (
	maxStreams           = 100  // requests at once on a connection
	maxRequestsPerClient = 32   // requests of a client that are worked on at once; others wait
	maxConnsPerAddress   = 256  // connections of one address
	maxConns             = 4096 // connections of all
	maxCloseWindow       = time.Hour
)

// clientTurns limits how many requests of one client are worked on at once.
type clientTurns struct {
	mu       sync.Mutex
	byClient map[string]chan struct{}
}

// waitForTurn waits until a request of a client may be worked on. The caller ends that with
// giveBack.
func (t *clientTurns) waitForTurn(ctx context.Context, client string) (giveBack func(), err error) {
	t.mu.Lock()
	if t.byClient == nil {
		t.byClient = map[string]chan struct{}{}
	}
	turn := t.byClient[client]
	if turn == nil {
		turn = make(chan struct{}, maxRequestsPerClient)
		t.byClient[client] = turn
	}
	t.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// checkBounds refuses texts that are longer than any name, and closes of a host that would last
// too long.
func checkBounds(call wire.Call) error {
	if text := findLongText(reflect.ValueOf(call)); text != "" {
		return invalidCallError(fmt.Sprintf("a text in the call is %d bytes long, and at most %d are taken", len(text), maxNameBytes))
	}
	c := call.Close
	if c != nil && (c.Lease <= 0 || c.Lease > engine.MaxCloseLease || c.Window < 0 || c.Window > maxCloseWindow) {
		return invalidCallError(fmt.Sprintf("a VM host cannot be closed for %s, with composes of %s: at most %s and %s are taken", c.Lease, c.Window, engine.MaxCloseLease, maxCloseWindow))
	}
	return nil
}

// findLongText names a field with a text that is too long; empty: there is none.
func findLongText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		if v.Len() > maxNameBytes {
			return v.String()
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return findLongText(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if text := findLongText(v.Index(i)); text != "" {
				return text
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if text := findLongText(key); text != "" {
				return text
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if text := findLongText(v.Field(i)); text != "" {
				return text
			}
		}
	}
	return ""
}

// LimitConnections limits the connections of each address, and of all addresses. It closes one
// too many at once, and its client tries again.
func LimitConnections(l net.Listener) net.Listener {
	return &limitedListener{Listener: l, maxPerAddress: maxConnsPerAddress, maxTotal: maxConns, byAddress: map[string]int{}}
}

// limitedListener is a listener that counts connections.
type limitedListener struct {
	net.Listener
	maxPerAddress, maxTotal int

	mu        sync.Mutex
	total     int
	byAddress map[string]int
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err != nil {
			host = conn.RemoteAddr().String()
		}
		if l.addConns(host, 1) {
			return &countedConn{Conn: conn, uncount: sync.OnceFunc(func() { l.addConns(host, -1) })}, nil
		}
		_ = conn.Close()
	}
}

// addConns counts further connections of an address. It returns false if there would be too
// many.
func (l *limitedListener) addConns(host string, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > 0 && (l.total+n > l.maxTotal || l.byAddress[host]+n > l.maxPerAddress) {
		return false
	}
	l.total += n
	if l.byAddress[host] += n; l.byAddress[host] == 0 {
		delete(l.byAddress, host)
	}
	return true
}

// countedConn is a connection that counts until it is closed.
type countedConn struct {
	net.Conn
	uncount func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	defer c.uncount()
	return c.Conn.Close()
}
