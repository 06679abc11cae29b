package maas

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// realClient connects to an address through the client's own transport.
func realClient(t *testing.T, url string, change ...func(*Config)) *Client {
	t.Helper()
	return testClient(t, nil, append(change, func(c *Config) {
		c.URL = url
		c.Backoff = func(int) time.Duration { return 0 }
	})...)
}

func withoutErrorLog(s *httptest.Server) *httptest.Server {
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	return s
}

func versionServer(t *testing.T) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"version":"3.4.10"}`)
	})
}

func TestUnreachableMAAS(t *testing.T) {
	t.Parallel()
	plain := withoutErrorLog(httptest.NewServer(versionServer(t)))
	secure := withoutErrorLog(httptest.NewTLSServer(versionServer(t)))
	old := withoutErrorLog(httptest.NewUnstartedServer(versionServer(t)))
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.StartTLS()
	other := withoutErrorLog(httptest.NewServer(http.NotFoundHandler()))
	closed, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plain.Close(); secure.Close(); old.Close(); other.Close() })
	cases := map[string]struct {
		reason, url   string
		message, hint string
		terminal      bool
	}{
		"Refused": {"Nothing listens there, perhaps for a moment.", "http://" + closed, "connection refused", "5240", false},
		"NoSuchHost": {"The name is mistyped.", "http://maas.invalid:5240/MAAS", "cannot find the address of maas.invalid",
			"DNS", false},
		"UnknownAuthority": {"A site's own CA.", secure.URL, "not trusted here", "CA certificate", true},
		"HTTPSToHTTP":      {"https was written, http is spoken.", "https://" + plain.Listener.Addr().String(), "does not speak HTTPS", "http://", true},
		"HTTPToHTTPS":      {"http was written, https is spoken.", "http://" + secure.Listener.Addr().String(), "not the answer of a MAAS", "https", true},
		"OldTLS":           {"TLS 1.1 is not spoken.", old.URL, "broke before", "restarting", false},
		"NoMAAS":           {"Another server listens there.", other.URL, "no MAAS API", "api_url", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := realClient(t, tc.url).Catalog.Capabilities(t.Context())
			e, ok := api.AsError(err)
			if !ok || errorKinds(err) != "ErrUnavailable" || engine.IsTerminal(err) != tc.terminal {
				t.Fatalf("%s: got %v (%s), terminal %v", tc.reason, err, errorKinds(err), engine.IsTerminal(err))
			}
			if !strings.Contains(e.Message, tc.message) || !strings.Contains(e.Hint, tc.hint) {
				t.Errorf("%s: message %q, hint %q", tc.reason, e.Message, e.Hint)
			}
		})
	}
}

func TestPostToUntrustedServerWasNotSent(t *testing.T) {
	t.Parallel()
	secure := withoutErrorLog(httptest.NewTLSServer(versionServer(t)))
	t.Cleanup(secure.Close)
	err := realClient(t, secure.URL).Machines.Release(t.Context(), "abc123", engine.EraseNone)
	if errorKinds(err) != "ErrUnavailable" {
		t.Errorf("got %v (%s)", err, errorKinds(err))
	}
}

func TestCACert(t *testing.T) {
	t.Parallel()
	secure := withoutErrorLog(httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `[{"id":1,"name":"default"}]`)
	})))
	t.Cleanup(secure.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	zones, err := realClient(t, secure.URL, func(c *Config) { c.CACert = ca }).Names.Zones(t.Context())
	if err != nil || len(zones) != 1 {
		t.Errorf("got %v, %v", zones, err)
	}
}

func TestConnectionsAreKeptAndFew(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Millisecond)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"state":"on"}`)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c := realClient(t, s.URL)
	t.Cleanup(c.Close)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			for range 5 {
				if _, err := c.Machines.QueryPower(t.Context(), "abc123"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := opened.Load(); n > 14 {
		t.Errorf("%d connections, want at most 14", n)
	}
}

// hangUp reads the request and closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

// TestBrokenKeptConnection drops every second request on a connection that has served
// before. net/http would repeat a GET itself, with a nonce that MAAS has seen.
func TestBrokenKeptConnection(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	nonces := map[string]bool{}
	n := 0
	s := withoutErrorLog(httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if header := r.Header.Get("Authorization"); nonces[header] {
			t.Errorf("sent twice: %s", header)
		} else {
			nonces[header] = true
		}
		if r.ContentLength > 0 && r.Method == http.MethodGet {
			t.Error("a GET has a body")
		}
		if n++; n%2 == 0 {
			hangUp(w)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"state":"on"}`)
	})))
	t.Cleanup(s.Close)
	c := realClient(t, s.URL)
	t.Cleanup(c.Close)
	for range 3 {
		if state, err := c.Machines.QueryPower(t.Context(), "abc123"); err != nil || state != "on" {
			t.Errorf("got %q, %v", state, err)
		}
	}
	err := c.Machines.Release(t.Context(), "abc123", engine.EraseNone) // the sixth request
	mu.Lock()
	defer mu.Unlock()
	if got := errorKinds(err); got != "ErrUnavailable ErrUnclear" || n != 6 {
		t.Errorf("POST: got %v (%s) after %d requests", err, got, n)
	}
}
