package lxd

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
)

// TestPinnedCertificate: nothing is sent to a server that shows another certificate than the pinned one.
func TestPinnedCertificate(t *testing.T) {
	t.Parallel()
	key := makeKey(t)
	f := startFakeLXD(t, map[string][]string{key.Fingerprint: {"maas"}})
	pinned := strings.Repeat("ab", 32)
	_, err := NewProber(Config{Timeout: time.Minute}).Server(t.Context(), endpoint(f.address(), "maas"), key.Credentials, pinned)
	if sentinelNames(err) != "ErrOtherServer" || !engine.IsTerminal(err) {
		t.Fatalf("got %v (%s)", err, sentinelNames(err))
	}
	for _, want := range []string{pinned, f.fingerprint(t), f.address(), "lxc info", fmt.Sprintf("server_fingerprint = %q", f.fingerprint(t))} {
		if !strings.Contains(shownText(err), want) {
			t.Errorf("the error does not name %s: %s", want, shownText(err))
		}
	}
	if n := f.requests.Load(); n != 0 {
		t.Errorf("%d requests reached a server that is not trusted", n)
	}
	checkNoSecret(t, shownText(err), key)
}

// TestPinHoldsAfterLearning replaces the server between the handshake that reads its
// certificate and the connection that sends requests.
func TestPinHoldsAfterLearning(t *testing.T) {
	t.Parallel()
	key := makeKey(t)
	var handshakes atomic.Int64
	other, impostor := serverPair(t)
	f := startFakeLXD(t, map[string][]string{key.Fingerprint: {"maas"}}, func(f *fakeLXD) {
		changed := f.TLS.Clone()
		changed.Certificates = []tls.Certificate{impostor}
		f.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			if handshakes.Add(1) == 1 {
				return nil, nil // the configuration as it is
			}
			return changed, nil
		}
	})
	_, err := NewProber(Config{Timeout: time.Minute}).Server(t.Context(), endpoint(f.address(), "maas"), key.Credentials, "")
	if sentinelNames(err) != "ErrOtherServer" || !strings.Contains(err.Error(), f.fingerprint(t)) || !strings.Contains(err.Error(), fingerprintOf(t, other)) {
		t.Errorf("got %v (%s), want both fingerprints", err, sentinelNames(err))
	}
	if n := f.requests.Load(); n != 0 {
		t.Errorf("%d requests reached the impostor", n)
	}
}

// TestLearningShowsNothing: before the server's certificate is known, the client shows
// none.
func TestLearningShowsNothing(t *testing.T) {
	t.Parallel()
	key := makeKey(t)
	f := startFakeLXD(t, nil)
	got, err := NewProber(Config{Timeout: time.Minute}).learnFingerprint(t.Context(), f.address())
	if err != nil || got != f.fingerprint(t) {
		t.Fatalf("learned %q, %v; want %s", got, err, f.fingerprint(t))
	}
	if n := f.requests.Load(); n != 0 || !f.awaitAllClosed() {
		t.Errorf("%d requests, %d connections left", n, f.open.Load())
	}
	checkNoSecret(t, got, key)
}

// TestConnectionsOfARead: a read of a known server takes one connection, and the first contact one
// more.
func TestConnectionsOfARead(t *testing.T) {
	t.Parallel()
	key := makeKey(t)
	for name, want := range map[string]int64{"Pinned": 1, "Unpinned": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFakeLXD(t, map[string][]string{key.Fingerprint: {"maas"}})
			pinned := ""
			if name == "Pinned" {
				pinned = f.fingerprint(t)
			}
			if _, err := NewProber(Config{Timeout: time.Minute}).Server(t.Context(), endpoint(f.address(), "maas"), key.Credentials, pinned); err != nil {
				t.Fatal(err)
			}
			if got := f.accepted.Load(); got != want || f.requests.Load() != 4 {
				t.Errorf("%d connections for %d requests, want %d for 4", got, f.requests.Load(), want)
			}
			if !f.awaitAllClosed() {
				t.Errorf("%d connections stay open", f.open.Load())
			}
		})
	}
}

// startTunnelProxy starts a proxy that only tunnels.
func startTunnelProxy(t *testing.T, tunnels *atomic.Int64) *url.URL {
	t.Helper()
	s := withoutErrorLog(httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "CONNECT only", http.StatusMethodNotAllowed)
			return
		}
		there, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer there.Close()
		here, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer here.Close()
		tunnels.Add(1)
		io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { io.Copy(there, here); there.Close() }()
		io.Copy(here, there)
	})))
	t.Cleanup(s.Close)
	proxy, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return proxy
}

// TestProbeThroughProxy: the same rules hold for a connection through a proxy.
func TestProbeThroughProxy(t *testing.T) {
	t.Parallel()
	key := makeKey(t)
	f := startFakeLXD(t, map[string][]string{key.Fingerprint: {"maas"}})
	var tunnels atomic.Int64
	proxy := startTunnelProxy(t, &tunnels)
	p := NewProber(Config{Timeout: time.Minute})
	p.proxy = http.ProxyURL(proxy)
	got, err := p.Server(t.Context(), endpoint(f.address(), "maas"), key.Credentials, "")
	if err != nil || got.Fingerprint != f.fingerprint(t) || tunnels.Load() != 2 {
		t.Fatalf("got %+v, %v through %d tunnels", got, err, tunnels.Load())
	}
	served := f.requests.Load()
	_, err = p.Server(t.Context(), endpoint(f.address(), "maas"), key.Credentials, strings.Repeat("ab", 32))
	if sentinelNames(err) != "ErrOtherServer" || f.requests.Load() != served {
		t.Errorf("another certificate than the pinned one passes through a proxy: %v", err)
	}
}
