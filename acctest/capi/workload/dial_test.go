package workload

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestDialByName: names come from SetHost first, then from MAAS. Of several addresses
// one that answers is enough.
func TestDialByName(t *testing.T) {
	t.Parallel()
	o := newOperator(t, 0)
	w := startMachines(t, o)
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("skipped: this system has no loopback address but one: %v", err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	o.publishDNS("api.example.com", "127.0.0.3", "127.0.0.2")
	o.publishDNS("dead.example.com", "127.0.0.3")
	w.SetHost("lb.elsewhere.example", "127.0.0.2")
	w.SetHost("gone.example.com", "127.0.0.2")
	w.SetHost("gone.example.com")
	cases := map[string]struct {
		reason string
		host   string
		fails  string
	}{
		"Published": {"The second address answers.", "api.example.com", ""},
		"SetHost":   {"A name that MAAS does not know.", "lb.elsewhere.example", ""},
		"Address":   {"An address is none to look up.", "127.0.0.2", ""},
		"Dead":      {"Nobody listens at the name's address.", "dead.example.com", "connection refused"},
		"Taken":     {"A name that was taken away.", "gone.example.com", "no such host"},
		"Unknown":   {"A name that nobody made.", "www.example.com", "no such host"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			connection, err := w.Dial(t.Context(), "tcp", fmt.Sprintf("%s:%d", tc.host, port))
			if err == nil {
				defer connection.Close()
			}
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%s\nerror: %v, want %q", tc.reason, err, tc.fails)
			}
		})
	}
}

// TestProxyToMachine: through the variables of Environment a client reaches the server
// of that name, and only by TLS.
func TestProxyToMachine(t *testing.T) {
	t.Parallel()
	o := newOperator(t, 0)
	w := startMachines(t, o)
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "here") }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	w.SetHost("example.com", "127.0.0.1") // the name in the server's certificate
	proxy, err := url.Parse(strings.TrimPrefix(w.Environment()[0], "HTTPS_PROXY="))
	if err != nil {
		t.Fatal(err)
	}
	browser := server.Client()
	browser.Transport.(*http.Transport).Proxy = http.ProxyURL(proxy)
	browser.Transport.(*http.Transport).DialContext = nil
	reply, err := browser.Get("https://example.com:" + port)
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	if _, err := browser.Get("https://unknown.example.com:" + port); err == nil || !strings.Contains(err.Error(), "Bad Gateway") {
		t.Errorf("a name that nobody made: %v", err)
	}
	reply, err = browser.Get("http://example.com:" + port)
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	if reply.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("what is not TLS: %s", reply.Status)
	}
}
