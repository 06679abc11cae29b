package api

import (
	"crypto/tls"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
)

// TestTransport checks that the transport still has a proxy function. It cannot use a
// proxy, because the proxy variables are read once per process.
func TestTransport(t *testing.T) {
	t.Parallel()
	tr := newTransport(7, nil)
	if tr.Proxy == nil || tr.TLSClientConfig.MinVersion != tls.VersionTLS12 || tr.MaxConnsPerHost != 7 || tr.TLSHandshakeTimeout == 0 {
		t.Errorf("got %+v", tr)
	}
}

// TestSameFailureSameMessage: the same failure from another source port has the same
// message.
func TestSameFailureSameMessage(t *testing.T) {
	t.Parallel()
	base, err := url.Parse("http://10.0.0.1:5240/MAAS")
	if err != nil {
		t.Fatal(err)
	}
	remote := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 5240}
	for _, op := range []string{"read", "dial"} {
		var messages []string
		for port := range 2 {
			broken := &net.OpError{Op: op, Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 40000 + port}, Addr: remote, Err: syscall.ECONNRESET}
			message, _, _ := explainUnreachable(base, &url.Error{Op: "Get", URL: base.String(), Err: broken})
			messages = append(messages, message)
		}
		if messages[0] != messages[1] || !strings.Contains(messages[0], "reset by peer") {
			t.Errorf("%s: %q", op, messages)
		}
	}
}
