package freeport

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestMain may run as a second process that asks for a given port.
func TestMain(m *testing.M) {
	port, err := strconv.Atoi(os.Getenv("FREEPORT_WANTED"))
	if err != nil {
		os.Exit(m.Run())
	}
	_, err = reservePort(port)
	fmt.Println(err)
}

// TestPortsAreOurs: each port is given out once, and a server can use it.
func TestPortsAreOurs(t *testing.T) {
	ports, err := Ports(200)
	if err != nil {
		t.Fatal(err)
	}
	more, err := Ports(200)
	if err != nil {
		t.Fatal(err)
	}
	all := append(ports, more...)
	slices.Sort(all)
	if given := len(slices.Compact(all)); given != 400 {
		t.Errorf("got %d different ports, want 400", given)
	}
	listener, err := net.Listen("tcp", loopbackAddress(ports[0]))
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
}

// TestOtherProcessesGetOthers: another process does not get a port of this one, even if
// nobody listens there yet.
func TestOtherProcessesGetOthers(t *testing.T) {
	ports, err := Ports(1)
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), fmt.Sprintf("FREEPORT_WANTED=%d", ports[0]))
	out, err := other.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "address already in use") {
		t.Errorf("another process got port %d, too: %s, %v", ports[0], out, err)
	}
}

// TestTakenPort: a port on which somebody listens is not given out.
func TestTakenPort(t *testing.T) {
	ports, err := Ports(1)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", loopbackAddress(ports[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	mu.Lock()
	defer mu.Unlock()
	reservedPorts[ports[0]].Close()
	delete(reservedPorts, ports[0])
	if _, err := reservePort(ports[0]); err == nil {
		t.Errorf("port %d was given although somebody listens there", ports[0])
	}
}

// TestListen: the caller keeps the port while nobody listens there, until the caller
// releases it.
func TestListen(t *testing.T) {
	listener, release, err := Listen()
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().(*net.TCPAddr)
	if at.Port < firstPort || at.Port > lastPort {
		t.Errorf("port %d is one that anybody may get", at.Port)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if lock, err := net.ListenPacket("udp", at.String()); err == nil {
		lock.Close()
		t.Errorf("another process can have %s", at)
	}
	again, err := net.Listen("tcp", at.String())
	if err != nil {
		t.Fatalf("the port is not there for its owner: %v", err)
	}
	again.Close()
	release()
	lock, err := net.ListenPacket("udp", at.String())
	if err != nil {
		t.Fatalf("the port was not given back: %v", err)
	}
	defer lock.Close()
	release() // must not close what another process has by now
	if other, err := net.ListenPacket("udp", at.String()); err == nil {
		other.Close()
		t.Errorf("a second release gave away %s", at)
	}
}
