package remote_test

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/ledgertest"
	"github.com/maaslxd/maaslxd/engine/ledger/remote"
	"github.com/maaslxd/maaslxd/engine/ledger/service"
)

// testNode is a service in a folder, and those who may use it.
type testNode struct {
	t         testing.TB
	folder    string
	authority *access.Authority
	clients   *access.Register
	now       func() time.Time
	available func() error                    // whether the node serves; nil: it does
	leads     func() bool                     // whether it leads a cluster; nil: it is in none
	wrap      func(http.Handler) http.Handler // around the service; nil: nothing

	addr     string
	listener net.Listener // open as long as the test, so that nobody else gets the port

	mu          sync.Mutex
	serving     *serviceListener // of the service that runs; nil: none does
	connections int              // connections that were begun
	rows        *ledger.Ledger
	server      *http.Server
	ended       chan struct{}
	done        []service.AnsweredRequest
}

// allRights are the rights to all.
var allRights = access.Rights{Regions: []string{access.Wildcard}, Prefix: access.Wildcard}

func newTestNode(t testing.TB) *testNode {
	t.Helper()
	return newTestNodeIn(t, t.TempDir())
}

// addNode is a node beside this one: it has the same ledger, clients and authority, and
// remembers nothing of what this one answered.
func (w *testNode) addNode() *testNode {
	w.t.Helper()
	return newTestNodeIn(w.t, w.folder)
}

func newTestNodeIn(t testing.TB, folder string) *testNode {
	t.Helper()
	w := &testNode{t: t, folder: folder, now: time.Now}
	var err error
	if w.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	w.addr = w.listener.Addr().String()
	go w.acceptConns()
	t.Cleanup(func() { w.listener.Close() })
	if w.authority, err = access.OpenAuthority(w.folder, time.Now()); err != nil {
		t.Fatal(err)
	}
	w.clients = access.NewRegister(w.folder)
	w.start()
	t.Cleanup(w.stop)
	return w
}

func (w *testNode) ledgerPath() string { return filepath.Join(w.folder, "ledger.db") }

// serviceListener is where a service gets its connections from.
type serviceListener struct {
	net.Listener // for its address
	conns        chan net.Conn
	closed       chan struct{}
	once         sync.Once
}

// Accept implements net.Listener.
func (r *serviceListener) Accept() (net.Conn, error) {
	select {
	case conn := <-r.conns:
		return conn, nil
	case <-r.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (r *serviceListener) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}

// acceptConns leads who connects to the service that runs, and hangs up while none does.
func (w *testNode) acceptConns() {
	for {
		conn, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		to := w.serving
		w.connections++
		w.mu.Unlock()
		if to == nil {
			conn.Close()
			continue
		}
		select {
		case to.conns <- conn:
		case <-to.closed:
			conn.Close()
		}
	}
}

// start serves at the address that it had before.
func (w *testNode) start() {
	w.t.Helper()
	rows, err := ledger.OpenFile(context.Background(), w.ledgerPath())
	if err != nil {
		w.t.Fatal(err)
	}
	listener := &serviceListener{Listener: w.listener, conns: make(chan net.Conn), closed: make(chan struct{})}
	pair, err := w.authority.IssueServer([]string{"127.0.0.1"}, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	var handler http.Handler = service.New(service.Config{
		Ledger: rows, Clients: w.clients, Signers: w.authority.Pool(), Version: "test", Now: func() time.Time { return w.now() }, OnAnswered: w.recordRequest,
		CheckAvailable: w.available, IsLeader: w.leads,
	})
	if w.wrap != nil {
		handler = w.wrap(handler)
	}
	w.rows, w.ended = rows, make(chan struct{})
	w.mu.Lock()
	w.serving = listener
	w.mu.Unlock()
	w.server = service.NewServer(handler, func() (*tls.Certificate, error) { return &pair, nil }, slog.New(slog.DiscardHandler))
	go func() {
		defer close(w.ended)
		if err := w.server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			w.t.Error(err)
		}
	}()
}

// restartWith starts the service anew with what differs.
func (w *testNode) restartWith(differs func()) {
	w.t.Helper()
	w.stop()
	differs()
	w.start()
}

func (w *testNode) stop() {
	if err := errors.Join(w.server.Close(), w.rows.Close()); err != nil {
		w.t.Error(err)
	}
	<-w.ended
}

func (w *testNode) recordRequest(r service.AnsweredRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, r)
}

