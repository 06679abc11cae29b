package lxdtest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// ServeSocket makes the server that transport reaches at an address over https available on
// a unix socket, until the end of the test. So a simulated LXD looks like the LXD of this
// machine.
func ServeSocket(t testing.TB, address string, transport http.RoundTripper) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "lxd") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	socket := filepath.Join(folder, "unix.socket")
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "https", Host: address})
	}}
	server := httptest.NewUnstartedServer(proxy)
	server.Listener.Close()
	if server.Listener, err = net.Listen("unix", socket); err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	return socket
}
