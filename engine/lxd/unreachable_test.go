package lxd

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/freeport"
	"github.com/maaslxd/maaslxd/engine"
)

// shortTimeout is the deadline of reads from servers that never answer.
const shortTimeout = 150 * time.Millisecond

// listenSilently accepts connections and never answers. closed gets a value for each
// connection that its client closes.
func listenSilently(t *testing.T) (address string, closed <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	done := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.Copy(io.Discard, conn) // until the client closes
				done <- struct{}{}
			}()
		}
	}()
	return l.Addr().String(), done
}

// resetConnection resets the connection.
func resetConnection(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	if raw, ok := conn.(*tls.Conn).NetConn().(*net.TCPConn); ok {
		raw.SetLinger(0)
		raw.Close()
	}
}

// sendHalf announces more bytes than it sends.
func sendHalf(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, `{"type":"sync"`)
}

// hangUntilClosed does not answer until the client closes the connection.
func hangUntilClosed(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// dripForever sends an answer that never ends.
func dripForever(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		io.WriteString(w, " ")
		w.(http.Flusher).Flush()
		time.Sleep(time.Millisecond)
	}
}

func TestServerUnreachable(t *testing.T) {
	t.Parallel()
	key := makeKey(t)
	trust := map[string][]string{key.Fingerprint: {"maas"}}
	started := func(change func(*fakeLXD)) func(*testing.T) string {
		return func(t *testing.T) string { return startFakeLXD(t, trust, change).address() }
	}
	cases := map[string]struct {
		reason  string
		address func(t *testing.T) string
		message string
	}{
		"Refused": {"LXD does not run yet.", func(t *testing.T) string {
			address, err := freeport.Address()
			if err != nil {
				t.Fatal(err)
			}
			return address
		}, "nothing listens at"},
		"NoSuchHost": {"The name is mistyped.", func(*testing.T) string { return "lxd.invalid" }, "cannot find the address of lxd.invalid"},
		"BlackHole": {"A firewall, or a host that is stuck: not even TLS answers.", func(t *testing.T) string {
			address, _ := listenSilently(t)
			return address
		}, "did not answer within 150ms"},
		"Hang":        {"The daemon is stuck.", started(answerAt("/1.0/instances", hangUntilClosed)), "did not answer within 150ms"},
		"Drip":        {"An answer that never ends has a deadline, too.", started(answerAt("/1.0", dripForever)), "did not answer within 150ms"},
		"Reset":       {"The daemon dies.", started(answerAt("/1.0/projects/maas", resetConnection)), "cannot speak with"},
		"HalfAnswer":  {"The daemon dies while it answers.", started(answerAt("/1.0/storage-pools", sendHalf)), "cannot speak with"},
		"TLS12":       {"LXD speaks TLS 1.3.", started(func(f *fakeLXD) { f.TLS.MinVersion, f.TLS.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 }), "cannot speak with"},
		"NoTLS":       {"Another program listens there.", func(t *testing.T) string { return startPlainHTTP(t).Listener.Addr().String() }, "cannot speak with"},
		"StolenOwner": {"A server that shows a certificate must have its key.", started(withForeignKey(t)), "cannot speak with"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := tc.address(t)
			_, err := NewProber(Config{Timeout: timeoutFor(tc.message)}).Server(t.Context(), endpoint(address, "maas"), key.Credentials, "")
			e, ok := errors.AsType[*engine.Error](err)
			if !ok || e.Type != engine.HostUnavailable || sentinelNames(err) != "ErrUnavailable" || engine.IsTerminal(err) {
				t.Fatalf("%s: got %v (%s)", tc.reason, err, sentinelNames(err))
			}
			if !strings.Contains(e.Message, tc.message) || e.Hint == "" || strings.Contains(e.Message, "https://") {
				t.Errorf("%s: message %q, hint %q", tc.reason, e.Message, e.Hint)
			}
			checkNoSecret(t, shownText(err), key)
		})
	}
}

// timeoutFor returns a short timeout if the test waits for the deadline. Otherwise the
// timeout is long, so that a busy machine does not reach it.
func timeoutFor(message string) time.Duration {
	if strings.Contains(message, "within") {
		return shortTimeout
	}
	return time.Minute
}

func startPlainHTTP(t *testing.T) *httptest.Server {
	t.Helper()
	s := withoutErrorLog(httptest.NewServer(http.NotFoundHandler()))
	t.Cleanup(s.Close)
	return s
}

// withForeignKey shows the certificate of one server with the key of another.
func withForeignKey(t *testing.T) func(*fakeLXD) {
	t.Helper()
	_, other := serverPair(t)
	return func(f *fakeLXD) {
		pair := &f.TLS.Certificates[0]
		pair.PrivateKey, pair.Leaf = other.PrivateKey, nil
	}
}

// TestSlowLXDIsReachable: an LXD that answers slowly, but within the deadline, is reachable.
func TestSlowLXDIsReachable(t *testing.T) {
	t.Parallel()
	key := makeKey(t)
	f := startFakeLXD(t, map[string][]string{key.Fingerprint: {"maas"}}, func(f *fakeLXD) {
		f.instead = func(http.ResponseWriter, *http.Request) bool {
			time.Sleep(50 * time.Millisecond)
			return false
		}
	})
	if _, err := NewProber(Config{}).Server(t.Context(), endpoint(f.address(), "maas"), key.Credentials, ""); err != nil {
		t.Error(shownText(err))
	}
}

// TestNothingLeaks reads many times from servers that answer and servers that do not, and
// counts what is left. It runs alone.
func TestNothingLeaks(t *testing.T) {
	const looks = 5
	key := makeKey(t)
	trust := map[string][]string{key.Fingerprint: {"maas"}}
	servers := []*fakeLXD{startFakeLXD(t, trust), startFakeLXD(t, nil), startFakeLXD(t, trust, answerAt("/1.0/instances", hangUntilClosed)), startFakeLXD(t, trust, answerAt("/1.0", resetConnection))}
	hole, closed := listenSilently(t)
	before := runtime.NumGoroutine()
	p := NewProber(Config{Timeout: shortTimeout})
	for range looks {
		for _, f := range servers {
			p.Server(t.Context(), endpoint(f.address(), "maas"), key.Credentials, "")
		}
		if _, err := p.Server(t.Context(), endpoint(hole, "maas"), key.Credentials, ""); err == nil {
			t.Fatal("a black hole answered")
		}
	}
	for range looks {
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Fatal("a handshake without an answer holds its connection beyond the look")
		}
	}
	for n, f := range servers {
		if !f.awaitAllClosed() {
			t.Errorf("server %d: %d of %d connections stay open", n, f.open.Load(), f.accepted.Load())
		}
	}
	after := runtime.NumGoroutine()
	for range 1000 {
		if after = runtime.NumGoroutine(); after <= before {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if after > before {
		stacks := make([]byte, 1<<16)
		t.Errorf("%d goroutines became %d:\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
	}
}
