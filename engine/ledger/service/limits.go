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

// What one client may take of the service, so that others are served beside it. A run has
// one connection; several runs and managers may have one address.
const (
	maxStreams   = 100  // requests at once on a connection
	maxAtOnce    = 32   // requests of a client that are worked on at once; others wait
	maxPerHost   = 256  // connections of one address
	maxConns     = 4096 // connections of all
	longestCheck = time.Hour
)

// turns let each client have so many requests worked on at once.
type turns struct {
	mu sync.Mutex
	of map[string]chan struct{}
}

// take waits for a turn of a client, which ends with giveBack.
func (t *turns) take(ctx context.Context, client string) (giveBack func(), err error) {
	t.mu.Lock()
	if t.of == nil {
		t.of = map[string]chan struct{}{}
	}
	turn := t.of[client]
	if turn == nil {
		turn = make(chan struct{}, maxAtOnce)
		t.of[client] = turn
	}
	t.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// checkBounds refuses texts that no name is as long as, and closes of a host that would
// last for too long.
func checkBounds(call wire.Call) error {
	if text := longText(reflect.ValueOf(call)); text != "" {
		return invalid(fmt.Sprintf("a text in the call is %d bytes long, and at most %d are taken", len(text), maxName))
	}
	c := call.Close
	if c != nil && (c.Lease <= 0 || c.Lease > engine.LongestClose || c.Window < 0 || c.Window > longestCheck) {
		return invalid(fmt.Sprintf("a VM host cannot be closed for %s, with composes of %s: at most %s and %s are taken", c.Lease, c.Window, engine.LongestClose, longestCheck))
	}
	return nil
}

// longText finds a text that is too long; empty: there is none.
func longText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		if v.Len() > maxName {
			return v.String()
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return longText(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if text := longText(v.Index(i)); text != "" {
				return text
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if text := longText(key); text != "" {
				return text
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if text := longText(v.Field(i)); text != "" {
				return text
			}
		}
	}
	return ""
}

// Limit bounds the connections of one address, and of all. One that is too many is closed
// at once: its client tries again.
func Limit(l net.Listener) net.Listener {
	return &limited{Listener: l, perHost: maxPerHost, most: maxConns, of: map[string]int{}}
}

// limited is a listener that counts connections.
type limited struct {
	net.Listener
	perHost, most int

	mu  sync.Mutex
	all int
	of  map[string]int // by address
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err != nil {
			host = conn.RemoteAddr().String()
		}
		if l.count(host, 1) {
			return &counted{Conn: conn, end: sync.OnceFunc(func() { l.count(host, -1) })}, nil
		}
		_ = conn.Close()
	}
}

// count adds to the connections of an address, unless they become too many.
func (l *limited) count(host string, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > 0 && (l.all+n > l.most || l.of[host]+n > l.perHost) {
		return false
	}
	l.all += n
	if l.of[host] += n; l.of[host] == 0 {
		delete(l.of, host)
	}
	return true
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	end func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.end()
	return c.Conn.Close()
}
