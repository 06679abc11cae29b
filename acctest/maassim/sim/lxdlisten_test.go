package sim

import (
	"net"
	"testing"
)

// TestPortsAreKept: while an LXD is unreachable, nobody else gets its port. Afterwards the
// LXD listens on it again.
func TestPortsAreKept(t *testing.T) {
	t.Parallel()
	s, err := openSockets(LXDListenPorts)
	if err != nil {
		t.Fatal(err)
	}
	const address = "10.77.0.2:8443"
	first, err := s.listen(address)
	if err != nil {
		t.Fatal(err)
	}
	at := first.Addr().(*net.TCPAddr)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if lock, err := net.ListenPacket("udp", at.String()); err == nil {
		lock.Close()
		t.Errorf("another simulator can have %s", at)
	}
	again, err := s.listen(address)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Addr().String() != at.String() {
		t.Errorf("it is at %s, and was at %s", again.Addr(), at)
	}
	s.release()
	lock, err := net.ListenPacket("udp", at.String())
	if err != nil {
		t.Fatalf("the port was not given back: %v", err)
	}
	lock.Close()
}
