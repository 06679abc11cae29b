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

// world is a service in a folder, and those who may use it.
type world struct {
	t         testing.TB
	folder    string
	authority *access.Authority
	clients   *access.Register
	now       func() time.Time
	available func() error                    // whether the node serves; nil: it does
	leads     func() bool                     // whether it leads a cluster; nil: it is in none
	wrap      func(http.Handler) http.Handler // around the service; nil: nothing

	addr string
	door net.Listener // open as long as the test, so that nobody else gets the port

	mu     sync.Mutex
	room   *room // of the service that runs; nil: none does
	knocks int   // connections that were begun
	rows   *ledger.Ledger
	server *http.Server
	ended  chan struct{}
	done   []service.Request
}

// everything are the rights to all.
var everything = access.Rights{Regions: []string{access.Any}, Prefix: access.Any}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldIn(t, t.TempDir())
}

// another is a node beside this one: it has the same ledger, clients and authority, and
// remembers nothing of what this one answered.
func (w *world) another() *world {
	w.t.Helper()
	return newWorldIn(w.t, w.folder)
}

func newWorldIn(t testing.TB, folder string) *world {
	t.Helper()
	w := &world{t: t, folder: folder, now: time.Now}
	var err error
	if w.door, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	w.addr = w.door.Addr().String()
	go w.letIn()
	t.Cleanup(func() { w.door.Close() })
	if w.authority, err = access.OpenAuthority(w.folder, time.Now()); err != nil {
		t.Fatal(err)
	}
	w.clients = access.NewRegister(w.folder)
	w.start()
	t.Cleanup(w.stop)
	return w
}

func (w *world) file() string { return filepath.Join(w.folder, "ledger.db") }

// room is where a service gets its connections from.
type room struct {
	net.Listener // for its address
	conns        chan net.Conn
	closed       chan struct{}
	once         sync.Once
}

// Accept implements net.Listener.
func (r *room) Accept() (net.Conn, error) {
	select {
	case conn := <-r.conns:
		return conn, nil
	case <-r.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (r *room) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}

// letIn leads who connects to the service that runs, and hangs up while none does.
func (w *world) letIn() {
	for {
		conn, err := w.door.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		to := w.room
		w.knocks++
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
func (w *world) start() {
	w.t.Helper()
	rows, err := ledger.Open(context.Background(), w.file())
	if err != nil {
		w.t.Fatal(err)
	}
	listener := &room{Listener: w.door, conns: make(chan net.Conn), closed: make(chan struct{})}
	pair, err := w.authority.Server([]string{"127.0.0.1"}, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	var handler http.Handler = service.New(service.Config{
		Ledger: rows, Clients: w.clients, Signers: w.authority.Pool(), Version: "test", Now: func() time.Time { return w.now() }, Done: w.note,
		Available: w.available, Leads: w.leads,
	})
	if w.wrap != nil {
		handler = w.wrap(handler)
	}
	w.rows, w.ended = rows, make(chan struct{})
	w.mu.Lock()
	w.room = listener
	w.mu.Unlock()
	w.server = service.NewServer(handler, func() (*tls.Certificate, error) { return &pair, nil }, slog.New(slog.DiscardHandler))
	go func() {
		defer close(w.ended)
		if err := w.server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			w.t.Error(err)
		}
	}()
}

// change starts the service anew with what differs.
func (w *world) change(differs func()) {
	w.t.Helper()
	w.stop()
	differs()
	w.start()
}

func (w *world) stop() {
	if err := errors.Join(w.server.Close(), w.rows.Close()); err != nil {
		w.t.Error(err)
	}
	<-w.ended
}

func (w *world) note(r service.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, r)
}

// requests are those that were answered.
func (w *world) requests() []service.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]service.Request(nil), w.done...)
}

// config adds a client with these rights.
func (w *world) config(name string, rights access.Rights) remote.Config {
	w.t.Helper()
	certificate, key, err := w.authority.Client(name, time.Now(), time.Hour)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.clients.Add(context.Background(), name, rights, certificate, time.Now()); err != nil {
		w.t.Fatal(err)
	}
	return remote.Config{Address: "https://" + w.addr, CA: w.authority.Certificate, Certificate: string(certificate), Key: string(key), Version: "test"}
}

// client is one that was added.
func (w *world) client(name string, rights access.Rights) *remote.Client {
	w.t.Helper()
	return dial(w.t, w.config(name, rights))
}

func dial(t testing.TB, c remote.Config) *remote.Client {
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
		w := newWorld(t)
		mine, saved := w.config("contract", everything), 0
		open := func(region string) engine.Ledger { return dial(t, mine).Region(region) }
		save := func() func() {
			saved++
			backup := fmt.Sprint(w.file(), ".", saved)
			w.copyTo(backup)
			return func() { w.restore(backup) }
		}
		return ledgertest.Store{Open: open, Save: save}
	})
}

// copyTo copies the file, while it is in use.
func (w *world) copyTo(backup string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.file())
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = db.ExecContext(context.Background(), `VACUUM INTO ?1`, backup)
	if err := errors.Join(err, db.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// restore starts the service on a copy.
func (w *world) restore(backup string) {
	w.t.Helper()
	w.stop()
	text, err := os.ReadFile(backup)
	for _, suffix := range []string{"-wal", "-shm"} {
		_ = os.Remove(w.file() + suffix)
	}
	if err := errors.Join(err, os.WriteFile(w.file(), text, 0o600)); err != nil {
		w.t.Fatal(err)
	}
	w.start()
}

// wish is a reservation on one host, by an inventory of now.
func wish(t testing.TB, l engine.Ledger, key engine.Key, cores int64) engine.Reservation {
	t.Helper()
	tag, err := l.Tag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return engine.Reservation{
		Key: key, Name: "web-1", Need: engine.Need{Cores: 1}, Inventory: tag,
		Candidates: []engine.Candidate{{HostKey: "h1", Zone: "az1", Free: engine.Need{Cores: cores}}},
	}
}

// writesOf are the steps by which the tests of lost replies get to a row of a key, and read it.
func writesOf(key engine.Key) (row func(*testing.T, ledger.Rows) engine.Row, place, bind func(*testing.T, ledger.Rows)) {
	row = func(t *testing.T, l ledger.Rows) engine.Row {
		have, err := l.Row(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return have
	}
	place = func(t *testing.T, l ledger.Rows) {
		if _, fresh, err := l.Place(t.Context(), wish(t, l, key, 4)); err != nil || !fresh {
			t.Fatalf("fresh %t, %v", fresh, err)
		}
	}
	bind = func(t *testing.T, l ledger.Rows) {
		place(t, l)
		if err := l.Bind(t.Context(), engine.Row{Key: key, HostKey: "h1", SystemID: "abc123"}); err != nil {
			t.Fatal(err)
		}
	}
	return row, place, bind
}
