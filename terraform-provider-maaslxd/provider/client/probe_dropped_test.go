package client

import (
	"net"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
)

// TestDroppedConnections: a connection that is accepted and never answered is held by something on the way.
// A refused one belongs to an LXD that boots.
func TestDroppedConnections(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	held := make(chan net.Conn, 4)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			held <- conn
		}
	}()
	address := "https://" + l.Addr().String()
	if !isConnectionDropped(t.Context(), address) {
		t.Error("want a connection without an answer to count")
	}
	closed, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	if isConnectionDropped(t.Context(), "https://"+closed) {
		t.Error("want one that is refused not to count")
	}
	if isConnectionDropped(t.Context(), "no address") {
		t.Error("want an invalid address not to count")
	}
}
