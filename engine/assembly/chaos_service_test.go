package assembly_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
	"github.com/maaslxd/maaslxd/engine/ledger/service"
)

// regionMark is the MAAS of a schedule in the ledger of a service.
const regionMark = "maas"

// ledgerService is a ledger service on a network in memory. It dies and comes back, and
// loses requests and replies.
type ledgerService struct {
	t         *testing.T
	wrap      func(http.Handler) http.Handler // around the service; nil: nothing
	folder    string
	authority *access.Authority
	clients   map[string]remote.Config // by owner

	mu       sync.Mutex
	rows     *ledger.Ledger
	server   *http.Server // nil: none runs
	listener *memoryListener
	ended    chan struct{}
}

// newLedgerService makes one for owners and the prefixes of their keys. None runs yet.
func newLedgerService(t *testing.T, owners map[string]string) *ledgerService {
	v := &ledgerService{t: t, folder: makeScratchFolder(t), clients: map[string]remote.Config{}}
	var err error
	if v.authority, err = access.OpenAuthority(v.folder, time.Now()); err != nil {
		t.Fatal(err)
	}
	for name, prefix := range owners {
		certificate, key, err := v.authority.IssueClient(name, time.Now(), 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		rights := access.Rights{Regions: []string{regionMark}, Prefix: access.OwnerPrefix(prefix)}
		if _, err := access.NewRegister(v.folder).Add(t.Context(), name, rights, certificate, time.Now()); err != nil {
			t.Fatal(err)
		}
		v.clients[name] = remote.Config{
			Address: "https://127.0.0.1:7443", CA: v.authority.Certificate, Certificate: string(certificate), Key: string(key),
			Version: "test", Dialer: v,
		}
	}
	return v
}

// start serves a file, if no service runs.
func (v *ledgerService) start(path string) *ledger.Ledger {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.server != nil {
		return v.rows
	}
	rows, err := ledger.OpenFile(context.Background(), path)
	if err != nil {
		v.t.Fatal(err)
	}
	pair, err := v.authority.IssueServer([]string{"127.0.0.1"}, time.Now())
	if err != nil {
		v.t.Fatal(err)
	}
	var handler http.Handler = service.New(service.Config{Ledger: rows, Clients: access.NewRegister(v.folder), Signers: v.authority.Pool(), Version: "test"})
	if v.wrap != nil {
		handler = v.wrap(handler)
	}
	server := service.NewServer(handler, func() (*tls.Certificate, error) { return &pair, nil }, slog.New(slog.DiscardHandler))
	listener, ended := newMemoryListener(), make(chan struct{})
	v.rows, v.server, v.listener, v.ended = rows.Region(regionMark), server, listener, ended
	go func() {
		defer close(ended)
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			v.t.Errorf("the ledger service ended: %v", err)
		}
	}()
	return v.rows
}

// stop ends the service where it stands.
func (v *ledgerService) stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.server == nil {
		return
	}
	if err := errors.Join(v.server.Close(), v.rows.Close()); err != nil {
		v.t.Error(err)
	}
	<-v.ended
	v.server, v.listener = nil, nil
}

// loseRandomCalls is a service that loses some requests before they are done, and some replies
// after it.
func (s *schedule) loseRandomCalls(next http.Handler) http.Handler {
	var mu sync.Mutex
	calls := map[string]int{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		calls[r.URL.Path]++
		dice := s.newDice("ledger service", r.URL.Path, calls[r.URL.Path])
		mu.Unlock()
		if s.quiet.Load() || dice.Float64() >= s.disturbances.broken {
			next.ServeHTTP(w, r)
			return
		}
		s.witness.count(func(f *figures) { f.lost++ })
		if dice.IntN(3) > 0 {
			next.ServeHTTP(httptest.NewRecorder(), r)
		}
		panic(http.ErrAbortHandler)
	})
}

// DialContext implements remote.Dialer.
func (v *ledgerService) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	v.mu.Lock()
	to := v.listener
	v.mu.Unlock()
	if to == nil {
		return nil, errReset
	}
	return to.dial(ctx)
}