// requests are those that were answered.
func (w *testNode) requests() []service.AnsweredRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]service.AnsweredRequest(nil), w.done...)
}

// addClient adds a client with these rights.
func (w *testNode) addClient(name string, rights access.Rights) remote.Config {
	w.t.Helper()
	certificate, key, err := w.authority.IssueClient(name, time.Now(), time.Hour)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.clients.Add(context.Background(), name, rights, certificate, time.Now()); err != nil {
		w.t.Fatal(err)
	}
	return remote.Config{Address: "https://" + w.addr, CA: w.authority.Certificate, Certificate: string(certificate), Key: string(key), Version: "test"}
}

// connectClient is one that was added.
func (w *testNode) connectClient(name string, rights access.Rights) *remote.Client {
	w.t.Helper()
	return mustNewClient(w.t, w.addClient(name, rights))
}

func mustNewClient(t testing.TB, c remote.Config) *remote.Client {
	t.Helper()
	client, err := remote.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// TestContract: over the wire, a ledger keeps to all that it keeps to here.
func TestContract(t *testing.T) {
	t.Parallel()
	ledgertest.Contract(t, func(t *testing.T) ledgertest.Store {
		w := newTestNode(t)
		mine, saved := w.addClient("contract", allRights), 0
		open := func(region string) engine.Ledger { return mustNewClient(t, mine).Region(region) }
		save := func() func() {
			saved++
			backup := fmt.Sprint(w.ledgerPath(), ".", saved)
			w.copyFileTo(backup)
			return func() { w.restore(backup) }
		}
		return ledgertest.Store{Open: open, Save: save}
	})
}

// copyFileTo copies the file, while it is in use.
func (w *testNode) copyFileTo(backup string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.ledgerPath())
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = db.ExecContext(context.Background(), `VACUUM INTO ?1`, backup)
	if err := errors.Join(err, db.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// restore starts the service on a copy.
func (w *testNode) restore(backup string) {
	w.t.Helper()
	w.stop()
	text, err := os.ReadFile(backup)
	for _, suffix := range []string{"-wal", "-shm"} {
		_ = os.Remove(w.ledgerPath() + suffix)
	}
	if err := errors.Join(err, os.WriteFile(w.ledgerPath(), text, 0o600)); err != nil {
		w.t.Fatal(err)
	}
	w.start()
}

// newReservation is a reservation on one host, by an inventory of now.
func newReservation(t testing.TB, l engine.Ledger, key engine.Key, cores int64) engine.Reservation {
	t.Helper()
	tag, err := l.CurrentTag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return engine.Reservation{
		Key: key, Name: "web-1", Need: engine.Need{Cores: 1}, Inventory: tag,
		Candidates: []engine.Candidate{{HostKey: "h1", Zone: "az1", Free: engine.Need{Cores: cores}}},
	}
}

// rowSteps are the steps by which the tests of lost replies get to a row of a key, and read it.
func rowSteps(key engine.Key) (row func(*testing.T, ledger.RegionLedger) engine.Row, place, bind func(*testing.T, ledger.RegionLedger)) {
	row = func(t *testing.T, l ledger.RegionLedger) engine.Row {
		have, err := l.Row(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return have
	}
	place = func(t *testing.T, l ledger.RegionLedger) {
		if _, fresh, err := l.Place(t.Context(), newReservation(t, l, key, 4)); err != nil || !fresh {
			t.Fatalf("fresh %t, %v", fresh, err)
		}
	}
	bind = func(t *testing.T, l ledger.RegionLedger) {
		place(t, l)
		if err := l.Bind(t.Context(), engine.Row{Key: key, HostKey: "h1", SystemID: "abc123"}); err != nil {
			t.Fatal(err)
		}
	}
	return row, place, bind
}