// ledgerServiceName is what is away then.
const ledgerServiceName = "the ledger service"

// restartService ends the service at random times, and starts it again at once or later
// than its clients wait for it.
func (b *chaosLedger) restartService(stop <-chan struct{}) {
	d := b.s.newDice("restarts of the ledger service")
	for range d.IntN(6) {
		if !b.s.pause(stop, time.Duration(d.IntN(60_000))*time.Millisecond) {
			return
		}
		b.s.note("world", "the ledger service dies")
		b.s.witness.count(func(f *figures) { f.restarts++ })
		b.s.witness.noteReachability(ledgerServiceName, false)
		b.service.stop()
		b.s.pause(stop, pickRandom(d, 0, time.Second, 10*time.Second, time.Duration(d.IntN(90))*time.Second))
		b.reopen()
		b.s.witness.noteReachability(ledgerServiceName, true)
		b.s.note("world", "the ledger service is back")
	}
}

// newServiceOwners makes two owners as Terraform has them, and one as a manager is, whose
// keys name a management cluster, a namespace and a cluster. All use one service.
func (s *schedule) newServiceOwners() {
	prefixes := map[string]string{"red": "red", "blue": "blue", "manager": "5f7a1c1e-6f0c-4f43-9d3d-0d8a5b8f2f11"}
	shared := &chaosLedger{s: s, kind: "a service", users: map[*programRun]bool{}, dir: makeScratchFolder(s.t), service: newLedgerService(s.t, prefixes)}
	shared.service.wrap = s.loseRandomCalls
	shared.path = filepath.Join(shared.dir, "0.db")
	shared.open()
	s.t.Cleanup(shared.close)
	for _, name := range []string{"red", "blue", "manager"} {
		prefix := prefixes[name]
		if name == "manager" {
			prefix = strings.Join([]string{prefix, "default", "alpha"}, "/")
		}
		s.owners = append(s.owners, s.newOwner(name, prefix, shared))
	}
}

// memoryListener is a listener in memory.
type memoryListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newMemoryListener() *memoryListener {
	return &memoryListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (d *memoryListener) Accept() (net.Conn, error) {
	select {
	case conn := <-d.conns:
		return conn, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *memoryListener) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

func (d *memoryListener) Addr() net.Addr { return &net.TCPAddr{} }

// dial connects with whoever accepts.
func (d *memoryListener) dial(ctx context.Context) (net.Conn, error) {
	one, other := net.Pipe()
	client, server := newBufferedConn(one), newBufferedConn(other)
	var err error
	select {
	case d.conns <- server:
		return client, nil
	case <-d.closed:
		err = errReset
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, errors.Join(err, client.Close(), server.Close())
}

// bufferedConn is one side of a pipe that takes what is written before the other side
// reads it, as a network does. TLS and HTTP/2 count on that.
type bufferedConn struct {
	net.Conn
	queue  chan []byte
	closed chan struct{}
	once   sync.Once
}

func newBufferedConn(conn net.Conn) *bufferedConn {
	b := &bufferedConn{Conn: conn, queue: make(chan []byte, 1024), closed: make(chan struct{})}
	go b.forwardWrites()
	return b
}

func (b *bufferedConn) forwardWrites() {
	for {
		select {
		case text := <-b.queue:
			if _, err := b.Conn.Write(text); err != nil {
				return
			}
		case <-b.closed:
			return
		}
	}
}

func (b *bufferedConn) Write(text []byte) (int, error) {
	select {
	case b.queue <- append([]byte(nil), text...):
		return len(text), nil
	case <-b.closed:
		return 0, net.ErrClosed
	}
}

func (b *bufferedConn) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Conn.Close()
}

// SetDeadline leaves writes alone, which never wait for long.
func (b *bufferedConn) SetDeadline(t time.Time) error { return b.SetReadDeadline(t) }

func (b *bufferedConn) SetWriteDeadline(time.Time) error { return nil }

var _ remote.Dialer = (*ledgerService)(nil)
